"""What an exception means to the node."""

import traceback
from typing import Any, Dict, Optional

from . import frames
from .errors import CredentialError, PermanentError, RetryableError

MAX_DETAIL = 16 * 1024
_MAX_MESSAGE = 12 * 1024
_MAX_CODE = 64
_FRAMES = 6
# Seconds; infinity is no JSON.
_LONGEST_WAIT = 1e9


def failed(run: Optional[int], kind: str, code: str, detail: str, retry_after: Optional[float] = None) -> bytes:
    """The header of a `failed` message."""
    message: Dict[str, Any] = {"t": "failed", "run": run, "kind": kind, "code": frames.cut(code, _MAX_CODE)}
    message["detail"] = frames.cut(frames.clean(detail), MAX_DETAIL)
    message["retry_after"] = retry_after
    return frames.dumps(message)


def failure_of(run: int, error: BaseException) -> bytes:
    if isinstance(error, PermanentError):
        return failed(run, "permanent", str(error.code or "PLUGIN_ERROR"), text_of(error))
    if isinstance(error, CredentialError):
        detail = "%s (status %s)" % (text_of(error), error.status)
        return failed(run, "retryable", "CREDENTIAL_ERROR", detail, _seconds(error.retry_after))
    if isinstance(error, RetryableError):
        return failed(run, "retryable", str(error.code or "PLUGIN_ERROR"), text_of(error), _seconds(error.retry_after))
    code = "OUT_OF_MEMORY" if isinstance(error, MemoryError) else "PLUGIN_ERROR"
    return failed(run, "retryable", code, "Inference failed: " + story_of(error))


def text_of(error: BaseException) -> str:
    try:
        return frames.cut(str(error), _MAX_MESSAGE)
    except Exception:
        return "<its text raised an exception>"


def story_of(error: BaseException) -> str:
    """Type and message first, for those who read one line; then where it happened, last call last."""
    text = text_of(error)
    first = type(error).__qualname__ + (": " + text if text else "")
    try:
        calls = traceback.extract_tb(error.__traceback__)
        own = [call for call in calls if not call.filename.startswith(_SDK)] or list(calls)
        return first + "\n" + "".join(traceback.format_list(own[-_FRAMES:])).rstrip()
    except Exception:
        return first


def _seconds(value: Any) -> Optional[float]:
    try:
        seconds = float(value)
    except (TypeError, ValueError):
        return None
    return None if seconds != seconds else min(max(seconds, 0.0), _LONGEST_WAIT)


_SDK = __file__[: -len("failures.py")]
