"""An exception as fields, named as OpenTelemetry names them."""

from __future__ import annotations

import traceback
from typing import Any


def describe(exc_info: Any) -> tuple[str, str, str] | None:
    """The type, message and trace of a ``sys.exc_info()``; None if there is no exception in it."""
    kind, value, trace = exc_info
    if kind is None:
        return None
    name = kind.__qualname__
    if kind.__module__ not in ("builtins", "__main__"):
        name = f"{kind.__module__}.{name}"
    try:
        message = str(value)
    except Exception as error:  # anybody's __str__
        message = f"<str() raised {type(error).__name__}>"
    try:
        told = "".join(traceback.format_exception(kind, value, trace)).rstrip("\n")
    except Exception as error:  # of attributes that are not what they should be, say
        told = f"<formatting it raised {type(error).__name__}>"
    return name, message, told


def exception_fields(exc_info: Any) -> dict[str, str]:
    """The same as a dict."""
    told = describe(exc_info)
    if told is None:
        return {}
    return dict(zip(("exception.type", "exception.message", "exception.stacktrace"), told))
