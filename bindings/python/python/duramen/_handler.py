"""The handler for the module ``logging``."""

from __future__ import annotations

import atexit
import logging
import os
from typing import Any

from ._exceptions import describe
from ._logger import Logger, open_logger


#: Whether the program is ending.
_ending = False


@atexit.register
def _begin_to_end() -> None:
    """Runs before ``logging.shutdown``, which was registered earlier: the last to be registered is the first to run."""
    global _ending
    _ending = True


class Handler(logging.Handler):
    """A ``logging.Handler`` into the store in ``store_dir``, which it makes if it is missing.

    Each line has its message, level and time, and these fields: ``logger``, ``file``, ``line``, ``function``, ``pid``,
    ``process``, ``thread``, and ``task`` in an asyncio task; everything from ``extra`` with its type; of an exception
    ``exception.type``, ``exception.message`` and ``exception.stacktrace``; and ``stack_info``. A formatter has no
    effect: a line's parts stay apart.

    A line survives the death of the process as soon as the call returns. Threads do not wait for each other: the
    handler has no lock. It works in forked children (gunicorn, multiprocessing) as it is, also if it was opened
    before the fork; a spawned process makes its own.

    ``level`` is the handler's level. All other options are those of ``duramen.Logger``; instead of a directory, a
    ``duramen.Logger`` may be given, which ``close()`` leaves open.

    The constructor raises what ``duramen.Logger`` does. Log calls never raise: what a line was refused for goes to
    ``handleError``, which prints it to standard error if ``logging.raiseExceptions`` is true, and is in ``stats()``.
    """

    def __init__(
        self,
        store_dir: str | os.PathLike[str] | Logger,
        level: int | str = logging.NOTSET,
        **options: Any,
    ) -> None:
        # First: if it raises, logging knows nothing of this handler.
        self._logger, self._owned = open_logger(store_dir, options)
        self._log_record = self._logger._native.log_record
        super().__init__(level)

    def createLock(self) -> None:
        """Makes none: any thread may log at any time, and one that waits for the device keeps no other waiting."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> Any:
        """Logs a record if the handler's filters let it through."""
        passed = self.filter(record)
        if passed:
            # Since Python 3.12, a filter may give another record.
            self.emit(passed if isinstance(passed, logging.LogRecord) else record)
        return passed

    def emit(self, record: logging.LogRecord) -> None:
        """Logs a record."""
        try:
            exc_info = record.exc_info
            self._log_record(record, self._describe(record, exc_info) if exc_info else None)
        except Exception:
            self.handleError(record)

    def _describe(self, record: logging.LogRecord, exc_info: Any) -> tuple[str, str, str] | None:
        try:
            return describe(exc_info)
        except BaseException:  # Ctrl-C, or the end of the program, while the exception was shown
            self._log_record(record, None)
            raise

    def flush(self) -> None:
        """Makes every line so far, of this process, survive a loss of power. Nothing else needs it."""
        try:
            self._logger.sync()
        except Exception as error:
            self._report(error)

    def close(self) -> None:
        """Syncs what was logged; later lines are refused.

        When the program ends, ``logging.shutdown`` calls it, but is not the last to run: other ``atexit`` functions,
        daemon threads and destructors may still log. Their lines are taken, and synced at the very end.
        """
        try:
            if self._owned and not _ending:
                self._logger.close()
            else:
                self._logger.sync()
        except Exception as error:
            self._report(error)
        finally:
            super().close()

    def stats(self) -> dict[str, Any]:
        """As ``duramen.Logger.stats``."""
        return self._logger.stats()

    def _report(self, error: Exception) -> None:
        """Tells of an error that no record is to blame for."""
        path, line = __file__, 0
        info = (type(error), error, error.__traceback__)
        self.handleError(logging.LogRecord("duramen", logging.ERROR, path, line, str(error), (), info))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} ({logging.getLevelName(self.level)})>"
