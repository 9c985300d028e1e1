"""OpenTelemetry's SDK, over HTTP, in JSON."""
import sys

from opentelemetry.exporter.otlp.json.http._log_exporter import OTLPLogExporter
from otlp_common import send

host, port, lines = sys.argv[1:]
send(OTLPLogExporter(endpoint=f"http://{host}:{port}/v1/logs"), int(lines))
