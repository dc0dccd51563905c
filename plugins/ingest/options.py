"""What is asked of a run, checked before any work is done."""

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from typing import Any, Dict, Optional

from windlass import PermanentError

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "url": {"type": "string", "pattern": "^https?://"},
        "text": {"type": "string", "minLength": 1},
        "name": {"type": "string"},
        "index": {"type": "string", "minLength": 1},
    },
    "oneOf": [{"required": ["path"]}, {"required": ["url"]}, {"required": ["text"]}],
}

_DEFAULT_INDEX = "windlass-ingest.sqlite"
_MEBIBYTE = 1024 * 1024


@dataclass(frozen=True)
class Options:
    path: Optional[str]
    url: Optional[str]
    text: Optional[str]
    name: Optional[str]
    index: str
    chunk_size: int
    chunk_overlap: int
    max_bytes: int

    @classmethod
    def read(cls, payload: Dict[str, Any], params: Dict[str, Any]) -> "Options":
        sources = [key for key in ("path", "url", "text") if payload.get(key) is not None]
        if len(sources) != 1:
            raise _invalid("the payload names one of `path`, `url` and `text`, not %d" % len(sources))
        for key in ("path", "url", "text", "name", "index"):
            if payload.get(key) is not None and not isinstance(payload[key], str):
                raise _invalid("`%s` is a text, not %r" % (key, payload[key]))
        if payload.get("url") and not payload["url"].startswith(("http://", "https://")):
            raise _invalid("`url` begins with http:// or https://")
        size = _number(params, "chunk_size", 1000, 50, 100_000)
        overlap = _number(params, "chunk_overlap", min(100, size // 10), 0, size // 2)
        return cls(
            path=payload.get("path"),
            url=payload.get("url"),
            text=payload.get("text"),
            name=payload.get("name"),
            index=os.path.abspath(str(payload.get("index") or params.get("index") or _DEFAULT_INDEX)),
            chunk_size=size,
            chunk_overlap=overlap,
            max_bytes=_number(params, "max_bytes", 64 * _MEBIBYTE, 1, 1024 * _MEBIBYTE),
        )

    @property
    def asked(self) -> str:
        """Short name of what was asked for: equal for equal requests."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]


def _number(params: Dict[str, Any], key: str, default: int, least: int, most: int) -> int:
    value = params.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _invalid("`%s` is a whole number from %d to %d, not %r" % (key, least, most, value))
    return value


def _invalid(message: str) -> PermanentError:
    return PermanentError(message, "PAYLOAD_INVALID")
