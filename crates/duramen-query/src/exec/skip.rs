//! Passing over blocks that cannot match, by what is known of them without reading a column.

use super::open::STREAM_ID;
use crate::filter::literals::Grams;
use crate::filter::{Filter, Needs, Test};
use duramen::Result;
use duramen::block::{Block, Looks, names};

/// Whether a row of the block may match; `false` is certain.
pub(crate) fn may_match(filter: &Filter, block: &dyn Block) -> Result<bool> {
    Ok(match filter {
        Filter::All
        | Filter::Not(_)
        | Filter::Time(_)
        | Filter::Clock(_)
        | Filter::Pair(_)
        | Filter::Storage(_)
        | Filter::Subquery(_) => true,
        Filter::AnyField { pattern, test } => {
            let needs = test.needs();
            if needs == Needs::Nothing && test.grams().is_none_or(|grams| *grams == Grams::default()) {
                return Ok(true);
            }
            for field in block.field_names()? {
                let is_one = pattern.is_any_field(&field);
                if is_one && may_hold(&field, &needs, block)? && may_have_grams(&field, test, block)? {
                    return Ok(true);
                }
            }
            false
        }
        Filter::And(parts) => {
            // Streams are not told by the block's end, which was asked for.
            let (of_streams, others): (Vec<_>, Vec<_>) =
                parts.iter().partition(|part| matches!(part, Filter::Stream(_)));
            for part in others.into_iter().chain(of_streams) {
                if !may_match(part, block)? {
                    return Ok(false);
                }
            }
            true
        }
        Filter::Or(parts) => {
            for part in parts {
                if may_match(part, block)? {
                    return Ok(true);
                }
            }
            false
        }
        Filter::Stream(selector) => match block.has_stream(selector)? {
            Some(has) => has,
            None => may_hold(names::STREAM, &selector.needs(), block)?,
        },
        // What they hold is made of other things.
        Filter::Field { field, .. } if **field == *names::TIME || **field == *STREAM_ID => true,
        Filter::Field { field, test } => {
            let in_range = match test {
                Test::Compare(range) => {
                    block.int_range(field)?.is_none_or(|(min, max)| range.overlaps(min, max))
                }
                Test::Exact(exact) => match exact.int() {
                    Some(n) => block.int_range(field)?.is_none_or(|(min, max)| (min..=max).contains(&n)),
                    None => true,
                },
                _ => true,
            };
            in_range && may_hold(field, &test.needs(), block)? && may_have_grams(field, test, block)?
        }
    })
}

/// Which filters of a block [`may_match`] looks at, mostly.
pub(crate) fn looks(filter: &Filter) -> Looks {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().fold(Looks::default(), |all, part| {
            let part = looks(part);
            Looks { at_words: all.at_words | part.at_words, at_grams: all.at_grams || part.at_grams }
        }),
        Filter::Field { test, .. } | Filter::AnyField { test, .. } => {
            // Where a word is missing, nobody asks for others that are needed, too, nor for grams.
            let looks = match test.needs() {
                Needs::Nothing => Looks::default(),
                Needs::Words(words) => Looks::at_words(words.first().copied()),
                Needs::OneOf(all) => Looks::at_words(all.iter().filter_map(|words| words.first().copied())),
            };
            let at_grams =
                looks.at_words == 0 && test.grams().is_some_and(|grams| *grams != Grams::default());
            Looks { at_grams, ..looks }
        }
        _ => Looks::default(),
    }
}

fn may_have_grams(field: &str, test: &Test, block: &dyn Block) -> Result<bool> {
    let Some(grams) = test.grams() else { return Ok(true) };
    grams.are_held(|grams| block.may_contain_grams(field, grams))
}

fn may_hold(field: &str, needs: &Needs, block: &dyn Block) -> Result<bool> {
    let holds =
        |words: &[u64]| if words.is_empty() { Ok(true) } else { block.may_contain_words(field, words) };
    match needs {
        Needs::Nothing => Ok(true),
        Needs::Words(words) => holds(words),
        Needs::OneOf(alternatives) => {
            for words in alternatives {
                if holds(words)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ParseOptions, Query};
    use duramen::token;

    #[test]
    fn of_several_words_the_longest_is_looked_at_first() {
        let looks = |query: &str| looks(Query::parse(query, &ParseOptions::default()).unwrap().filter());
        let at = |words: &[&str]| Looks::at_words(words.iter().map(|word| token::hash(word)));
        assert_eq!(looks("request_id:=req-e66151c5706ea61d"), at(&["e66151c5706ea61d"]));
        assert_eq!(looks(r#""a cart was lost" app:shop"#), at(&["cart", "shop"]));
        assert_eq!(looks("in(rare, seldom) or app:*"), at(&["rare", "seldom"]));
        assert_eq!(looks("*"), Looks::default());
        assert_eq!(looks("~ompleted"), Looks { at_grams: true, ..Looks::default() });
    }
}
