//! What a request asks for, as Loki's clients say it, and how it is refused: with a text, which they show.

use crate::app::Shared;
use crate::error::ApiError;
use crate::select::args::{Args, moment};
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use duramen_logql::{LogQl, LogQuery, MAX_STEPS, Steps};
use duramen_query::number::parse_duration_ns;
use duramen_query::{Order, ParseError};

/// A refusal, as a text.
#[derive(Debug)]
pub(super) struct LokiError(pub ApiError);

/// The result of whatever answers a request.
pub(super) type LokiResult<T> = Result<T, LokiError>;

impl LokiError {
    /// 400: the client's mistake.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self(ApiError::bad_request(message))
    }

    /// 400 for a limit, too: what a query may take is the client's to heed.
    pub fn limit(e: ApiError) -> Self {
        let limit = e.status == StatusCode::UNPROCESSABLE_ENTITY;
        Self(ApiError { status: if limit { StatusCode::BAD_REQUEST } else { e.status }, ..e })
    }
}

impl IntoResponse for LokiError {
    fn into_response(self) -> Response {
        self.0.as_text()
    }
}

impl<E: Into<ApiError>> From<E> for LokiError {
    fn from(e: E) -> Self {
        Self(e.into())
    }
}

impl From<duramen_logql::Error> for ApiError {
    fn from(e: duramen_logql::Error) -> Self {
        match e {
            duramen_logql::Error::Run(e) => LokiError::limit(e.into()).0,
            e => Self::bad_request(e.to_string()),
        }
    }
}

/// A mistake in a query, as Loki tells it, and below it where it is.
pub(super) fn parse_error(text: &str, e: &ParseError) -> LokiError {
    let before = text.get(..e.position).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    LokiError::bad_request(format!("parse error at line {line}, col {column}: {e}"))
}

/// A request's parameters.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub args: Args,
    now_ns: i64,
}

impl FromRequest<Shared> for Asked {
    type Rejection = LokiError;

    async fn from_request(request: Request, app: &Shared) -> LokiResult<Self> {
        let args = Args::from_request(request, app).await?;
        Ok(Self { args, now_ns: app.env.clock.now_unix_ns() })
    }
}

/// What of time a request asks for: from the first on, and before the second; ns since the epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub start_ns: i64,
    pub end_ns: i64,
}

impl Asked {
    /// A moment: a number since the epoch or RFC 3339.
    pub fn moment(&self, name: &str) -> LokiResult<Option<i64>> {
        let Some(text) = self.args.get(name) else { return Ok(None) };
        Ok(Some(moment(name, text, self.now_ns)?.0))
    }

    /// `start` (or `since`, before the end, or before now if the end is yet to come) to `end`; else the last so many
    /// nanoseconds.
    pub fn span(&self, default_ns: i64) -> LokiResult<Span> {
        let end_ns = self.moment("end")?.unwrap_or(self.now_ns);
        let since = self.args.get("since").map(|text| duration("since", text)).transpose()?;
        let start = self.moment("start")?;
        let default = || end_ns.min(self.now_ns).saturating_sub(since.unwrap_or(default_ns));
        let start_ns = start.unwrap_or_else(default);
        if end_ns < start_ns {
            return Err(LokiError::bad_request("end timestamp must not be before or equal to start time"));
        }
        Ok(Span { start_ns, end_ns })
    }

    /// The moment of an instant query.
    pub fn time(&self) -> LokiResult<i64> {
        Ok(self.moment("time")?.unwrap_or(self.now_ns))
    }

    /// The step from one value to the next: `step`, or a 250th of the span, and at least a second.
    pub fn step(&self, span: Span) -> LokiResult<i64> {
        match self.args.get("step") {
            Some(text) => duration("step", text),
            None => {
                let seconds = span.end_ns.saturating_sub(span.start_ns) / 1_000_000_000 / 250;
                Ok(seconds.max(1) * 1_000_000_000)
            }
        }
    }

    /// The moments of a query for numbers, as Loki has them: multiples of the step, from the start, or just before it, to the end,
    /// or just behind it. They stay where they are as the span moves on, and nothing of the span is behind the last. There may be
    /// [`MAX_STEPS`] in the span as it was asked for.
    pub fn steps(&self, span: Span) -> LokiResult<Steps> {
        let step_ns = self.step(span)?;
        let asked = Steps { start_ns: span.start_ns, end_ns: span.end_ns, step_ns };
        if asked.count() > MAX_STEPS + 1 {
            return Err(duramen_logql::Error::StepLimit { limit: MAX_STEPS }.into());
        }
        let before = span.start_ns.rem_euclid(step_ns);
        let behind = (step_ns - span.end_ns.rem_euclid(step_ns)) % step_ns;
        Ok(Steps {
            start_ns: span.start_ns.saturating_sub(before),
            end_ns: span.end_ns.saturating_add(behind),
            step_ns,
        })
    }

    /// How far apart entries are at least, if not all are wanted.
    pub fn interval(&self) -> LokiResult<Option<i64>> {
        let none = |text: &str| text.parse() == Ok(0.0) || parse_duration_ns(text) == Some(0);
        let text = self.args.get("interval").filter(|text| !none(text));
        text.map(|text| duration("interval", text)).transpose()
    }

    /// The most entries to give.
    pub fn limit(&self, default: usize) -> LokiResult<usize> {
        match self.args.number("limit")? {
            Some(0) => Err(LokiError::bad_request("limit must be a positive value")),
            Some(limit) => Ok(usize::try_from(limit).unwrap_or(usize::MAX)),
            None => Ok(default),
        }
    }

    /// Which end to begin with.
    pub fn direction(&self) -> LokiResult<Order> {
        match self.args.get("direction").map(str::to_ascii_lowercase).as_deref() {
            None | Some("backward") => Ok(Order::NewestFirst),
            Some("forward") => Ok(Order::OldestFirst),
            Some(other) => Err(LokiError::bad_request(format!("invalid direction '{other}'"))),
        }
    }

    /// The query.
    pub fn query(&self) -> LokiResult<LogQl> {
        let text = self.args.get("query").unwrap_or_default();
        LogQl::parse(text).map_err(|e| parse_error(text, &e))
    }

    /// The query, which must ask for lines; if there is none, for all.
    pub fn log_query(&self) -> LokiResult<LogQuery> {
        let text = self.args.get("query").unwrap_or("{}");
        match LogQl::parse(text).map_err(|e| parse_error(text, &e))? {
            LogQl::Log(query) => Ok(query),
            LogQl::Metric(_) => Err(LokiError::bad_request(format!(
                "only log selector is supported here: `{text}` asks for numbers"
            ))),
        }
    }

    /// The selectors that a series request names, by `match`, `match[]` or `query`; if there is none, all.
    pub fn selectors(&self) -> LokiResult<Vec<LogQuery>> {
        let texts: Vec<&str> = self.args.all("match").chain(self.args.all("query")).collect();
        let texts = if texts.is_empty() { vec!["{}"] } else { texts };
        texts.iter().map(|text| LogQuery::parse_selector(text).map_err(|e| parse_error(text, &e))).collect()
    }
}

/// A duration, or a number of seconds; longer than nothing.
fn duration(name: &str, text: &str) -> LokiResult<i64> {
    let seconds = text.parse::<f64>().ok().filter(|s| s.is_finite()).map(|s| (s * 1e9) as i64);
    seconds.or_else(|| parse_duration_ns(text)).filter(|ns| *ns > 0).ok_or_else(|| {
        LokiError::bad_request(format!("the parameter `{name}` is no duration such as 30s or 5m: `{text}`"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000_000_000;

    fn asked(pairs: &[(&str, &str)]) -> Asked {
        Asked { args: Args::of(pairs), now_ns: NOW }
    }

    #[test]
    fn steps_are_multiples_that_take_in_the_span() {
        let steps = |start: &str, end: &str, step: &str| {
            let asked = asked(&[("start", start), ("end", end), ("step", step)]);
            let Steps { start_ns, end_ns, .. } = asked.steps(asked.span(1).unwrap()).unwrap();
            (start_ns, end_ns)
        };
        let second = 1_000_000_000;
        assert_eq!(steps("60", "600", "60"), (60 * second, 600 * second));
        assert_eq!(steps("61", "599.5", "1m"), (60 * second, 600 * second));
        assert_eq!(steps("1.25", "1.3", "0.1"), (1_200_000_000, 1_300_000_000));
    }

    #[test]
    fn times_as_clients_write_them() {
        let second = 1_000_000_000;
        let span = asked(&[("start", "1699999000000000000"), ("end", "1699999900.5")]).span(1).unwrap();
        assert_eq!((NOW - span.start_ns, NOW - span.end_ns), (1000 * second, 99_500_000_000));
        let span = asked(&[("start", "2023-11-14T22:13:10Z")]).span(1).unwrap();
        assert_eq!((NOW - span.start_ns, span.end_ns), (10 * second, NOW));
        let span = asked(&[("since", "5m")]).span(1).unwrap();
        assert_eq!((span.start_ns, span.end_ns), (NOW - 300 * second, NOW));
        // An end that is yet to come takes nothing of the past away.
        for since in [&[("end", "1700003600")][..], &[("end", "1700003600"), ("since", "5m")]] {
            let span = asked(since).span(300 * second).unwrap();
            assert_eq!((span.start_ns, span.end_ns), (NOW - 300 * second, NOW + 3600 * second));
        }
        assert!(asked(&[("start", "2"), ("end", "1")]).span(1).is_err());
        assert!(asked(&[("start", "x")]).span(1).is_err());
        let hour = Span { start_ns: NOW - 3600 * second, end_ns: NOW };
        assert_eq!(asked(&[]).step(hour).unwrap(), 14 * second);
        assert_eq!(asked(&[("step", "0.5")]).step(hour).unwrap(), second / 2);
        assert_eq!(asked(&[("step", "1m")]).step(hour).unwrap(), 60 * second);
        assert!(asked(&[("step", "-1")]).step(hour).is_err());
        for (text, interval) in [("", None), ("0", None), ("0s", None), ("2", Some(2 * second))] {
            assert_eq!(asked(&[("interval", text)]).interval().unwrap(), interval, "{text}");
        }
        assert!(asked(&[("interval", "-1")]).interval().is_err());
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        let error = asked(&[("query", "{app=\"x\"} |= y")]).query().unwrap_err();
        assert!(error.0.message.starts_with("parse error at line 1, col 14: expected a text"), "{error:?}");
        assert!(asked(&[("limit", "0")]).limit(1).is_err() && asked(&[("limit", "x")]).limit(1).is_err());
        assert!(asked(&[("direction", "up")]).direction().is_err());
        assert_eq!(asked(&[("direction", "FORWARD")]).direction().unwrap(), Order::OldestFirst);
        assert!(asked(&[("query", "rate({}[1m])")]).log_query().is_err());
        assert_eq!(asked(&[("match[]", "{a=\"b\"}"), ("match", "{}")]).selectors().unwrap().len(), 2);
        assert!(asked(&[("match", "{a=\"b\"} |= `x`")]).selectors().is_err());
    }
}
