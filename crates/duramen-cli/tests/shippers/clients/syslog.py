"""Python's own SysLogHandler (RFC 3164, a NUL behind each and no line feed), and RFC 5424 by octet counting."""
import logging
import socket
import sys
from logging.handlers import SysLogHandler

from rfc5424logging import Rfc5424SysLogHandler

host, port, lines = sys.argv[1:]
half = int(lines) // 2
old = SysLogHandler(address=(host, int(port)), socktype=socket.SOCK_STREAM)
old.ident = "shop: "
new = Rfc5424SysLogHandler(address=(host, int(port)), socktype=socket.SOCK_STREAM, appname="shop")
for handler, numbers in [(old, range(half)), (new, range(half, int(lines)))]:
    logger = logging.getLogger("web")
    logger.addHandler(handler)
    for i in numbers:
        logger.warning("line %d of it", i)
    logger.removeHandler(handler)
    handler.close()
