//! The table of all paths, which tests hold to the routes.

/// What a parameter holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Number,
    /// A text that must be there, and have something in it.
    Needed,
}
use Kind::{Needed, Number, Text};

pub(super) type Param = (&'static str, Kind, &'static str);

/// A path: its methods, whose scope it needs, what it does, its parameters, and what it answers.
pub(super) struct Operation {
    pub path: &'static str,
    pub methods: &'static [&'static str],
    pub scope: &'static str,
    pub summary: &'static str,
    pub params: &'static [Param],
    /// The type of the body that it takes, if it takes one.
    pub takes: Option<&'static str>,
    /// The status when all is well, and what the body may be then.
    pub success: u16,
    pub answers: &'static [&'static str],
    /// What the body may be when it is refused.
    pub refusals: &'static [&'static str],
}

const GET: &[&str] = &["get"];
const POST: &[&str] = &["post"];
const ASK: &[&str] = &["get", "post"];
const LIST_AND_MAKE: &[&str] = &["get", "post"];
const DELETE: &[&str] = &["delete"];
const SET: &[&str] = &["head", "put"];
const GET_OR_SET: &[&str] = &["get", "put"];
const SEND: &[&str] = &["post", "put"];
const JSON: &str = "application/json";
const NDJSON: &str = "application/x-ndjson";
const PROTOBUF: &str = "application/x-protobuf";
const JOURNAL: &str = "application/vnd.fdo.journal";
const BYTES: &str = "application/octet-stream";
const GRPC: &str = "application/grpc";
const TEXT: &str = "text/plain";
pub(super) const FORM: &str = "application/x-www-form-urlencoded";

/// Rows, an object a line.
const ROWS: &[&str] = &["application/stream+json"];
const EXPORT: &[&str] = &["application/stream+json", "text/csv", "application/vnd.apache.parquet"];
const METRICS: &[&str] = &["application/openmetrics-text"];
const TEXTS: &[&str] = &[TEXT];
/// As the body was sent.
const IN_KIND: &[&str] = &[PROTOBUF, JSON];
/// What the protocol's clients expect, or, from before it is looked at, our own.
const TEXT_OR_JSON: &[&str] = &[TEXT, JSON];
const GRPCS: &[&str] = &[GRPC];
const NOTHING: &[&str] = &[];

const QUERY: Param = ("query", Needed, "LogsQL");
const START: Param = ("start", Text, "The earliest time");
const END: Param = ("end", Text, "The latest time");
const TIMEOUT: Param = ("timeout", Text, "The longest run, such as 5s");
const EXTRA: Param =
    ("extra_filters", Text, "A filter that every row must pass, too, or a JSON object of fields and values");
const EXTRA_STREAMS: Param =
    ("extra_stream_filters", Text, "A filter of streams that every row must pass, too, or such an object");
const FILTER: Param = ("q", Text, "A filter in LogsQL");
const FIELD: Param = ("field", Needed, "The field");
const FILTERS: Param = ("filters[NAME]", Text, "A value that the field NAME must have; again for another");
const MOST_ENTRIES: Param = ("limit", Number, "The most entries");
const STEP: Param = ("step", Text, "The length of a step, such as 5m");
const SELECTOR: Param = ("query", Text, "LogQL; without it, all lines");
const LOGQL_QUERY: Param = ("query", Needed, "LogQL");
const SINCE: Param = ("since", Text, "Without start: how long before the end to begin, such as 6h");
const BEFORE: Param = ("end", Text, "The first time that is too late");
const EAST: Param = ("offset", Text, "How far east of UTC days begin, such as 2h or -5h30m");
const PART: Param = ("filter", Text, "What is told must contain this");
const BARE: Param = ("ignore_pipes", Text, "1: of the query, the filter counts alone");
const MOST_FOUND: Param = ("limit", Number, "The most that are told");

const LEFT_OUT: Param = ("ignore_fields", Text, "Fields to leave out: name, or prefix*");
const ADDED: Param = ("extra_fields", Text, "Fields to add: name=value, separated by commas");
const DECOLORIZED: Param =
    ("decolorize_fields", Text, "Fields whose texts lose the colours of terminals; _msg is the message");
const DEBUG: Param = ("debug", Text, "1: rows are shown in the server's log, and not stored");

const ROLES: &[Param] = &[
    ("_msg_field", Text, "Names, separated by commas: the first that a row has is its message"),
    ("_time_field", Text, "Names: the first that reads as a time is the row's"),
    ("_stream_fields", Text, "Names of the fields that make the row's stream"),
    LEFT_OUT,
    ADDED,
    DECOLORIZED,
    DEBUG,
];

/// Of rows that say themselves what their time and their message are.
const AGENT: &[Param] = &[
    ("version", Text, "The version of the form: v1"),
    ("_stream_fields", Text, "Names of the fields that make the row's stream, in place of its own"),
    LEFT_OUT,
    ADDED,
    DECOLORIZED,
    DEBUG,
];

/// What every question in LogsQL may have, and what is this one's own.
macro_rules! logsql {
    ($($own:expr),* $(,)?) => {
        &[QUERY, START, END, TIMEOUT, EXTRA, EXTRA_STREAMS, $($own),*]
    };
}

const FREQUENT: &[Param] = logsql![
    ("limit", Number, "The most values of a field"),
    ("max_values_per_field", Number, "Fields of more values are left out"),
    ("max_value_len", Number, "Fields with a longer value are left out"),
    ("keep_const_fields", Text, "1: fields of one value, too"),
];
const FIGURES: &[Param] = logsql![
    ("time", Text, "The vector's time; otherwise the end, or now"),
    ("limit", Number, "The most series"),
];
const EXPORTED: &[Param] = logsql![
    ("limit", Number, "The most rows, of the newest"),
    ("offset", Number, "Rows to leave out, of the newest"),
    ("format", Text, "json (all values are text), typed, csv; parquet, if the server was built with it"),
    ("fields", Text, "The columns of csv; otherwise all that there are"),
];
const NAMES: &[Param] = logsql![MOST_FOUND, PART, BARE];
const VALUES: &[Param] = logsql![FIELD, MOST_FOUND, PART, BARE];
const STEPS: &[Param] = logsql![STEP, EAST];
const HITS: &[Param] = logsql![
    STEP,
    EAST,
    ("field", Text, "A field to group by; may be given again"),
    ("fields_limit", Number, "The most groups; what is beyond them is one without fields"),
];
const TAIL: &[Param] = &[
    QUERY,
    ("start_offset", Text, "How much of the past to begin with, such as 5m; 5s if it is not said"),
    ("offset", Text, "As much more of it, such as 30s"),
    ("refresh_interval", Text, "A duration, such as 10s, which plays no part"),
    START,
    END,
    EXTRA,
    EXTRA_STREAMS,
];
const LINES: Param = ("limit", Number, "The most lines");
const LOGQL: &[Param] = &[
    LOGQL_QUERY,
    START,
    BEFORE,
    SINCE,
    LINES,
    ("direction", Text, "backward or forward"),
    STEP,
    ("interval", Text, "How far apart lines are at least, such as 30s"),
];
const AT: &[Param] = &[LOGQL_QUERY, ("time", Text, "The moment; otherwise now")];
const FOLLOWED: &[Param] = &[
    LOGQL_QUERY,
    START,
    SINCE,
    LINES,
    ("delay_for", Number, "How many seconds lines are held back, at most 5"),
];
const SELECTED: &[Param] = &[SELECTOR, START, BEFORE, SINCE];
const SELECTED_STEPS: &[Param] = &[SELECTOR, START, BEFORE, SINCE, STEP];
const SERIES: &[Param] = &[("match[]", Text, "A selector; may be given again"), START, BEFORE, SINCE];
const TARGETS: Param = ("targetLabels", Text, "Labels to count by, separated by commas, at most 16");
const ALONE: Param = ("aggregateBy", Text, "series, or labels: each for itself");
const VOLUMES: &[Param] = &[SELECTOR, START, BEFORE, SINCE, TARGETS, ALONE, MOST_FOUND];
const VOLUMES_STEPS: &[Param] = &[SELECTOR, START, BEFORE, SINCE, STEP, TARGETS, ALONE, MOST_FOUND];
const DETECTED: &[Param] = &[
    SELECTOR,
    START,
    BEFORE,
    SINCE,
    MOST_FOUND,
    ("line_limit", Number, "How many of the newest lines to look at"),
];
const FORMATTED: &[Param] = &[LOGQL_QUERY];
const NEXT: Param = ("before", Text, "The `next` of the answer before");
const ENTRIES: &[Param] = &[FILTER, FILTERS, START, END, MOST_ENTRIES, NEXT];
const SEARCH: &[Param] = &[("q", Needed, "A filter in LogsQL"), FILTERS, START, END, MOST_ENTRIES, NEXT];
const FACET: &[Param] = &[FIELD, FILTER, FILTERS, START, END, MOST_FOUND, TIMEOUT];
const FACETS: &[Param] = &[FILTER, FILTERS, START, END, TIMEOUT];
const DELETION: &[Param] = &[
    ("query", Needed, "LogsQL: a filter, without pipes"),
    START,
    END,
    EXTRA,
    EXTRA_STREAMS,
    ("dry_run", Text, "true: delete nothing, and say how many lines it would be"),
];
const RUN_TASK: &[Param] = &[("filter", Needed, "LogsQL: a filter, without pipes")];
const STOP_TASK: &[Param] = &[("task_id", Needed, "As the deletion was named when it began")];
const SNAPSHOT: &[Param] = &[("name", Text, "What to call it; otherwise the time")];
const RESTORE: &[Param] = &[("tenant", Needed, "The tenant to make, whose store it is to be")];
const NONE: &[Param] = &[];

/// Answers in JSON, refuses in JSON.
const fn op(
    path: &'static str,
    methods: &'static [&'static str],
    scope: &'static str,
    params: &'static [Param],
    takes: Option<&'static str>,
    success: u16,
    summary: &'static str,
) -> Operation {
    Operation { path, methods, scope, summary, params, takes, success, answers: &[JSON], refusals: &[JSON] }
}

/// Takes logs in a body.
const fn send(path: &'static str, takes: &'static str, success: u16, summary: &'static str) -> Operation {
    op(path, POST, "ingest", NONE, Some(takes), success, summary)
}

/// Takes a push of Loki's, answers nothing, and refuses in text.
const fn push(path: &'static str, summary: &'static str) -> Operation {
    send(path, PROTOBUF, 204, summary).with(ROLES).answering(NOTHING).refusing(TEXT_OR_JSON)
}

/// Takes OpenTelemetry's logs, and answers in kind.
const fn otlp(path: &'static str, summary: &'static str) -> Operation {
    send(path, PROTOBUF, 200, summary).with(ROLES).answering(IN_KIND).refusing(IN_KIND)
}

/// Tells something without being asked anything.
const fn tell(path: &'static str, scope: &'static str, summary: &'static str) -> Operation {
    op(path, GET, scope, NONE, None, 200, summary)
}

/// Answers what is asked in the URL, or in a form.
const fn ask(path: &'static str, params: &'static [Param], summary: &'static str) -> Operation {
    op(path, ASK, "read", params, Some(FORM), 200, summary)
}

/// The same of Loki, which refuses in text.
const fn loki(path: &'static str, params: &'static [Param], summary: &'static str) -> Operation {
    ask(path, params, summary).refusing(TEXT_OR_JSON)
}

/// Answers what is asked in the URL.
const fn get(path: &'static str, params: &'static [Param], summary: &'static str) -> Operation {
    op(path, GET, "read", params, None, 200, summary)
}

impl Operation {
    const fn with(self, params: &'static [Param]) -> Self {
        Self { params, ..self }
    }

    const fn answering(self, answers: &'static [&'static str]) -> Self {
        Self { answers, ..self }
    }

    const fn refusing(self, refusals: &'static [&'static str]) -> Self {
        Self { refusals, ..self }
    }
}

/// Elasticsearch's paths, which are there a second time under `/insert/elasticsearch`.
pub(super) const ELASTIC: &[Operation] = &[
    op("/_bulk", SEND, "ingest", ROLES, Some(NDJSON), 200, "Elasticsearch's bulk requests: create and index"),
    op("/{index}/_bulk", SEND, "ingest", ROLES, Some(NDJSON), 200, "The same with an index, kept as a field"),
    op(
        "/{index}/_doc",
        POST,
        "ingest",
        ROLES,
        Some(JSON),
        201,
        "A document of Elasticsearch's, which is a row",
    ),
    op("/{index}/_doc/{id}", SEND, "ingest", ROLES, Some(JSON), 201, "The same with an id, kept as a field"),
    op("/{index}/_create/{id}", SEND, "ingest", ROLES, Some(JSON), 201, "The same"),
    op("/_refresh", ASK, "ingest", NONE, None, 200, "Nothing to do: rows are visible at once"),
    op("/{index}/_refresh", ASK, "ingest", NONE, None, 200, "The same"),
    tell("/", "ingest", "What Elasticsearch's clients ask first: a version"),
    tell("/_license", "ingest", "A license that is active, for Beats and Logstash"),
    tell("/_xpack", "ingest", "The same, for older clients"),
    tell("/_cluster/health", "ingest", "A cluster that is green"),
    tell("/_cat/health", "ingest", "The same in a line").answering(TEXTS),
    tell("/_nodes", "ingest", "Nothing: clients go on"),
    tell("/_logstash", "ingest", "Nothing: clients go on"),
];

pub(super) const OPERATIONS: &[Operation] = &[
    send("/api/v1/ingest", JSON, 202, "An object, an array of objects, or NDJSON").with(ROLES),
    op("/insert/jsonline", SEND, "ingest", ROLES, Some(NDJSON), 200, "VictoriaLogs' JSON lines")
        .answering(NOTHING),
    tell("/insert/elasticsearch", "ingest", "What Beats ask first: a version"),
    op("/{index}", SET, "ingest", NONE, None, 200, "Logstash's index, which is there and need not be made"),
    op("/insert/elasticsearch/{index}", GET_OR_SET, "ingest", NONE, None, 200, "The same"),
    push("/loki/api/v1/push", "Loki's push, in protobuf or JSON"),
    push("/insert/loki/api/v1/push", "The same"),
    tell("/insert/loki/ready", "", "Whether it can be sent to").answering(TEXTS),
    tell("/insert/ready", "", "The same"),
    otlp("/v1/logs", "OpenTelemetry's logs, in protobuf or JSON"),
    otlp("/otlp/v1/logs", "The same"),
    otlp("/insert/opentelemetry/v1/logs", "The same"),
    send(
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        GRPC,
        200,
        "The same over gRPC, which is HTTP/2",
    )
    .answering(GRPCS)
    .refusing(GRPCS),
    send("/services/collector", JSON, 200, "Splunk's HTTP event collector"),
    send("/services/collector/event", JSON, 200, "The same"),
    send("/services/collector/event/1.0", JSON, 200, "The same"),
    send("/services/collector/raw", TEXT, 200, "Lines, for Splunk's collector"),
    send("/services/collector/raw/1.0", TEXT, 200, "The same"),
    tell("/services/collector/health", "", "Whether the collector takes events"),
    tell("/services/collector/health/1.0", "", "The same"),
    send("/api/v2/logs", JSON, 202, "Datadog's logs"),
    send("/insert/datadog/api/v2/logs", JSON, 202, "The same"),
    op("/api/v1/validate", ASK, "ingest", NONE, None, 200, "Whether a key is good, for Datadog's agent"),
    op("/insert/datadog/api/v1/validate", ASK, "ingest", NONE, None, 200, "The same"),
    send("/gelf", JSON, 202, "A GELF message").answering(TEXTS),
    send("/insert/native", BYTES, 200, "Rows of VictoriaLogs, as its vlagent sends them")
        .with(AGENT)
        .answering(NOTHING),
    send("/internal/insert", BYTES, 200, "The same, of older ones").with(AGENT).answering(NOTHING),
    send("/upload", JOURNAL, 202, "systemd-journal-upload's journal").answering(TEXTS).refusing(TEXT_OR_JSON),
    send("/insert/journald/upload", JOURNAL, 202, "The same").answering(TEXTS).refusing(TEXT_OR_JSON),
    ask("/select/logsql/query", EXPORTED, "Rows, the newest first, an object a line").answering(EXPORT),
    ask("/select/logsql/tail", TAIL, "Rows as they are appended, an object a line").answering(ROWS),
    ask("/select/logsql/hits", HITS, "How many rows there are in each step"),
    ask("/select/logsql/facets", FREQUENT, "The most frequent values of each field"),
    ask("/select/logsql/field_names", NAMES, "Fields, and how many rows have each"),
    ask("/select/logsql/field_values", VALUES, "A field's values, with how many rows"),
    ask("/select/logsql/streams", NAMES, "Streams, with how many rows"),
    ask("/select/logsql/stream_ids", NAMES, "Identities of streams, with how many rows"),
    ask("/select/logsql/stream_field_names", NAMES, "Fields of streams, with how many rows"),
    ask("/select/logsql/stream_field_values", VALUES, "A stream field's values"),
    ask("/select/logsql/stats_query", FIGURES, "What stats counts, as a Prometheus vector"),
    ask("/select/logsql/stats_query_range", STEPS, "The same for each step, as a matrix"),
    get("/api/v1/entries", ENTRIES, "The newest entries, with identities"),
    get("/api/v1/entries/{id}", NONE, "One entry"),
    op("/api/v1/search", ASK, "read", SEARCH, Some(JSON), 200, "Entries that a filter finds"),
    get("/api/v1/facets", FACET, "A field's values, and how many entries have each"),
    get("/api/v1/facets/all", FACETS, "Those of each field that has few"),
    get("/api/v1/timeline/request/{id}", NONE, "What happened in a request, in order"),
    get("/api/v1/timeline/job/{id}", NONE, "What happened in a job, in order"),
    loki("/loki/api/v1/query_range", LOGQL, "LogQL over a range of time"),
    loki("/loki/api/v1/query", AT, "LogQL at a moment"),
    loki("/loki/api/v1/labels", SELECTED, "Names of labels"),
    loki("/loki/api/v1/label", SELECTED, "The same"),
    loki("/loki/api/v1/label/{name}/values", SELECTED, "A label's values"),
    loki("/loki/api/v1/series", SERIES, "Streams that selectors (match[]) find"),
    loki("/loki/api/v1/index/stats", SELECTED, "How much a selector finds"),
    loki("/loki/api/v1/index/volume", VOLUMES, "How much each label value has"),
    loki("/loki/api/v1/index/volume_range", VOLUMES_STEPS, "The same for each step"),
    loki("/loki/api/v1/detected_labels", SELECTED, "Labels, and how many values each has"),
    loki("/loki/api/v1/detected_fields", DETECTED, "Fields that lines hold, and their types"),
    loki("/loki/api/v1/detected_field/{name}/values", DETECTED, "A field's values"),
    loki("/loki/api/v1/patterns", SELECTED_STEPS, "Lines that are alike, counted in each step"),
    loki("/loki/api/v1/format_query", FORMATTED, "A query, written tidily"),
    tell("/loki/api/v1/drilldown-limits", "read", "Limits, for Grafana's Drilldown"),
    tell("/loki/api/v1/status/buildinfo", "read", "The version"),
    op("/loki/api/v1/tail", GET, "read", FOLLOWED, None, 101, "Lines as they come, over a WebSocket")
        .answering(NOTHING)
        .refusing(TEXT_OR_JSON),
    op(
        "/api/v1/delete",
        POST,
        "admin",
        DELETION,
        Some(JSON),
        200,
        "Deletes the lines that a filter finds, for good",
    ),
    op(
        "/delete/run_task",
        POST,
        "admin",
        RUN_TASK,
        Some(FORM),
        200,
        "Begins a deletion, as VictoriaLogs does",
    ),
    op("/delete/active_tasks", ASK, "admin", NONE, None, 200, "Deletions that run or wait"),
    op("/delete/stop_task", ASK, "admin", STOP_TASK, Some(FORM), 200, "Stops a deletion that was begun"),
    op(
        "/api/v1/snapshots",
        LIST_AND_MAKE,
        "admin",
        SNAPSHOT,
        Some(JSON),
        200,
        "Lists snapshots; POST makes one (201)",
    ),
    op("/api/v1/snapshots/{name}", DELETE, "admin", NONE, None, 200, "Removes a snapshot"),
    op(
        "/api/v1/snapshots/{name}/restore",
        POST,
        "admin",
        RESTORE,
        Some(JSON),
        201,
        "Makes a snapshot the store of a new tenant",
    ),
    tell("/metrics", "read", "Prometheus metrics").answering(METRICS),
    tell("/health", "", "Whether lines are taken, be it not of all tenants; 503 with the reason if none are"),
    tell("/-/healthy", "", "Whether it lives").answering(TEXTS),
    tell("/ready", "", "Whether requests are answered").answering(TEXTS).refusing(TEXTS),
    tell("/-/ready", "", "The same").answering(TEXTS).refusing(TEXTS),
    tell("/api/openapi.json", "", "This document"),
];
