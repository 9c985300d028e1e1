"""splunk-handler: events in batches, for Splunk's HTTP collector."""
import logging
import sys

from splunk_handler import SplunkHandler

host, port, lines = sys.argv[1:]
handler = SplunkHandler(
    host=host, port=port, protocol="http", token="any", index="main", hostname="web-1", source="web",
    sourcetype="shop", queue_size=0, flush_interval=0.2, retry_count=0,
)
logger = logging.getLogger("web")
logger.addHandler(handler)
for i in range(int(lines)):
    logger.warning("line %d of it", i)
handler.force_flush()
handler.shutdown()
