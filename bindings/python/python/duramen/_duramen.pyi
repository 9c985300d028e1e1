"""The native half of the package; what programs use is in ``duramen`` itself."""

import logging
import os
from typing import Any, Iterator, Mapping, Optional, Sequence, Union

__version__: str

class Error(Exception):
    """What went wrong with a store: a directory that is something else's, no room, damage, a query that failed."""

class QueryError(Error):
    """The text is no query. ``str()`` of it shows the place."""

    #: What is wrong.
    message: str
    #: What to write instead; may be empty.
    hint: str
    #: The line of the query, from 1.
    line: int
    #: The column in that line, in characters from 1.
    column: int
    #: The place in the whole query, in characters from 0.
    position: int

class Rows(Iterator[dict[str, Any]]):
    """The rows of an answer, as dicts: an iterator that may be gone through once, in the process that asked.

    Any thread may use it, and threads that do so share the rows.
    """

    #: What the answer lacks, once it has ended: a text for each part of the store that could not be read.
    @property
    def incomplete(self) -> list[str]: ...
    def __iter__(self) -> Rows: ...
    def __next__(self) -> dict[str, Any]: ...
    def to_columns(self) -> dict[str, list[Any]]:
        """The rows that are left, as a dict of lists of the same length; None where a row lacks a value.

        ``pandas.DataFrame(rows.to_columns())`` and ``pyarrow.table(rows.to_columns())`` take it as it is.
        """
    def close(self) -> None:
        """Ends the query, from any thread; there are no further rows then, for whoever waits for one, too."""
    def __enter__(self) -> Rows: ...
    def __exit__(self, *exception: object) -> None: ...

class NativeLogger:
    def __init__(
        self,
        store_dir: Union[str, os.PathLike[str]],
        *,
        stream_fields: Sequence[str],
        fields: Optional[dict[str, Any]],
        durability: str,
        sync_levels: Sequence[Union[str, int]],
        block_timeout_ms: int,
        max_message_bytes: int,
        keeper: bool,
        write_buffer_size: Optional[int],
    ) -> None: ...
    def log(self, level: Union[str, int], message: Any, fields: Optional[dict[str, Any]]) -> None: ...
    def log_record(
        self, record: logging.LogRecord, exception: Optional[tuple[str, str, str]] = None
    ) -> None: ...
    def flush(self) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...
    def stats(self) -> dict[str, Any]: ...

def query(
    store_dir: Union[str, os.PathLike[str]],
    text: str,
    limit: Optional[int],
    order: str,
    time_ns: bool,
) -> Rows: ...
