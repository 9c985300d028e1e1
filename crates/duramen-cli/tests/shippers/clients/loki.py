"""python-logging-loki: one push a line, over one connection."""
import logging
import sys

import logging_loki

host, port, lines = sys.argv[1:]
refused = []


class Handler(logging_loki.LokiHandler):
    def handleError(self, record):
        refused.append(record)


handler = Handler(url=f"http://{host}:{port}/loki/api/v1/push", tags={"application": "shop"}, version="1")
logger = logging.getLogger("web")
logger.addHandler(handler)
logger.setLevel(logging.DEBUG)
for i in range(int(lines)):
    logger.warning("line %d of it", i)
handler.close()
sys.exit(f"{len(refused)} refused" if refused else 0)
