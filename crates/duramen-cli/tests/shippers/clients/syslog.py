"""Python's own SysLogHandler (RFC 3164, NUL at the end, framed by line feeds), and RFC 5424 by octet counting."""
import logging
import socket
import sys
from logging.handlers import SysLogHandler

from rfc5424logging import Rfc5424SysLogHandler

host, port, lines = sys.argv[1:]
half = int(lines) // 2
old = SysLogHandler(address=(host, int(port)), socktype=socket.SOCK_STREAM)
old.ident = "shop: "
old.append_nul = False
old.formatter = logging.Formatter("%(message)s\n")
new = Rfc5424SysLogHandler(address=(host, int(port)), socktype=socket.SOCK_STREAM, appname="shop")
for handler, numbers in [(old, range(half)), (new, range(half, int(lines)))]:
    logger = logging.getLogger("web")
    logger.addHandler(handler)
    for i in numbers:
        logger.warning("line %d of it", i)
    logger.removeHandler(handler)
    handler.close()
