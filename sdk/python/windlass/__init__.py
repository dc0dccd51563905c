"""Windlass, for plugins: register a function, and it runs as tasks of a type.

    from windlass import register, context

    @register("hello")
    def infer(model_spec, payload, inference_params):
        context().progress(0.5)
        return {"echo": payload}
"""

from .context import Context, context, get_plugin_timeout_seconds, resolve_api_key
from .errors import Cancelled, CredentialError, PermanentError, RegistrationError, RetryableError
from .registry import CredentialMode, register

__version__ = "0.1.0"

__all__ = [
    "Cancelled",
    "Context",
    "CredentialError",
    "CredentialMode",
    "PermanentError",
    "RegistrationError",
    "RetryableError",
    "context",
    "get_plugin_timeout_seconds",
    "register",
    "resolve_api_key",
]
