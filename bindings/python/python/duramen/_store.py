"""Asking a store."""

from __future__ import annotations

import os
import sys
import warnings

from . import _duramen
from ._duramen import Rows


class IncompleteAnswer(UserWarning):
    """A part of the store could not be read: the answer is without its rows. ``duramen verify`` tells what is damaged."""


def warn_of(lacking: list[str]) -> None:
    """Warns, at the line that asked for the next row, that the answer lacks something."""
    try:
        frame = sys._getframe(1)
    except ValueError:  # asked by a program that embeds Python, from none of its code
        warnings.warn(f"the answer is incomplete: {'; '.join(lacking)}", IncompleteAnswer, stacklevel=1)
        return
    # Without a registry of what was told: each answer is as wrong as the first of its line.
    warnings.warn_explicit(
        f"the answer is incomplete: {'; '.join(lacking)}",
        IncompleteAnswer,
        frame.f_code.co_filename,
        frame.f_lineno,
        module=frame.f_globals.get("__name__"),
    )


class Store:
    """A store, for reading. It holds nothing open between queries; any thread and any process may ask."""

    __slots__ = ("store_dir",)

    def __init__(self, store_dir: str | os.PathLike[str]) -> None:
        # Whole, for programs that change their current directory meanwhile, as daemons do.
        self.store_dir = os.path.abspath(store_dir)

    def query(
        self,
        text: str = "*",
        limit: int | None = None,
        *,
        order: str = "newest",
        time_ns: bool = False,
    ) -> Rows:
        """Asks in LogsQL, and gives the rows of the answer, as dicts, while they are found.

        Every line is found that any process had logged before the call. Numbers are ``int`` or ``float``, truth values
        ``bool``, null is ``None``, JSON arrays are lists, all else ``str``. ``_time`` is RFC 3339 in UTC, to the
        nanosecond; dates in a query that name no zone are in UTC, too.

        limit:
            The most rows; None for all.
        order:
            ``"newest"`` or ``"oldest"`` first, where the query does not sort.
        time_ns:
            Whether rows that are log entries have ``_time_ns`` besides: nanoseconds since the epoch, an ``int``.

        Raises ``duramen.QueryError`` if the text is no query, which says at which ``column`` it is wrong, ``ValueError`` for
        another order, a negative limit or a text with lone surrogates, and ``duramen.Error`` if there is no store, here or, if it cannot be read, from the iterator. Warns with
        ``duramen.IncompleteAnswer`` at the end of each answer that lacks what is damaged; ``incomplete`` of the rows
        says the same.
        """
        if limit is not None and limit < 0:
            raise ValueError(f"limit is {limit}, less than nothing")
        return _duramen.query(self.store_dir, text, limit, order, time_ns)

    def __repr__(self) -> str:
        return f"duramen.Store({self.store_dir!r})"
