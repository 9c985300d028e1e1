"""pygelf: GELF over TCP, additional fields included."""
import logging
import sys

from pygelf import GelfTcpHandler

host, port, lines = sys.argv[1:]
handler = GelfTcpHandler(host=host, port=int(port), include_extra_fields=True, _app="shop")
logger = logging.getLogger("web")
logger.addHandler(handler)
for i in range(int(lines)):
    logger.warning("line %d of it", i, extra={"order": i})
handler.close()
