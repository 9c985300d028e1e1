"""A logger without the module ``logging``: a message, and fields."""

from __future__ import annotations

import os
import sys
from types import TracebackType
from typing import Any, Mapping, Sequence

from ._duramen import NativeLogger
from ._exceptions import exception_fields

#: The longest message in bytes, unless a logger is told otherwise: 1 MiB.
DEFAULT_MAX_MESSAGE_BYTES = 1 << 20


class Logger:
    """Logs lines into the store in ``store_dir``, which it makes if it is missing.

    A line survives the death of the process (``kill -9``, a segfault, the OOM killer) as soon as the call returns.
    Any thread may call any method; after a fork the child goes on with the same object, as a writer of its own.

    store_dir:
        The directory of the store.
    stream_fields:
        The names of the fields that tell one stream of lines from another: few values, which seldom change.
    fields:
        Fields that each line gets.
    durability:
        What a line survives when the call returns: ``"none"``, ``"process"`` (the death of the process),
        ``"interval:MS"`` (as ``process``, and a loss of power that many milliseconds later), ``"sync"`` (a loss of
        power).
    sync_levels:
        The levels whose lines, and all lines before them, survive a loss of power when the call returns. It waits for
        the device. Names, or numbers of the module ``logging``.
    block_timeout_ms:
        How long a call waits for room, because the disk is full or lines come too fast, before it refuses its line; 0
        for not at all. What was refused is counted, and the log says so as soon as it goes on.
    max_message_bytes:
        What is longer is cut, and has the field ``truncated_from_bytes``.
    keeper:
        Whether this process may put all processes' lines into tables, for which it has a thread. False for
        short-lived processes beside a long-lived one.
    write_buffer_size:
        Bytes of a write buffer; None for the store's default.

    Raises ``duramen.Error`` if the directory is something else's or cannot be written to, or a write buffer is too small;
    ``ValueError`` for an option that is none, and ``TypeError`` for one of another type.
    """

    __slots__ = ("_native",)

    def __init__(
        self,
        store_dir: str | os.PathLike[str],
        *,
        stream_fields: Sequence[str] = ("app", "host"),
        fields: Mapping[str, Any] | None = None,
        durability: str = "process",
        sync_levels: Sequence[str | int] = ("error", "fatal"),
        block_timeout_ms: int = 10_000,
        max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        keeper: bool = True,
        write_buffer_size: int | None = None,
    ) -> None:
        for option, value in (("stream_fields", stream_fields), ("sync_levels", sync_levels)):
            # Its letters would be taken for names.
            if isinstance(value, str):
                raise ValueError(f"{option} is a list of names, not the text {value!r}")
        for option, number in (
            ("block_timeout_ms", block_timeout_ms),
            ("max_message_bytes", max_message_bytes),
            ("write_buffer_size", write_buffer_size),
        ):
            if number is not None and number < 0:
                raise ValueError(f"{option} is {number}, less than nothing")
        self._native = NativeLogger(
            store_dir,
            stream_fields=list(stream_fields),
            fields=None if fields is None else dict(fields),
            durability=durability,
            sync_levels=list(sync_levels),
            block_timeout_ms=block_timeout_ms,
            max_message_bytes=max_message_bytes,
            keeper=keeper,
            write_buffer_size=write_buffer_size,
        )

    def log(self, level: str | int, message: object, /, **fields: Any) -> None:
        """Logs a line. Levels are names, or numbers of the module ``logging``.

        Numbers, truth values and None keep their types, dicts become fields such as ``user.id``, lists and tuples
        JSON, all else ``str(value)``. What has no room in a line is cut or left out; ``truncated_fields`` has the names
        of such fields. Raises ``duramen.Error`` if the line was refused.
        """
        self._native.log(level, message, fields)

    def trace(self, message: object, /, **fields: Any) -> None:
        """Logs a line of the level ``trace``."""
        self._native.log("trace", message, fields)

    def debug(self, message: object, /, **fields: Any) -> None:
        """Logs a line of the level ``debug``."""
        self._native.log("debug", message, fields)

    def info(self, message: object, /, **fields: Any) -> None:
        """Logs a line of the level ``info``."""
        self._native.log("info", message, fields)

    def warning(self, message: object, /, **fields: Any) -> None:
        """Logs a line of the level ``warn``."""
        self._native.log("warn", message, fields)

    def error(self, message: object, /, **fields: Any) -> None:
        """Logs a line of the level ``error``."""
        self._native.log("error", message, fields)

    def critical(self, message: object, /, **fields: Any) -> None:
        """Logs a line of the level ``fatal``."""
        self._native.log("fatal", message, fields)

    def exception(self, message: object, /, **fields: Any) -> None:
        """Logs a line of the level ``error``, with the exception that is being handled, and its trace."""
        fields.update(exception_fields(sys.exc_info()))
        self._native.log("error", message, fields)

    def flush(self) -> None:
        """Puts every line into tables if this process is the keeper, and otherwise has the keeper do so soon."""
        self._native.flush()

    def sync(self) -> None:
        """Makes every line that was logged before the call, in this process, survive a loss of power."""
        self._native.sync()

    def close(self) -> None:
        """Syncs what was logged. Later lines are refused; a second close does nothing."""
        self._native.close()

    def stats(self) -> dict[str, Any]:
        """What was done so far, in this process.

        ``lines`` and ``bytes`` that are in the log; lines ``truncated``, ``dropped`` for want of room, refused for
        other ``errors``; how often the writer was ``reopened`` after a failed write or sync, and how many lines were
        ``unsynced`` then; the ``last_error``; and ``incidents`` in the background.
        """
        return self._native.stats()

    def __enter__(self) -> Logger:
        return self

    def __exit__(
        self,
        _type: type[BaseException] | None,
        _value: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()


def open_logger(store: str | os.PathLike[str] | Logger, options: dict[str, Any]) -> tuple[Logger, bool]:
    """The logger, and whether it was opened here."""
    if isinstance(store, Logger):
        if options:
            raise TypeError(f"the logger is open already: it takes no {', '.join(options)}")
        return store, False
    return Logger(store, **options), True
