//! The queries: what issue trackers, dashboards and people at a terminal ask of any log.

use super::fields::Chosen;
use super::sample::Sample;
use super::words::Words;
use crate::question::Question;
use fastrand::Rng;

/// Buckets of a histogram, at least: those of the longest step that gives so many.
const BUCKETS: i64 = 40;

/// All that the lines allow to be asked.
pub(crate) fn of(sample: &Sample, rng: &mut Rng) -> Vec<Question> {
    let chosen = Chosen::of(sample);
    let text = chosen.text.clone().unwrap_or_else(|| "_msg".to_owned());
    let words = Words::of(sample, &text, rng);
    let quoted = quote(&text);
    // A filter without a field's name is for the message.
    let field = if text == "_msg" { String::new() } else { format!("{quoted}:") };
    let ask = |name, query: &str| Question::any(name, query, "");
    let with = |name, query: &str, value: &str| Question::any(name, query, value);
    let mut all = vec![ask("count all", "* | stats count() n")];
    let lines = format!("fields _time, {quoted}");
    if let Some(word) = &words.rare {
        all.push(with("a rare word", &format!("{field}\"{{}}\" | {lines}"), word));
    }
    if let Some(word) = &words.frequent {
        all.push(with("count of a frequent word", &format!("{field}\"{{}}\" | stats count() n"), word));
    }
    if let Some(phrase) = &words.phrase {
        all.push(with("count of a phrase", &format!("{field}\"{{}}\" | stats count() n"), phrase));
    }
    if let Some(part) = &words.part {
        let query = format!("{field}~\"(?i){{}}\" | stats count() n");
        all.push(with("part of a word, case-insensitive", &query, part));
    }
    let nowhere = format!("{field}\"{}\" | stats count() n", words.nowhere);
    all.push(ask("a word that is nowhere", &nowhere));
    all.push(ask("newest 100", "*").newest_100());
    let few = quote(&chosen.few.unwrap_or_else(|| "log_file".to_owned()));
    all.push(ask("count by a field of few values", &format!("* | stats by ({few}) count() n")));
    let step = step(sample.last.as_second() - sample.first.as_second());
    all.push(ask("count per time bucket", &format!("* | stats by (_time:{step}) count() n")));
    if let Some(some) = chosen.some.as_deref().map(quote) {
        let query = format!("* | stats by ({some}) count() n | sort by (n desc, {some}) | limit 10");
        all.push(ask("top 10 values of a field of some", &query));
    }
    if let Some((name, value)) = chosen.many {
        let name = quote(&name);
        all.push(with(
            "one value of a field of many",
            &format!("{name}:=\"{{}}\" | fields _time, {name}"),
            &value,
        ));
    }
    if let Some(number) = chosen.number.as_deref().map(quote) {
        let query =
            format!("* | stats quantile(0.5, {number}) p50, quantile(0.99, {number}) p99, count({number}) n");
        all.push(Question { about: true, ..ask("quantiles of a number", &query) });
    }
    all
}

/// A field's name, quoted where the language needs it.
fn quote(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if plain { name.to_owned() } else { format!("\"{name}\"") }
}

fn step(span_s: i64) -> &'static str {
    let steps = [("1d", 86_400), ("6h", 21_600), ("1h", 3_600), ("10m", 600), ("1m", 60), ("10s", 10)];
    steps.into_iter().find(|(_, step_s)| span_s / step_s >= BUCKETS).map_or("1s", |(step, _)| step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn values_of_the_lines_are_asked_for_but_not_shown() {
        let row = |i: usize| vec![("a.b".to_owned(), format!("secret{i:03} words without end").into())];
        let rows: Vec<_> = (0..50).map(row).collect();
        let sample = Sample { count: 50, first: Timestamp::UNIX_EPOCH, last: Timestamp::UNIX_EPOCH, rows };
        let all = of(&sample, &mut Rng::with_seed(1));
        let of = |name: &str| all.iter().find(|question| question.name == name).unwrap();
        assert!(of("a rare word").query.starts_with("\"a.b\":\"secret"));
        assert_eq!(of("a rare word").shown, "\"a.b\":\"…\" | fields _time, \"a.b\"");
        assert_eq!(of("newest 100").limit, Some(100));
        assert!(all.iter().all(|question| !question.shown.contains("secret")));
    }

    #[test]
    fn buckets_fit_the_time() {
        assert_eq!([step(3 * 86_400), step(3_600), step(5)], ["1h", "1m", "1s"]);
    }
}
