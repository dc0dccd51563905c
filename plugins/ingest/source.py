"""Gets the bytes of a document, and refuses what can never become one."""

import hashlib
import http.client
import os
import re
import stat
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, Optional

from windlass import PermanentError, RetryableError

from .options import Options
from .state import Progress

_STEP = 256 * 1024
_TIMEOUT_SECONDS = 30
# These say "later" or "not my fault"; other answers of the 4xx kind will be the same tomorrow.
_RETRYABLE = (408, 425, 429)


@dataclass(frozen=True)
class Document:
    name: str
    media_type: Optional[str]
    data: bytes
    sha256: str


def fetch(options: Options, progress: Progress) -> Document:
    if options.text is not None:
        return _document(options.name or "text", None, options.text.encode("utf-8", "replace"), options)
    if options.path is not None:
        return _document(options.name or os.path.basename(options.path), None, _read(options, progress), options)
    return _download(options, progress)


def _document(name: str, media_type: Optional[str], data: bytes, options: Options) -> Document:
    if not data.strip(b"\0 \t\r\n"):
        raise PermanentError("%s is empty" % name, "FILE_EMPTY")
    if len(data) > options.max_bytes:
        raise _too_large(name, options)
    return Document(name, media_type, data, hashlib.sha256(data).hexdigest())


def _read(options: Options, progress: Progress) -> bytes:
    path = str(options.path)
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            # A pipe or a device would be read for ever.
            raise PermanentError("%s is not a file" % path, "FILE_NOT_A_FILE")
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size > options.max_bytes:
                raise _too_large(path, options)
            return _all_of(file, size, path, options, progress)
    except (FileNotFoundError, NotADirectoryError):
        raise PermanentError("there is no file %s (looked from %s)" % (path, os.getcwd()), "FILE_NOT_FOUND") from None
    except PermissionError:
        raise PermanentError("the node may not read %s" % path, "FILE_NOT_READABLE") from None
    except ValueError:
        raise PermanentError("%r cannot be a path" % path, "FILE_NOT_FOUND") from None
    except OSError as error:
        raise RetryableError("cannot read %s: %s" % (path, error), "FILE_READ_FAILED") from None


def _download(options: Options, progress: Progress) -> Document:
    url = str(options.url)
    try:
        request = urllib.request.Request(url, headers={"User-Agent": "windlass-ingest/1"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS) as answer:
            length = answer.headers.get("Content-Length", "")
            size = int(length) if length.isdigit() else 0
            if size > options.max_bytes:
                raise _too_large(url, options)
            data = _all_of(answer, size, url, options, progress)
            if size and len(data) < size:
                raise RetryableError("%s ended after %d of %d bytes" % (url, len(data), size), "DOWNLOAD_FAILED")
            name = options.name or os.path.basename(urllib.parse.urlsplit(answer.url).path) or "download"
            return _document(name, answer.headers.get_content_type(), data, options)
    except urllib.error.HTTPError as error:
        raise _refused(url, error) from None
    except urllib.error.URLError as error:
        raise RetryableError("cannot reach %s: %s" % (url, error.reason), "DOWNLOAD_FAILED") from None
    except ValueError as error:
        raise PermanentError("%s is not a usable address: %s" % (url, error), "PAYLOAD_INVALID") from None
    except (OSError, http.client.HTTPException) as error:
        raise RetryableError("the download of %s broke off: %s" % (url, error), "DOWNLOAD_FAILED") from None


def _refused(url: str, error: urllib.error.HTTPError) -> Exception:
    text = "%s answered %d %s" % (url, error.code, error.reason)
    if error.code >= 500 or error.code in _RETRYABLE:
        return RetryableError(text, "DOWNLOAD_FAILED", _retry_after(error.headers.get("Retry-After")))
    return PermanentError(text, "FILE_NOT_FOUND" if error.code in (404, 410) else "DOWNLOAD_REFUSED")


def _retry_after(text: Optional[str]) -> Optional[float]:
    """Seconds, from either form of the header."""
    if not text:
        return None
    if re.fullmatch(r"\d{1,9}", text.strip()):
        return float(text)
    try:
        when = parsedate_to_datetime(text)
    except (TypeError, ValueError):
        return None
    if when.tzinfo is None:
        when = when.replace(tzinfo=timezone.utc)
    return max(0.0, (when - datetime.now(timezone.utc)).total_seconds())


def _all_of(file: Any, size: int, name: str, options: Options, progress: Progress) -> bytes:
    parts, got = [], 0
    while True:
        part = file.read(_STEP)
        if not part:
            return b"".join(parts)
        parts.append(part)
        got += len(part)
        # Tested while reading: a server may send more than it said, or say nothing.
        if got > options.max_bytes:
            raise _too_large(name, options)
        if size:
            progress.within(got / size, "%d of %d bytes" % (got, size))
        else:
            progress.within(0.0, "%d bytes" % got)


def _too_large(name: str, options: Options) -> PermanentError:
    return PermanentError("%s is larger than max_bytes, %d" % (name, options.max_bytes), "FILE_TOO_LARGE")
