"""fluent-logger: forward messages with times in nanoseconds."""
import sys

from fluent import sender

host, port, lines = sys.argv[1:]
logger = sender.FluentSender("shop", host=host, port=int(port), nanosecond_precision=True)
for i in range(int(lines)):
    assert logger.emit("web", {"message": f"line {i} of it", "level": "warn", "order": i}), logger.last_error
logger.close()
