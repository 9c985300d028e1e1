//! What a request asks for: parameters of the URL, or of a form in the body.

use super::extra::also;
use crate::answer::{KnownQueries, Question};
use crate::app::Shared;
use crate::error::{ApiError, ApiResult};
use crate::json::Members;
use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use duramen_query::filter::time::TimeRange;
use duramen_query::number::parse_duration_ns;
use duramen_query::{ParseOptions, Query};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use std::time::Duration;

/// Most bytes of a form.
const MAX_FORM_BYTES: usize = 1 << 20;

/// A request's parameters. Where a name is there twice, the URL's first counts, and else the body's first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Args {
    pairs: Vec<(String, String)>,
}

impl FromRequest<Shared> for Args {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &Shared) -> ApiResult<Self> {
        let (parts, body) = request.into_parts();
        let mut pairs = pairs_of(parts.uri.query().unwrap_or_default().as_bytes());
        let kind = parts.headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default().to_ascii_lowercase();
        if kind.starts_with("application/x-www-form-urlencoded") {
            let body = form(app, body).await?;
            // What `curl -d` sends is called a form, whatever it is; no form begins like this.
            match body.trim_ascii_start().starts_with(b"{") {
                true => pairs.extend(members_of(&body)?),
                false => pairs.extend(pairs_of(&body)),
            }
        } else if kind.starts_with("application/json") {
            pairs.extend(members_of(&form(app, body).await?)?);
        }
        Ok(Self { pairs })
    }
}

async fn form(app: &Shared, body: Body) -> ApiResult<bytes::Bytes> {
    let read = Limited::new(body, MAX_FORM_BYTES).collect();
    match tokio::time::timeout(app.limits.read_timeout, read).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(e)) if e.is::<LengthLimitError>() => {
            Err(ApiError::too_large(format!("the form has more than {MAX_FORM_BYTES} bytes")))
        }
        Ok(Err(e)) => Err(ApiError::bad_request(format!("the form cannot be read: {e}"))),
        Err(_) => {
            let told = "the form did not come in time (read_timeout_ms)";
            Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, told))
        }
    }
}

/// The members of a JSON object whose values are text, numbers, true or false.
fn members_of(text: &[u8]) -> ApiResult<Vec<(String, String)>> {
    let wrong = |e: serde_json::Error| ApiError::bad_request(format!("the body is not a JSON object: {e}"));
    let Members(object) = serde_json::from_slice(text).map_err(wrong)?;
    let mut pairs = Vec::new();
    for (name, value) in object {
        match value {
            serde_json::Value::String(text) => pairs.push((name, text)),
            serde_json::Value::Number(n) => pairs.push((name, n.to_string())),
            serde_json::Value::Bool(b) => pairs.push((name, b.to_string())),
            // As if it were not there, for who does not mind.
            serde_json::Value::Null => pairs.push((name, String::new())),
            _ => {
                return Err(ApiError::bad_request(format!(
                    "`{name}` is neither text, a number, true nor false"
                )));
            }
        }
    }
    Ok(pairs)
}

fn pairs_of(text: &[u8]) -> Vec<(String, String)> {
    form_urlencoded::parse(text).into_owned().collect()
}

impl Args {
    /// Made of pairs, for tests and for requests inside the server.
    #[cfg(test)]
    pub fn of(pairs: &[(&str, &str)]) -> Self {
        Self { pairs: pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect() }
    }

    /// All parameters, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (&**name, &**value))
    }

    /// A parameter that is not empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(n, v)| n == name && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// All values of a parameter that may be there again: `name` or `name[]`.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let is_it = move |n: &str| n == name || n.strip_suffix("[]") == Some(name);
        self.pairs.iter().filter(move |(n, v)| is_it(n) && !v.is_empty()).map(|(_, v)| v.as_str())
    }

    /// Refuses whatever has another name, what is there twice, but for those that may be, and what is empty: for what must not do
    /// more than was meant.
    ///
    /// # Errors
    /// 400; the name is told.
    pub fn only(&self, names: &[&str], repeated: &[&str]) -> ApiResult<()> {
        for (i, (name, value)) in self.pairs.iter().enumerate() {
            let shown: String = name.chars().take(100).collect();
            let may_be_again = repeated.contains(&name.strip_suffix("[]").unwrap_or(name));
            let told = if !may_be_again && !names.contains(&&**name) {
                let all: Vec<_> = names.iter().chain(repeated).copied().collect();
                format!("there is no parameter `{shown}` here, only: {}", all.join(", "))
            } else if !may_be_again && self.pairs[..i].iter().any(|(before, _)| before == name) {
                format!("the parameter `{shown}` is there twice")
            } else if value.is_empty() {
                format!("the parameter `{shown}` is empty: leave it out if it is not meant")
            } else {
                continue;
            };
            return Err(ApiError::bad_request(told));
        }
        Ok(())
    }

    /// A parameter that must be there.
    ///
    /// # Errors
    /// 400 if it is not.
    pub fn need(&self, name: &str) -> ApiResult<&str> {
        self.get(name).ok_or_else(|| ApiError::bad_request(format!("the parameter `{name}` is missing")))
    }

    /// A whole number.
    ///
    /// # Errors
    /// 400 if it is none.
    pub fn number(&self, name: &str) -> ApiResult<Option<u64>> {
        let Some(text) = self.get(name) else { return Ok(None) };
        let wrong = |_| ApiError::bad_request(format!("the parameter `{name}` is no whole number: `{text}`"));
        text.parse().map(Some).map_err(wrong)
    }

    /// Whether a parameter that is yes or no says yes: it is there, and is none of the words for no.
    pub fn says(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !matches!(value, "0" | "f" | "false" | "n" | "no"))
    }

    /// How far east of UTC the days are that steps are counted in (`offset`, such as `2h` or `-5h30m`), in ns; 0 if it is not
    /// said.
    ///
    /// # Errors
    /// 400 if it is no duration.
    pub fn offset_ns(&self) -> ApiResult<i64> {
        let Some(offset) = self.get("offset") else { return Ok(0) };
        if parse_duration_ns(offset) == Some(0) {
            return Ok(0);
        }
        match offset.strip_prefix('-') {
            Some(west) => Ok(-duration_ns("offset", west)?),
            None => duration_ns("offset", offset),
        }
    }

    /// The filter of the query, and `pipe` in the place of its own.
    ///
    /// # Errors
    /// 400; a mistake in the query is shown.
    pub fn filter_with(&self, app: &Shared, pipe: &str) -> ApiResult<Query> {
        let query = self.query(app, "")?;
        let pipes = self.parse_within(&format!("* | {pipe}"), app.env.clock.now_unix_ns(), None)?;
        // What begins with filters has them as its own.
        let filter = query.filter().clone().and(pipes.filter().clone());
        Ok(Query::new(filter, pipes.pipes().to_vec(), query.max_threads()))
    }

    /// The query and its time range, as `query`, `start`, `end` and `extra_filters` say; and `pipe` behind it, if it is not empty.
    ///
    /// # Errors
    /// 400; a mistake in the query is shown.
    pub fn query(&self, app: &Shared, pipe: &str) -> ApiResult<Query> {
        let clock_ns = app.env.clock.now_unix_ns();
        self.query_within(self.as_of(clock_ns)?, pipe, self.within(clock_ns)?)
    }

    /// As of when the query is asked, from where `_time:5m` counts back: `time`, or else `end`, or else now.
    ///
    /// # Errors
    /// 400 if that is no moment.
    pub fn as_of(&self, clock_ns: i64) -> ApiResult<i64> {
        let given = ["time", "end"].iter().find_map(|name| Some((*name, self.get(name)?)));
        given.map_or(Ok(clock_ns), |(name, text)| Ok(moment(name, text, clock_ns)?.0))
    }

    /// [`Self::query`] as a question, with the request's `timeout`.
    ///
    /// # Errors
    /// 400; a mistake in the query is shown.
    pub fn question(&self, app: &Shared, pipe: &str) -> ApiResult<Question> {
        self.question_of(app, self.query(app, pipe)?)
    }

    /// A query as a question, with the request's `timeout`.
    ///
    /// # Errors
    /// 400 if that is no duration.
    pub fn question_of(&self, app: &Shared, query: Query) -> ApiResult<Question> {
        let timeout = self.timeout(app.limits.query_timeout)?;
        let written = self.pairs().filter(|(name, _)| !matches!(*name, "start" | "end" | "time"));
        Ok(Question { timeout, ..Question::new(app, query, KnownQueries::key(written)) })
    }

    /// A filter and a pipe, within `start` and `end`.
    ///
    /// # Errors
    /// 400; a mistake is shown.
    pub fn query_of(&self, app: &Shared, filter: &str, pipe: &str) -> ApiResult<Query> {
        let now_ns = app.env.clock.now_unix_ns();
        let within = self.within(now_ns)?;
        if !self.parse_within(filter, now_ns, within)?.pipes().is_empty() {
            return Err(ApiError::bad_request("a filter is wanted here, without pipes"));
        }
        self.parse_within(&format!("{filter}\n| {pipe}"), now_ns, within)
    }

    /// Reads LogsQL within a time range.
    ///
    /// # Errors
    /// 400; a mistake is shown.
    pub fn parse_within(&self, text: &str, now_ns: i64, within: Option<TimeRange>) -> ApiResult<Query> {
        Ok(Query::parse(text, &ParseOptions { now_ns, within, ..ParseOptions::default() })?)
    }

    /// The same within this time range.
    ///
    /// # Errors
    /// 400; a mistake in the query is shown.
    pub fn query_within(&self, now_ns: i64, pipe: &str, within: Option<TimeRange>) -> ApiResult<Query> {
        let options = ParseOptions { now_ns, within, also: also(self, now_ns)?, ..ParseOptions::default() };
        let text = self.need("query")?;
        // Each part must stand for itself: `a) or (b` is none.
        let query = Query::parse(text, &options)?;
        if pipe.is_empty() {
            return Ok(query);
        }
        // On a line of its own, for a comment goes on to the end of its own.
        Ok(Query::parse(&format!("{text}\n| {pipe}"), &options)?)
    }

    /// The time range that `start` and `end` give, if they do.
    pub fn within(&self, now_ns: i64) -> ApiResult<Option<TimeRange>> {
        let (start, end) = (self.get("start"), self.get("end"));
        if start.is_none() && end.is_none() {
            return Ok(None);
        }
        let min = start.map_or(Ok(i64::MIN), |text| Ok::<_, ApiError>(moment("start", text, now_ns)?.0))?;
        let max = end.map_or(Ok(i64::MAX), |text| Ok::<_, ApiError>(moment("end", text, now_ns)?.1))?;
        Ok(Some(TimeRange { min, max }))
    }

    /// How long the query may run: `timeout`, and at most `most`.
    fn timeout(&self, most: Duration) -> ApiResult<Duration> {
        let Some(text) = self.get("timeout") else { return Ok(most) };
        let seconds = text.parse::<f64>().ok().filter(|s| s.is_finite() && *s > 0.0);
        let ns = match seconds {
            Some(seconds) => (seconds * 1e9) as u64,
            None => duration_ns("timeout", text)?.unsigned_abs(),
        };
        Ok(Duration::from_nanos(ns).min(most))
    }
}

/// A duration as LogsQL writes it, in ns, and longer than nothing.
///
/// # Errors
/// 400 if it is none.
pub(crate) fn duration_ns(name: &str, text: &str) -> ApiResult<i64> {
    parse_duration_ns(text).filter(|ns| *ns > 0).ok_or_else(|| {
        ApiError::bad_request(format!("the parameter `{name}` is no duration such as 5m or 1h30m: `{text}`"))
    })
}

/// The length of a step: `step`, as a duration or in seconds, otherwise a day.
///
/// # Errors
/// 400 if it is neither, or not longer than nothing.
pub(crate) fn step_ns(args: &Args) -> ApiResult<i64> {
    let step = args.get("step").unwrap_or("1d");
    match step.parse::<f64>() {
        Ok(seconds) if (1e-9..i64::MAX as f64 / 1e9).contains(&seconds) => Ok((seconds * 1e9) as i64),
        _ => duration_ns("step", step),
    }
}

/// The first and last nanosecond of a moment: `now`, a number of s, ms, us or ns since the epoch, a duration before now, or a
/// time as LogsQL writes it, a day or an hour among them.
///
/// # Errors
/// 400 if it is none.
pub(crate) fn moment(name: &str, text: &str, now_ns: i64) -> ApiResult<(i64, i64)> {
    let text = text.trim();
    if text == "now" {
        return Ok((now_ns, now_ns));
    }
    if let Some(ns) = epoch_ns(text) {
        return Ok((ns, ns));
    }
    let ago = text.strip_prefix("now-").or_else(|| text.strip_prefix('-')).unwrap_or(text);
    if ago.starts_with(|c: char| c.is_ascii_digit()) && ago.ends_with(|c: char| c.is_ascii_lowercase()) {
        let at = now_ns.saturating_sub(duration_ns(name, ago)?);
        return Ok((at, at));
    }
    let wrong = || {
        ApiError::bad_request(format!(
            "the parameter `{name}` is no time: `{text}`; use RFC 3339, a number of s, ms, us or ns since 1970, or a \
             duration before now such as 5m"
        ))
    };
    if text.contains(['[', ']', '(', ')', ',', '"', ' ']) {
        return Err(wrong());
    }
    let options = ParseOptions { now_ns, ..ParseOptions::default() };
    let query = Query::parse(&format!("_time:[{text}, {text}]"), &options).map_err(|_| wrong())?;
    Ok(query.time_range())
}

/// A number since the epoch, whose unit its size tells: s, ms, us or ns; seconds may have a fraction.
fn epoch_ns(text: &str) -> Option<i64> {
    // Four digits are a year.
    if text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    if let Ok(n) = text.parse::<i64>() {
        let factor = match n.unsigned_abs() {
            0..100_000_000_000 => 1_000_000_000,
            100_000_000_000..100_000_000_000_000 => 1_000_000,
            100_000_000_000_000..100_000_000_000_000_000 => 1_000,
            _ => 1,
        };
        return n.checked_mul(factor);
    }
    let (whole, fraction) = text.split_once('.')?;
    let whole: i64 = whole.parse().ok()?;
    if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let nine: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    let ns: i64 = nine.parse().ok()?;
    whole.checked_mul(1_000_000_000)?.checked_add(if text.starts_with('-') { -ns } else { ns })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_000_000_000;

    fn at(text: &str) -> (i64, i64) {
        moment("start", text, NOW).unwrap()
    }

    #[test]
    fn moments() {
        assert_eq!(at("now"), (NOW, NOW));
        for text in ["1700000000", "1700000000000", "1700000000000000", "1700000000000000000", "1700000000.0"]
        {
            assert_eq!(at(text), (NOW, NOW), "{text}");
        }
        assert_eq!(at("1700000000.25").0, NOW + 250_000_000);
        for text in ["5m", "now-5m", "-5m", "300s"] {
            assert_eq!(at(text).0, NOW - 300_000_000_000, "{text}");
        }
        assert_eq!(at("2023-11-14T22:13:20Z").0, NOW);
        let day = 86_400_000_000_000;
        assert_eq!(at("2023-11-14"), (1_699_920_000_000_000_000, 1_699_920_000_000_000_000 + day - 1));
        for wrong in ["", "x", "2023-99-99", "5x", "1) or (1", "[1", "99999999999999999999"] {
            assert!(moment("start", wrong, NOW).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration_ns("step", "1h30m").unwrap(), 5_400_000_000_000);
        assert_eq!(duration_ns("step", "250ms").unwrap(), 250_000_000);
        for wrong in ["", "5", "0s", "m", "-5m", "5m offset 1h", "[1,2]"] {
            assert!(duration_ns("step", wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn steps() {
        let step = |text: &str| step_ns(&Args::of(&[("step", text)]));
        assert_eq!(step_ns(&Args::of(&[])).unwrap(), 86_400_000_000_000);
        assert_eq!(step("3600").unwrap(), 3_600_000_000_000);
        assert_eq!(step("0.5").unwrap(), 500_000_000);
        assert_eq!(step("1h30m").unwrap(), 5_400_000_000_000);
        for wrong in ["0", "-5", "1e300", "1e-12", "nan", "inf", "x", "5m offset 1h"] {
            assert!(step(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn parameters() {
        let args = Args::of(&[("a", ""), ("a", "1"), ("f[]", "x"), ("f", "y"), ("timeout", "2s")]);
        assert_eq!((args.get("a"), args.number("a").unwrap()), (Some("1"), Some(1)));
        assert_eq!(args.all("f").collect::<Vec<_>>(), ["x", "y"]);
        assert!(args.need("b").is_err() && args.number("f").is_err());
        assert_eq!(args.timeout(Duration::from_secs(30)).unwrap(), Duration::from_secs(2));
        assert_eq!(args.timeout(Duration::from_secs(1)).unwrap(), Duration::from_secs(1));
        assert_eq!(args.within(NOW).unwrap(), None);
    }
}
