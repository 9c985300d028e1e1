//! Which fields a label may be: in a label's name, `_` stands for whatever may not be in one, and the store knows fields by
//! their own names.
//!
//! They cannot be asked for by a pattern, so those that there may be are tried: dots, as OpenTelemetry has them, hyphens, as
//! headers and many programs have them, and both as Kubernetes has them, with its `domain/name`; and `#1`, which the store puts
//! behind a name that is there again with another value.

use duramen::block::names;
use std::collections::BTreeSet;

/// For how many underscores all ways to have dots or hyphens in their places are tried; and how many more have either in some
/// places, but not both.
const MIXED: usize = 3;
const UNMIXED: usize = 4;

/// The names of fields that are this label, the label itself first.
pub(crate) fn spellings(label: &str) -> Vec<String> {
    let mut all = once(label);
    if let Some((name, number)) = again(label) {
        all.extend(once(name).into_iter().map(|name| format!("{name}#{number}")));
    }
    all
}

/// The name and the number of a label that may be of a name that is there again.
fn again(label: &str) -> Option<(&str, &str)> {
    let (name, number) = label.rsplit_once('_')?;
    let is_number = number.len() <= 2 && number.parse::<u8>().is_ok() && !number.starts_with(['0', '+']);
    (!name.is_empty() && !is_stores(name) && is_number).then_some((name, number))
}

/// Those of a name that is there once.
fn once(label: &str) -> Vec<String> {
    let mut all = vec![own(label)];
    let mut seen: BTreeSet<String> = all.iter().cloned().collect();
    let mut add = |name: String| {
        if seen.insert(name.clone()) {
            all.push(name);
        }
    };
    if is_stores(label) {
        return all;
    }
    dotted(label).into_iter().for_each(&mut add);
    let places = places(label);
    let count = if label.starts_with("__") { usize::MAX } else { places.len() };
    match count {
        0 => {}
        1..=MIXED => combined(label, &places, b"_.-").into_iter().for_each(&mut add),
        UNMIXED => combined(label, &places, b"_-").into_iter().for_each(&mut add),
        _ => add(with(label, &places, |_| b'-')),
    }
    // `app.kubernetes.io/managed-by`
    for slash in 0..places.len() {
        for behind in *b"_-." {
            add(with(label, &places, |i| match i.cmp(&slash) {
                std::cmp::Ordering::Less => b'.',
                std::cmp::Ordering::Equal => b'/',
                std::cmp::Ordering::Greater => behind,
            }));
        }
    }
    all
}

/// Those with nothing but dots: of labels that are looked for in many fields.
pub(crate) fn dotted(label: &str) -> Vec<String> {
    let places = places(label);
    if is_stores(label) {
        vec![own(label)]
    } else if places.len() > UNMIXED || label.starts_with("__") {
        vec![label.to_string(), label.replace('_', ".")]
    } else {
        combined(label, &places, b"_.")
    }
}

fn is_stores(label: &str) -> bool {
    matches!(label, names::TIME | names::MESSAGE | names::STREAM)
}

/// What the store calls so is no label; this is how it calls a sender's field of that name.
fn own(label: &str) -> String {
    if is_stores(label) { format!("{label}#1") } else { label.to_string() }
}

/// Where underscores are that may be something else.
fn places(label: &str) -> Vec<usize> {
    label.match_indices('_').map(|(place, _)| place).filter(|place| *place > 0).collect()
}

/// The label with each of these in each place.
fn combined(label: &str, places: &[usize], signs: &[u8]) -> Vec<String> {
    let count = signs.len().pow(places.len() as u32);
    let sign = |n: usize, i: usize| signs[n / signs.len().pow(i as u32) % signs.len()];
    (0..count).map(|n| with(label, places, |i| sign(n, i))).collect()
}

/// The label with a sign in each place, by its number.
fn with(label: &str, places: &[usize], sign: impl Fn(usize) -> u8) -> String {
    let mut name = label.as_bytes().to_vec();
    for (i, place) in places.iter().enumerate() {
        name[*place] = sign(i);
    }
    // ASCII in the place of an underscore leaves UTF-8 as it was.
    String::from_utf8(name).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::sanitize;

    #[test]
    fn fields_are_found_by_their_labels() {
        for field in [
            "app",
            "k8s.pod",
            "x-request-id",
            "pod-name",
            "k8s.pod-name",
            "app.kubernetes.io/name",
            "http/status",
            "app.kubernetes.io/managed-by",
            "helm.sh/chart",
            "a-b-c-d-e",
            "a.b.c.d.e.f",
            "a-b-c-d-e-f",
            "_x",
            "a__b",
            "topology.kubernetes.io/zone",
            "a_b.c",
            "a_b-c",
            "level#1",
            "k8s.pod-name#12",
            "x-1",
            "app.kubernetes.io/name#2",
        ] {
            let label = sanitize(field);
            let all = spellings(&label);
            assert!(all.iter().any(|name| name == field), "{field}: {all:?}");
            assert!(all.len() <= 90 && all[0] == label, "{field}: {all:?}");
            assert!(all.iter().all(|name| sanitize(name) == label), "{field}: {all:?}");
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{all:?}");
        }
        assert_eq!(spellings("_msg"), ["_msg#1"]);
        assert_eq!(spellings("a_1"), ["a_1", "a.1", "a-1", "a/1", "a#1"]);
        assert_eq!(spellings("a_01").last().unwrap(), "a/01");
        assert_eq!(spellings("a_b"), ["a_b", "a.b", "a-b", "a/b"]);
        assert_eq!(dotted("a_b"), ["a_b", "a.b"]);
    }
}
