"""Duramen, the durable log store: log calls that survive ``kill -9``, and LogsQL over them.

>>> import logging, duramen, tempfile
>>> store_dir = tempfile.mkdtemp() + "/logs"
>>> log = logging.getLogger("shop")
>>> log.addHandler(duramen.Handler(store_dir, fields={"app": "checkout"}))
>>> log.error("payment refused", extra={"order": 4711})
>>> [row["order"] for row in duramen.Store(store_dir).query("level:error refused")]
[4711]
"""

from ._duramen import Error, QueryError, Rows, __version__
from ._handler import Handler
from ._logger import Logger
from ._store import IncompleteAnswer, Store
from ._structlog import StructlogProcessor, structlog_processor

__all__ = [
    "Error",
    "Handler",
    "IncompleteAnswer",
    "Logger",
    "QueryError",
    "Rows",
    "Store",
    "StructlogProcessor",
    "structlog_processor",
    "__version__",
]
