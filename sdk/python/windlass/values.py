"""JSON values of a plugin on their way out, with errors that say which value is to blame."""

import re
from typing import Any, Optional

from . import frames
from .errors import PermanentError

#: The node and its readers stop there.
MOST_NESTED = 100

_PLAIN = (str, int, bool, type(None))


def encode(value: Any, what: str, code: str) -> bytes:
    try:
        body = frames.dumps(value)
    except (TypeError, ValueError, RecursionError) as error:
        reason = _culprit(value, what, 0) or str(error)
        raise PermanentError("the %s is not JSON: %s" % (what, reason), "%s_NOT_JSON" % code) from None
    if _is_deep(body):
        raise PermanentError(
            "the %s is nested deeper than %d levels" % (what, MOST_NESTED), "%s_NOT_JSON" % code
        )
    if len(body) > frames.MAX_BODY:
        raise PermanentError(
            "the %s is too large: %d bytes, the bound is %d" % (what, len(body), frames.MAX_BODY),
            "%s_TOO_LARGE" % code,
        )
    return body


def _is_deep(body: bytes) -> bool:
    # Counting is fast, and with so few brackets nothing is deep; else the brackets outside of texts decide.
    if body.count(b"[") + body.count(b"{") <= MOST_NESTED:
        return False
    depth = deepest = 0
    for bracket in re.finditer(rb'"(?:[^"\\]|\\.)*"|[\[{\]}]', body):
        first = bracket.group()[:1]
        depth += 1 if first in b"[{" else -1 if first in b"]}" else 0
        deepest = max(deepest, depth)
    return deepest > MOST_NESTED


def _culprit(value: Any, path: str, depth: int) -> Optional[str]:
    if depth > 50:
        return "%s… is nested too deep, or holds itself" % path[:200]
    if isinstance(value, _PLAIN):
        return None
    if isinstance(value, float):
        return None if value - value == 0 else "%s is %r" % (path, value)
    if isinstance(value, dict):
        return _culprit_in_dict(value, path, depth)
    if isinstance(value, (list, tuple)):
        found = (_culprit(item, "%s[%d]" % (path, at), depth + 1) for at, item in enumerate(value))
        return next((reason for reason in found if reason), None)
    return "%s is a %s.%s" % (path, type(value).__module__, type(value).__qualname__)


def _culprit_in_dict(value: Any, path: str, depth: int) -> Optional[str]:
    for key, item in value.items():
        if not isinstance(key, (*_PLAIN, float)):
            return "%s has a key of type %s" % (path, type(key).__qualname__)
        reason = _culprit(item, "%s[%r]" % (path, key), depth + 1)
        if reason:
            return reason
    return None
