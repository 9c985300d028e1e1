//! `contains_common_case(VictoriaMetrics)`, `equals_common_case(…)`: the cases in which a name is commonly written, so
//! that words can be looked up, where `i(…)` must try all cases.

use std::collections::BTreeSet;

/// The most capital letters of a phrase: each doubles the number of cases.
pub const MAX_CAPITALS: usize = 8;

/// The phrase as it is, in capitals, in small letters, and with each of its capital letters made small or not; `None`
/// if it has more than [`MAX_CAPITALS`].
pub fn common_cases(phrase: &str) -> Option<BTreeSet<String>> {
    let capitals: Vec<usize> =
        phrase.char_indices().filter(|(_, c)| c.is_uppercase()).map(|(i, _)| i).collect();
    if capitals.len() > MAX_CAPITALS {
        return None;
    }
    let mut cases = BTreeSet::from([phrase.to_uppercase(), phrase.to_lowercase()]);
    for choice in 0u32..1 << capitals.len() {
        let mut case = String::with_capacity(phrase.len());
        for (i, c) in phrase.char_indices() {
            match capitals.iter().position(|&at| at == i) {
                Some(bit) if choice >> bit & 1 == 1 => case.extend(c.to_lowercase()),
                _ => case.push(c),
            }
        }
        cases.insert(case);
    }
    Some(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_capital_may_be_small() {
        let cases: Vec<String> = common_cases("VictoriaMetrics").unwrap().into_iter().collect();
        let expected =
            ["VICTORIAMETRICS", "VictoriaMetrics", "Victoriametrics", "victoriaMetrics", "victoriametrics"];
        assert_eq!(cases, expected);
        assert_eq!(common_cases("ABCDEFGHI"), None);
    }
}
