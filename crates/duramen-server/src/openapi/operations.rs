//! The table of all paths, which tests hold to the routes.

/// What a parameter holds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Text,
    Number,
    Needed,
}
use Kind::{Needed, Number, Text};

pub(super) type Param = (&'static str, Kind, &'static str);

/// A path: its methods, whose scope it needs, what it does, its parameters, and what it answers when all is well.
pub(super) struct Operation {
    pub path: &'static str,
    pub methods: &'static [&'static str],
    pub scope: &'static str,
    pub summary: &'static str,
    pub params: &'static [Param],
    /// The type of the body that it takes, if it takes one.
    pub takes: Option<&'static str>,
    pub success: u16,
}

const GET: &[&str] = &["get"];
const POST: &[&str] = &["post"];
const ASK: &[&str] = &["get", "post"];
const LIST_AND_MAKE: &[&str] = &["get", "post"];
const DELETE: &[&str] = &["delete"];
const SEND: &[&str] = &["post", "put"];
const JSON: Option<&str> = Some("application/json");
const NDJSON: Option<&str> = Some("application/x-ndjson");
const PROTOBUF: Option<&str> = Some("application/x-protobuf");
pub(super) const FORM: Option<&str> = Some("application/x-www-form-urlencoded");

const ROLES: &[Param] = &[
    ("_msg_field", Text, "Names, separated by commas: the first that a row has is its message"),
    ("_time_field", Text, "Names: the first that reads as a time is the row's"),
    ("_stream_fields", Text, "Names of the fields that make the row's stream"),
    ("ignore_fields", Text, "Fields to leave out: name, or prefix*"),
    ("extra_fields", Text, "Fields to add: name=value, separated by commas"),
];
const RANGE: &[Param] = &[("start", Text, "The earliest time"), ("end", Text, "The latest time")];
const LOGSQL: &[Param] = &[
    ("query", Needed, "LogsQL"),
    ("start", Text, "The earliest time"),
    ("end", Text, "The latest time"),
    ("timeout", Text, "The longest run, such as 5s"),
    ("extra_filters", Text, "A filter that every row must pass, too"),
    ("limit", Number, "The most rows or values"),
];
const QUERY: &[Param] = &[
    ("query", Needed, "LogsQL"),
    ("start", Text, "The earliest time"),
    ("end", Text, "The latest time"),
    ("timeout", Text, "The longest run, such as 5s"),
    ("extra_filters", Text, "A filter that every row must pass, too"),
    ("limit", Number, "The most rows, of the newest"),
    ("offset", Number, "Rows to leave out, of the newest"),
    ("format", Text, "json (all values are text), typed, csv; parquet, if the server was built with it"),
    ("fields", Text, "The columns of csv"),
];
const VALUES: &[Param] = &[
    ("query", Needed, "LogsQL"),
    ("field", Needed, "The field"),
    ("start", Text, "The earliest time"),
    ("end", Text, "The latest time"),
    ("limit", Number, "The most values"),
];
const STEPS: &[Param] = &[
    ("query", Needed, "LogsQL"),
    ("step", Text, "The length of a step, such as 5m"),
    ("start", Text, "The earliest time"),
    ("end", Text, "The latest time"),
    ("field", Text, "A field to group by; may be given again"),
];
const TAIL: &[Param] =
    &[("query", Needed, "LogsQL"), ("start_offset", Text, "How much of the past to begin with, such as 5m")];
const LOGQL: &[Param] = &[
    ("query", Needed, "LogQL"),
    ("start", Text, "The earliest time"),
    ("end", Text, "The first time that is too late"),
    ("limit", Number, "The most lines"),
    ("direction", Text, "backward or forward"),
    ("step", Text, "The length of a step"),
];
const ENTRIES: &[Param] = &[
    ("q", Text, "A filter in LogsQL"),
    ("filters[NAME]", Text, "A value that the field NAME must have; again for another"),
    ("start", Text, "The earliest time"),
    ("end", Text, "The latest time"),
    ("limit", Number, "The most entries"),
    ("before", Text, "The `next` of the answer before"),
];
const SEARCH: &[Param] = &[("q", Text, "A filter in LogsQL"), ("limit", Number, "The most entries")];
const FACET: &[Param] = &[("field", Needed, "The field"), ("q", Text, "A filter in LogsQL")];
const FACETS: &[Param] = &[("q", Text, "A filter in LogsQL")];
const DELETION: &[Param] = &[
    ("query", Needed, "LogsQL: a filter, without pipes"),
    ("start", Text, "The earliest time"),
    ("end", Text, "The latest time"),
    ("dry_run", Text, "true: delete nothing, and say how many lines it would be"),
];
const SNAPSHOT: &[Param] = &[("name", Text, "What to call it; otherwise the time")];
const RESTORE: &[Param] = &[("tenant", Needed, "The tenant to make, whose store it is to be")];
const NONE: &[Param] = &[];

const fn op(
    path: &'static str,
    methods: &'static [&'static str],
    scope: &'static str,
    params: &'static [Param],
    takes: Option<&'static str>,
    success: u16,
    summary: &'static str,
) -> Operation {
    Operation { path, methods, scope, summary, params, takes, success }
}

/// Elasticsearch's paths, which are there a second time under `/insert/elasticsearch`.
pub(super) const ELASTIC: &[Operation] = &[
    op("/_bulk", SEND, "ingest", ROLES, NDJSON, 200, "Elasticsearch's bulk requests: create and index"),
    op("/{index}/_bulk", SEND, "ingest", ROLES, NDJSON, 200, "The same with an index, kept as a field"),
    op("/", GET, "ingest", NONE, None, 200, "What Elasticsearch's clients ask first: a version"),
    op("/_license", GET, "ingest", NONE, None, 200, "A license that is active, for Beats and Logstash"),
    op("/_xpack", GET, "ingest", NONE, None, 200, "The same, for older clients"),
    op("/_cluster/health", GET, "ingest", NONE, None, 200, "A cluster that is green"),
    op("/_cat/health", GET, "ingest", NONE, None, 200, "The same in a line"),
    op("/_nodes", GET, "ingest", NONE, None, 200, "Nothing: clients go on"),
    op("/_logstash", GET, "ingest", NONE, None, 200, "Nothing: clients go on"),
];

pub(super) const OPERATIONS: &[Operation] = &[
    op("/api/v1/ingest", POST, "ingest", ROLES, JSON, 202, "An object, an array of objects, or NDJSON"),
    op("/insert/jsonline", SEND, "ingest", ROLES, NDJSON, 200, "VictoriaLogs' JSON lines"),
    op("/loki/api/v1/push", POST, "ingest", ROLES, PROTOBUF, 204, "Loki's push, in protobuf or JSON"),
    op("/insert/loki/api/v1/push", POST, "ingest", ROLES, PROTOBUF, 204, "The same"),
    op("/insert/loki/ready", GET, "ingest", NONE, None, 200, "Whether it can be sent to"),
    op("/v1/logs", POST, "ingest", ROLES, PROTOBUF, 200, "OpenTelemetry's logs, in protobuf or JSON"),
    op("/otlp/v1/logs", POST, "ingest", ROLES, PROTOBUF, 200, "The same"),
    op("/insert/opentelemetry/v1/logs", POST, "ingest", ROLES, PROTOBUF, 200, "The same"),
    op(
        "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
        POST,
        "ingest",
        NONE,
        Some("application/grpc"),
        200,
        "The same over gRPC, which is HTTP/2",
    ),
    op("/services/collector", POST, "ingest", NONE, JSON, 200, "Splunk's HTTP event collector"),
    op("/services/collector/event", POST, "ingest", NONE, JSON, 200, "The same"),
    op("/services/collector/event/1.0", POST, "ingest", NONE, JSON, 200, "The same"),
    op(
        "/services/collector/raw",
        POST,
        "ingest",
        NONE,
        Some("text/plain"),
        200,
        "Lines, for Splunk's collector",
    ),
    op("/services/collector/raw/1.0", POST, "ingest", NONE, Some("text/plain"), 200, "The same"),
    op("/services/collector/health", GET, "ingest", NONE, None, 200, "Whether the collector takes events"),
    op("/services/collector/health/1.0", GET, "ingest", NONE, None, 200, "The same"),
    op("/api/v2/logs", POST, "ingest", NONE, JSON, 202, "Datadog's logs"),
    op("/insert/datadog/api/v2/logs", POST, "ingest", NONE, JSON, 202, "The same"),
    op("/api/v1/validate", GET, "ingest", NONE, None, 200, "Whether a key is good, for Datadog's agent"),
    op("/insert/datadog/api/v1/validate", GET, "ingest", NONE, None, 200, "The same"),
    op("/gelf", POST, "ingest", NONE, JSON, 202, "A GELF message"),
    op(
        "/upload",
        POST,
        "ingest",
        NONE,
        Some("application/vnd.fdo.journal"),
        202,
        "systemd-journal-upload's journal",
    ),
    op("/insert/journald/upload", POST, "ingest", NONE, Some("application/vnd.fdo.journal"), 202, "The same"),
    op("/select/logsql/query", ASK, "read", QUERY, FORM, 200, "Rows, the newest first, an object a line"),
    op("/select/logsql/tail", ASK, "read", TAIL, FORM, 200, "Rows as they are appended, an object a line"),
    op("/select/logsql/hits", ASK, "read", STEPS, FORM, 200, "How many rows there are in each step"),
    op("/select/logsql/facets", ASK, "read", LOGSQL, FORM, 200, "The most frequent values of each field"),
    op("/select/logsql/field_names", ASK, "read", LOGSQL, FORM, 200, "Fields, and how many rows have each"),
    op("/select/logsql/field_values", ASK, "read", VALUES, FORM, 200, "A field's values, with how many rows"),
    op("/select/logsql/streams", ASK, "read", LOGSQL, FORM, 200, "Streams, with how many rows"),
    op(
        "/select/logsql/stream_ids",
        ASK,
        "read",
        LOGSQL,
        FORM,
        200,
        "Identities of streams, with how many rows",
    ),
    op(
        "/select/logsql/stream_field_names",
        ASK,
        "read",
        LOGSQL,
        FORM,
        200,
        "Fields of streams, with how many rows",
    ),
    op("/select/logsql/stream_field_values", ASK, "read", VALUES, FORM, 200, "A stream field's values"),
    op(
        "/select/logsql/stats_query",
        ASK,
        "read",
        LOGSQL,
        FORM,
        200,
        "What stats counts, as a Prometheus vector",
    ),
    op(
        "/select/logsql/stats_query_range",
        ASK,
        "read",
        STEPS,
        FORM,
        200,
        "The same for each step, as a matrix",
    ),
    op("/api/v1/entries", GET, "read", ENTRIES, None, 200, "The newest entries, with identities"),
    op("/api/v1/entries/{id}", GET, "read", NONE, None, 200, "One entry"),
    op("/api/v1/search", ASK, "read", SEARCH, JSON, 200, "Entries that a filter finds"),
    op("/api/v1/facets", GET, "read", FACET, None, 200, "A field's values, and how many entries have each"),
    op("/api/v1/facets/all", GET, "read", FACETS, None, 200, "Those of each field that has few"),
    op("/api/v1/timeline/request/{id}", GET, "read", NONE, None, 200, "What happened in a request, in order"),
    op("/api/v1/timeline/job/{id}", GET, "read", NONE, None, 200, "What happened in a job, in order"),
    op("/loki/api/v1/query_range", ASK, "read", LOGQL, FORM, 200, "LogQL over a range of time"),
    op("/loki/api/v1/query", ASK, "read", LOGQL, FORM, 200, "LogQL at a moment"),
    op("/loki/api/v1/labels", ASK, "read", RANGE, FORM, 200, "Names of labels"),
    op("/loki/api/v1/label", ASK, "read", RANGE, FORM, 200, "The same"),
    op("/loki/api/v1/label/{name}/values", ASK, "read", RANGE, FORM, 200, "A label's values"),
    op("/loki/api/v1/series", ASK, "read", RANGE, FORM, 200, "Streams that selectors (match[]) find"),
    op("/loki/api/v1/index/stats", ASK, "read", LOGQL, FORM, 200, "How much a selector finds"),
    op("/loki/api/v1/index/volume", ASK, "read", LOGQL, FORM, 200, "How much each label value has"),
    op("/loki/api/v1/index/volume_range", ASK, "read", LOGQL, FORM, 200, "The same for each step"),
    op("/loki/api/v1/detected_labels", ASK, "read", RANGE, FORM, 200, "Labels, and how many values each has"),
    op(
        "/loki/api/v1/detected_fields",
        ASK,
        "read",
        LOGQL,
        FORM,
        200,
        "Fields that lines hold, and their types",
    ),
    op("/loki/api/v1/detected_field/{name}/values", ASK, "read", LOGQL, FORM, 200, "A field's values"),
    op("/loki/api/v1/patterns", ASK, "read", LOGQL, FORM, 200, "Lines that are alike, counted in each step"),
    op("/loki/api/v1/format_query", ASK, "read", LOGQL, FORM, 200, "A query, written tidily"),
    op("/loki/api/v1/drilldown-limits", GET, "read", NONE, None, 200, "Limits, for Grafana's Drilldown"),
    op("/loki/api/v1/status/buildinfo", GET, "read", NONE, None, 200, "The version"),
    op("/loki/api/v1/tail", GET, "read", LOGQL, None, 101, "Lines as they come, over a WebSocket"),
    op(
        "/api/v1/delete",
        POST,
        "admin",
        DELETION,
        JSON,
        200,
        "Deletes the lines that a filter finds, for good",
    ),
    op(
        "/api/v1/snapshots",
        LIST_AND_MAKE,
        "admin",
        SNAPSHOT,
        JSON,
        200,
        "Lists snapshots; POST makes one (201)",
    ),
    op("/api/v1/snapshots/{name}", DELETE, "admin", NONE, None, 200, "Removes a snapshot"),
    op(
        "/api/v1/snapshots/{name}/restore",
        POST,
        "admin",
        RESTORE,
        JSON,
        201,
        "Makes a snapshot the store of a new tenant",
    ),
    op("/metrics", GET, "read", NONE, None, 200, "Prometheus metrics"),
    op("/health", GET, "", NONE, None, 200, "Whether lines can be taken; 503 with the reason if not"),
    op("/-/healthy", GET, "", NONE, None, 200, "The same"),
    op("/ready", GET, "", NONE, None, 200, "Whether requests are answered"),
    op("/api/openapi.json", GET, "", NONE, None, 200, "This document"),
];
