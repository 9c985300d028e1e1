//! Prometheus metrics, at `/metrics`.

use crate::app::{App, Shared};
use crate::auth::Access;
use crate::error::ApiError;
use crate::health::Lines;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use duramen_query::RunStats;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/metrics", get(metrics))
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Route {
    route: String,
    code: u16,
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Protocol {
    protocol: &'static str,
}

/// What is counted as it happens. What others count already is asked for when somebody looks.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Route, Counter>,
    seconds: Histogram,
    lines: Family<Protocol, Counter>,
    rejected: Family<Protocol, Counter>,
    bytes: Family<Protocol, Counter>,
    queries: Counter,
    brief_queries: Counter,
    query_seconds: Histogram,
    query_rows: Counter,
    query_bytes: Counter,
    query_failed: Counter,
    tail_skipped: Counter,
}

impl Metrics {
    pub fn new() -> Self {
        let times = || Histogram::new(exponential_buckets(0.000_25, 4.0, 10));
        let mut registry = Registry::with_prefix("duramen");
        let this = Self {
            requests: Family::default(),
            seconds: times(),
            lines: Family::default(),
            rejected: Family::default(),
            bytes: Family::default(),
            queries: Counter::default(),
            brief_queries: Counter::default(),
            query_seconds: times(),
            query_rows: Counter::default(),
            query_bytes: Counter::default(),
            query_failed: Counter::default(),
            tail_skipped: Counter::default(),
            registry: Registry::default(),
        };
        registry.register("http_requests", "Requests answered, by route and status", this.requests.clone());
        let help = "Time until a request's answer began";
        registry.register_with_unit("http_request_duration", help, Unit::Seconds, this.seconds.clone());
        registry.register("ingested_lines", "Lines taken, by protocol", this.lines.clone());
        registry.register(
            "rejected_lines",
            "Lines refused for what they are, by protocol",
            this.rejected.clone(),
        );
        registry.register_with_unit("received", "Bytes of bodies, as sent", Unit::Bytes, this.bytes.clone());
        registry.register("queries", "Queries that ran to their end", this.queries.clone());
        let help = "Queries that were short, and ran where they were asked, not on a thread of their own";
        registry.register("brief_queries", help, this.brief_queries.clone());
        let help = "How long queries ran";
        registry.register_with_unit("query_duration", help, Unit::Seconds, this.query_seconds.clone());
        registry.register("query_scanned_rows", "Rows that queries looked at", this.query_rows.clone());
        let help = "Decoded bytes that queries looked at";
        registry.register_with_unit("query_read", help, Unit::Bytes, this.query_bytes.clone());
        let help = "Blocks that queries could not read, and left out of their answers";
        registry.register("query_failed_blocks", help, this.query_failed.clone());
        let help = "Lines that were skipped for clients too slow to follow";
        registry.register("tail_skipped_lines", help, this.tail_skipped.clone());
        Self { registry, ..this }
    }

    /// A request was answered.
    pub fn request(&self, route: &str, code: u16, took: Duration) {
        self.requests.get_or_create(&Route { route: route.to_owned(), code }).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    /// A body was taken.
    pub fn taken(&self, protocol: &'static str, bytes: u64, lines: u64, rejected: u64) {
        let label = Protocol { protocol };
        self.bytes.get_or_create(&label).inc_by(bytes);
        self.lines.get_or_create(&label).inc_by(lines);
        if rejected > 0 {
            self.rejected.get_or_create(&label).inc_by(rejected);
        }
    }

    /// A query has run.
    pub fn query(&self, stats: &RunStats) {
        self.queries.inc();
        self.query_seconds.observe(stats.elapsed.unwrap_or_default().as_secs_f64());
        self.query_rows.inc_by(stats.rows_scanned);
        self.query_bytes.inc_by(stats.bytes_read);
        self.query_failed.inc_by(stats.blocks_failed);
    }

    /// A query was short, and has run where it was asked.
    pub fn brief_query(&self) {
        self.brief_queries.inc();
    }

    /// Lines were skipped for somebody who follows too slowly.
    pub fn skipped(&self, lines: u64) {
        self.tail_skipped.inc_by(lines);
    }
}

/// They are of all tenants, and so for none of them.
async fn metrics(State(app): State<Shared>, Extension(access): Extension<Access>) -> Response {
    if !access.tenant.name.is_empty() {
        let told = "metrics are of all tenants: ask with a token that was made without --tenant";
        return ApiError::new(StatusCode::FORBIDDEN, told).into_response();
    }
    let text = tokio::task::spawn_blocking(move || text(&app)).await.unwrap_or_default();
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ([(header::CONTENT_TYPE, content_type)], text).into_response()
}

fn text(app: &Arc<App>) -> String {
    let mut text = String::new();
    // Writing to a string fails only if something cannot be encoded, which then is left out.
    let _counted = encode(&mut text, &app.metrics.registry);
    let ends = text.strip_suffix("# EOF\n").map(str::len);
    text.truncate(ends.unwrap_or(text.len()));
    let mut now = Registry::with_prefix("duramen");
    now.register_collector(Box::new(Now(app.clone())));
    let _asked = encode(&mut text, &now);
    text
}

#[derive(Clone, Debug, EncodeLabelSet, Eq, Hash, PartialEq)]
struct Failing {
    tenant: String,
    reason: &'static str,
}

/// What is asked for when somebody looks.
#[derive(Debug)]
struct Now(Arc<App>);

impl Now {
    /// Whose lines are not taken. Who may ask may know all tenants' names.
    fn troubles(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let troubles = self.0.tenants.troubles();
        let is_up = Lines::now(&self.0, &troubles) != Lines::Refused;
        let help = "1 while lines are taken, be it not of all tenants";
        let up = ConstGauge::new(i64::from(is_up));
        up.encode(encoder.encode_descriptor("up", help, None, MetricType::Gauge)?)?;
        let help = "1 while a store takes no lines; the server's own is that of no tenant";
        let mut failing = encoder.encode_descriptor("store_failing", help, None, MetricType::Gauge)?;
        for (tenant, reason) in troubles {
            let one = ConstGauge::new(1_i64);
            one.encode(failing.encode_family(&Failing { tenant, reason })?)?;
        }
        Ok(())
    }
}

impl prometheus_client::collector::Collector for Now {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        self.troubles(&mut encoder)?;
        let mut gauge = |name: &str, help: &str, value: u64| {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)
        };
        let app = &self.0;
        let tenants = app.tenants.all();
        gauge("tenants", "Stores that are open", tenants.len() as u64)?;
        gauge("queries_running", "Queries that run or wait to be read", {
            let most = app.settings.max_queries.unwrap_or_default();
            most.saturating_sub(app.queries.available_permits()) as u64
        })?;
        gauge("bodies_free_bytes", "Memory left for bodies", app.bodies.left_bytes() as u64)?;
        let (mut lines, mut disk, mut tables, mut wal) = (0, 0, 0, 0);
        for size in tenants.iter().filter_map(|tenant| tenant.store().ok()?.size().ok()) {
            lines += size.table_lines + size.wal_lines;
            disk += size.table_bytes;
            tables += size.tables;
            wal += size.wal_bytes;
        }
        gauge("store_lines", "Lines in the stores", lines)?;
        gauge("store_tables", "Tables in the stores", tables)?;
        gauge("store_tables_bytes", "Bytes of tables on disk", disk)?;
        gauge("store_wal_bytes", "Bytes of WAL segments on disk", wal)?;
        let mut counter = |name: &str, help: &str, value: u64| {
            ConstCounter::new(value).encode(encoder.encode_descriptor(
                name,
                help,
                None,
                MetricType::Counter,
            )?)
        };
        let stats: Vec<_> = tenants.iter().map(|tenant| tenant.stats()).collect();
        let sum = |of: &dyn Fn(&duramen::LoggerStats) -> u64| stats.iter().map(of).sum();
        counter("wal_records", "Records appended to the WAL", sum(&|s| s.lines))?;
        counter("wal_appended_bytes", "Bytes appended to the WAL", sum(&|s| s.bytes))?;
        counter("wal_reopened", "Writers replaced after a failed write or sync", sum(&|s| s.reopened))?;
        Ok(())
    }
}
