"""The processor for structlog. It does not import structlog until it drops an event."""

from __future__ import annotations

import logging
import os
import sys
import traceback
from typing import Any, MutableMapping

from ._exceptions import exception_fields
from ._logger import Logger, open_logger

#: The levels of the methods that structlog's loggers have; a method of another name is in the field ``method``.
_LEVELS = {
    "trace": "trace",
    "debug": "debug",
    "info": "info",
    "msg": "info",
    "log": "info",
    "warn": "warn",
    "warning": "warn",
    "error": "error",
    "err": "error",
    "exception": "error",
    "failure": "error",
    "critical": "fatal",
    "fatal": "fatal",
}


class StructlogProcessor:
    """A structlog processor that logs each event into the store in ``store_dir``, and passes it on as it is.

    ``event`` is the message, all other keys are fields with their types, ``exc_info`` becomes ``exception.type``,
    ``exception.message`` and ``exception.stacktrace``. The level is that of the key ``level``, and otherwise that of
    the method. Put it before the renderer.

    drop:
        Whether the event ends here: the last processor of a chain whose events go nowhere else.

    All other options are those of ``duramen.Logger``; instead of a directory, a ``duramen.Logger`` may be given.

    The constructor raises what ``duramen.Logger`` does. A call never raises for what the store says: that is printed to
    standard error if ``logging.raiseExceptions`` is true, and is in ``stats()``.
    """

    def __init__(
        self,
        store_dir: str | os.PathLike[str] | Logger,
        *,
        drop: bool = False,
        **options: Any,
    ) -> None:
        self._logger, self._owned = open_logger(store_dir, options)
        self._drop = drop

    def __call__(
        self, logger: Any, method_name: str, event_dict: MutableMapping[str, Any]
    ) -> MutableMapping[str, Any]:
        try:
            self._log(method_name, event_dict)
        except Exception:
            if logging.raiseExceptions and sys.stderr:
                print("--- duramen: an event was not logged ---", file=sys.stderr)
                traceback.print_exc()
        if self._drop:
            import structlog

            raise structlog.DropEvent
        return event_dict

    def _log(self, method_name: str, event_dict: MutableMapping[str, Any]) -> None:
        fields = dict(event_dict)
        message = fields.pop("event", "")
        level = _LEVELS.get(method_name, "info")
        named = fields.pop("level", None)
        if isinstance(named, str):
            known = _LEVELS.get(named.lower())
            if known is None:
                fields["level_name"] = named
            level = known or level
        elif named is not None:
            # A field like any other; the logger keeps it beside the level.
            fields["level"] = named
        exc_info = fields.pop("exc_info", None)
        if isinstance(exc_info, BaseException):
            exc_info = (type(exc_info), exc_info, exc_info.__traceback__)
        elif exc_info and not isinstance(exc_info, tuple):
            exc_info = sys.exc_info()
        try:
            if exc_info:
                fields.update(exception_fields(exc_info))
        finally:  # also where Ctrl-C, or the end of the program, came while the exception was shown
            self._logger._native.log(level, message, fields)

    def flush(self) -> None:
        """Makes every event so far, of this process, survive a loss of power."""
        self._logger.sync()

    def close(self) -> None:
        """Syncs what was logged; later events are refused."""
        if self._owned:
            self._logger.close()

    def stats(self) -> dict[str, Any]:
        """As ``duramen.Logger.stats``."""
        return self._logger.stats()


#: The same, by the name that reads well in a list of processors.
structlog_processor = StructlogProcessor
