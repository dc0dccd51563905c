"""The exceptions a plugin raises or meets."""

from typing import Optional


class PluginFailure(Exception):
    """What the three failures a plugin can declare have in common."""

    def __init__(self, message: str, code: Optional[str] = None, retry_after: Optional[float] = None) -> None:
        super().__init__(message)
        self.code = code
        self.retry_after = retry_after


class RetryableError(PluginFailure):
    """It may work another time. `retry_after` (seconds) is honoured by the node."""


class PermanentError(PluginFailure):
    """It never will: the task fails now, whatever attempts are left."""

    def __init__(self, message: str, code: Optional[str] = None) -> None:
        super().__init__(message, code)


class CredentialError(PluginFailure):
    """The account was refused; `status` is what the remote service answered (401, 403, 429)."""

    def __init__(self, message: str, status: int, retry_after: Optional[float] = None) -> None:
        super().__init__(message, "CREDENTIAL_ERROR", retry_after)
        self.status = status


class Cancelled(BaseException):
    """The run is to stop.

    Not an `Exception`: `except Exception` in a plugin, or in a library it calls, must not swallow it.
    """


class RegistrationError(Exception):
    """A `@register` that cannot stand: bad name, duplicate, wrong type of a value."""


class Stopped(Exception):
    """Internal: user code was closed because of a cancel, and has ended."""
