// logback with loki4j's appender: half of the lines as JSON, half as protobuf in snappy.
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.joran.JoranConfigurator;
import ch.qos.logback.core.status.Status;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import org.slf4j.MDC;

class Loki4j {
    static final String APPENDER = """
        <appender name="%1$s" class="com.github.loki4j.logback.Loki4jAppender">
          <labels>application = shop</labels>
          <message><pattern>%%msg%%n</pattern></message>
          <http>
            <url>http://%2$s:%3$s/loki/api/v1/push</url>
            <useProtobufApi>%4$s</useProtobufApi>
            %5$s
          </http>
          <batch><maxItems>500</maxItems><timeoutMs>1000</timeoutMs></batch>
        </appender>
        <logger name="%1$s"><appender-ref ref="%1$s"/></logger>
        """;

    public static void main(String[] args) throws Exception {
        var lines = Integer.parseInt(args[2]);
        var auth = args.length < 4 ? ""
            : "<auth><username>duramen</username><password>" + args[3] + "</password></auth>";
        var config = "<configuration>" + APPENDER.formatted("json", args[0], args[1], false, auth)
            + APPENDER.formatted("protobuf", args[0], args[1], true, auth) + "</configuration>";
        var context = new LoggerContext();
        // A context of one's own has not the adapter that the static factory would have given it.
        context.setMDCAdapter(MDC.getMDCAdapter());
        var configurator = new JoranConfigurator();
        configurator.setContext(context);
        configurator.doConfigure(new ByteArrayInputStream(config.getBytes(StandardCharsets.UTF_8)));
        MDC.put("request_id", "r-7");
        for (int i = 0; i < lines; i++) {
            context.getLogger(i < lines / 2 ? "json" : "protobuf").atWarn().addKeyValue("order", i)
                .setCause(i % 5000 == 7 ? new IllegalStateException("refused") : null).log("line {} of it", i);
        }
        // Sends what is left. What could not be sent is told as a status, and nowhere else.
        context.stop();
        var failed = context.getStatusManager().getCopyOfStatusList().stream()
            .filter(status -> status.getEffectiveLevel() >= Status.WARN).toList();
        failed.forEach(status -> System.err.println(status + " " + status.getThrowable()));
        System.exit(failed.isEmpty() ? 0 : 1);
    }
}
