"""An exception as fields, named as OpenTelemetry names them."""

from __future__ import annotations

import traceback
from typing import Any, Callable


def describe(exc_info: Any) -> tuple[str, str, str] | None:
    """The type, message and trace of a ``sys.exc_info()``; None if there is no exception in it.

    Of what is no such thing, the message is what it is instead.
    """
    try:
        kind, value, trace = exc_info
        if kind is None:
            return None
        name = str(kind.__qualname__)
        if kind.__module__ not in ("builtins", "__main__"):
            name = f"{kind.__module__}.{name}"
    except Exception:  # it is no such thing
        return "", _shown(repr, exc_info), ""
    message = _shown(str, value)
    try:
        told = "".join(traceback.format_exception(kind, value, trace)).rstrip("\n")
    except Exception as error:  # of attributes that are not what they should be, say
        told = f"<formatting it raised {type(error).__name__}>"
    return name, message, told


def _shown(how: Callable[[Any], str], value: Any) -> str:
    try:
        return how(value)
    except Exception as error:  # anybody's __str__
        return f"<{how.__name__}() raised {type(error).__name__}>"


def exception_fields(exc_info: Any) -> dict[str, str]:
    """The same as a dict."""
    told = describe(exc_info)
    if told is None:
        return {}
    names = ("exception.type", "exception.message", "exception.stacktrace")
    return {name: text for name, text in zip(names, told) if text}
