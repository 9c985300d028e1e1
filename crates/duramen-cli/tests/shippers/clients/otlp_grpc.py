"""OpenTelemetry's SDK, over gRPC, with gzip; and what it is told when it may not send."""
import logging
import sys

from grpc import Compression, StatusCode
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter
from otlp_common import send

host, port, lines, *token = sys.argv[1:]
endpoint = f"http://{host}:{port}"
if token:
    told = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())
    logging.getLogger("opentelemetry.exporter.otlp.proto.grpc.exporter").addHandler(handler)
    try:
        send(OTLPLogExporter(endpoint=endpoint, headers={"authorization": "Bearer wrong"}), 500)
    except SystemExit as refused:
        assert refused.code == 1
    assert len(told) == 1 and str(StatusCode.UNAUTHENTICATED) in told[0] and "the token is not known" in told[0], told
headers = {"authorization": f"Bearer {token[0]}"} if token else None
send(OTLPLogExporter(endpoint=endpoint, headers=headers, compression=Compression.Gzip), int(lines))
