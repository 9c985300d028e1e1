"""Lines through OpenTelemetry's API, in batches, inside a span."""
import sys

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.resources import Resource


def send(exporter, lines):
    refused = []
    export = exporter.export

    def checked(batch):
        result = export(batch)
        if result.name != "SUCCESS":
            refused.append(result)
        return result

    exporter.export = checked
    provider = LoggerProvider(resource=Resource.create({"service.name": "shop"}))
    provider.add_log_record_processor(
        BatchLogRecordProcessor(exporter, max_queue_size=lines + 1, max_export_batch_size=500)
    )
    logger = provider.get_logger("otel", "1.0")
    for i in range(lines):
        logger.emit(
            LogRecord(
                timestamp=1718452800_000000000 + i,
                severity_number=SeverityNumber.WARN,
                severity_text="WARN",
                body=f"line {i} of it",
                attributes={"order": i, "ok": True, "tags": ["a", "b"]},
                trace_id=0x0AF7651916CD43DD8448EB211C80319C,
                span_id=0xB7AD6B7169203331,
            )
        )
    provider.shutdown()
    sys.exit(1 if refused else 0)
