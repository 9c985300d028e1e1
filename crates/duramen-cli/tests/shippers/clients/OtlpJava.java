// OpenTelemetry's SDK for Java, over HTTP, in gzipped protobuf.
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanContext;
import io.opentelemetry.api.trace.TraceFlags;
import io.opentelemetry.api.trace.TraceState;
import io.opentelemetry.context.Context;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.export.BatchLogRecordProcessor;
import io.opentelemetry.sdk.resources.Resource;
import java.util.concurrent.TimeUnit;

class OtlpJava {
    public static void main(String[] args) {
        var lines = Integer.parseInt(args[2]);
        var exporter = OtlpHttpLogRecordExporter.builder()
            .setEndpoint("http://" + args[0] + ":" + args[1] + "/v1/logs").setCompression("gzip");
        if (args.length > 3) {
            exporter.addHeader("Authorization", "Bearer " + args[3]);
        }
        var batches = BatchLogRecordProcessor.builder(exporter.build())
            .setMaxQueueSize(lines + 1).setMaxExportBatchSize(500).build();
        var provider = SdkLoggerProvider.builder()
            .setResource(Resource.create(Attributes.of(AttributeKey.stringKey("service.name"), "shop")))
            .addLogRecordProcessor(batches).build();
        var logger = provider.loggerBuilder("otel").setInstrumentationVersion("1.0").build();
        var span = Span.wrap(SpanContext.create(
            "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", TraceFlags.getSampled(), TraceState.getDefault()));
        for (int i = 0; i < lines; i++) {
            logger.logRecordBuilder().setTimestamp(1718452800_000000000L + i, TimeUnit.NANOSECONDS)
                .setContext(Context.root().with(span)).setSeverity(Severity.WARN).setSeverityText("WARN")
                .setBody("line " + i + " of it").setAttribute(AttributeKey.longKey("order"), (long) i).emit();
        }
        System.exit(provider.shutdown().join(60, TimeUnit.SECONDS).isSuccess() ? 0 : 1);
    }
}
