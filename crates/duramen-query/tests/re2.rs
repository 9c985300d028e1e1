//! RE2's expressions match what they match in Go, and what Go refuses is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)] // all of this is test code

use duramen_query::filter::re2::{group_name, translate};
use duramen_query::filter::regex::{Pattern, compile};
use proptest::prelude::*;

/// Expression, text, and what Go's `regexp` (1.26) finds in it, one match behind the other: from where to where, and
/// in parentheses the same of each group. The expressions are such as the crate would read otherwise, and their like.
const MATCHES: &[(&str, &str, &str)] = &[
    (r"\w+", "микросервис", ""),
    (r"\w+", "ünïcode_1", "2-3 5-11"),
    (r"\w+", "Kelvin", "0-6"),
    (r"\d+", "a12 ٣", "1-3"),
    (r"\d+", "١٢٣", ""),
    (r"\s", "a\u{a0}b", ""),
    (r"\s", "a\u{2028}b", ""),
    (r"\s", "a\tb c", "1-2 3-4"),
    (r"\s", "\u{b}", ""),
    (r"\W", "aé_", "1-3"),
    (r"\D+", "1é٣2", "1-5"),
    (r"\S+", "\u{a0} a", "0-2 3-4"),
    (r"\bn\b", "ünï", "2-3"),
    (r"\bn\b", "a n.", "2-3"),
    (r"\Bn", "ün", ""),
    (r"\Bn", "an", "1-2"),
    (r"é\b", "éa", "0-2"),
    (r"é\b", "é", ""),
    (r"(?i)\w", "ſK", "0-2 2-3"),
    (r"(?i)\W", "ſKé", "3-5"),
    (r"(?i)[\W]", "kKé", "2-4"),
    (r"(?i)[^\w]", "sſß", "3-5"),
    ("(?i)k", "KkK", "0-1 1-2 2-3"),
    ("(?i)[[:upper:]]+", "aſK1", "0-4"),
    ("(?i)[[:^lower:]]", "aZ1", "2-3"),
    (r"(?i)\P{Lu}", "aA1", "2-3"),
    ("(?i)σ+", "Σσς", "0-6"),
    ("(?-i)k(?i)k", "kK", "0-2"),
    ("(?-i)k(?i)k", "Kk", ""),
    ("[a&&b]+", "a&&b", "0-4"),
    (r"[\w&&[^x]]", "x]", "0-2"),
    (r"[\w&&[^x]]", "&]", "0-2"),
    (r"[\w&&[^x]]", "a", ""),
    ("[[a]]", "[]", "0-2"),
    ("[[a]]", "a]", "0-2"),
    ("[[a]]", "a", ""),
    ("[a~~b]", "~", "0-1"),
    ("[+--]+", "+,-.", "0-3"),
    ("[&&]", "&", "0-1"),
    ("[]a]+", "]a", "0-2"),
    ("[^]a]", "]ab", "2-3"),
    ("[a^]+", "^a", "0-2"),
    (r"[\d-z]+", "1-z", "0-3"),
    ("[a-]+", "-a", "0-2"),
    ("[-a]+", "a-", "0-2"),
    ("[[:alpha:]-z]+", "b-z", "0-3"),
    ("[:alpha:]+", "al:", "0-3"),
    ("[[=a=]]", "=]", "0-2"),
    (r"[^\W\d]+", "a1é_", "0-1 4-5"),
    (r"[\D\s]+", "1 a", "1-3"),
    (r"[\pL\d]+", "é1 ", "0-3"),
    (r"[\p{^Greek}]+", "αaα", "2-3"),
    (r"[\x41-\x{43}]+", "ABCD", "0-3"),
    (r"[\07\n]", "\u{7}", "0-1"),
    (r"[#\-\]]+", "#-]", "0-3"),
    (r"\<a\>", "<a>", "0-3"),
    (r"\<a\>", "a", ""),
    (r"\b{start}", "{start}", ""),
    (r"\b{start}", "a{start}", "1-8"),
    (r"\b{2}a", "a", "0-1"),
    ("a{", "a{", "0-2"),
    ("{", "x{y}", "1-2"),
    ("a{,3}", "aaa", ""),
    ("a{,3}", "a{,3}", "0-5"),
    ("a{1,b}", "a{1,b}", "0-6"),
    ("a{ 1}", "a{ 1}", "0-5"),
    ("a{ 1}", "a", ""),
    ("a{01}", "a{01}", "0-5"),
    ("{1", "{1", "0-2"),
    ("a{2}", "aaa", "0-2"),
    ("a{1,2}?", "aa", "0-1 1-2"),
    ("a{2,}", "aaaa", "0-4"),
    ("foo{bar", "foo{bar", "0-7"),
    ("{}", "{}", "0-2"),
    (r#"{"a":\d}"#, "{\"a\":1}", "0-7"),
    (r"\Qa.b\E", "axb", ""),
    (r"\Qa.b\E", "a.b", "0-3"),
    (r"\Qa.b", "a.b)", "0-3"),
    (r"\Qab\E+", "abb", "0-3"),
    (r"\Q(?i)[\E.", "(?i)[x", "0-6"),
    (r"\Q\\E", "\\", "0-1"),
    (r"\Q\E", "", "0-0"),
    (r"\07", "\u{7}", "0-1"),
    (r"\123", "S", "0-1"),
    (r"\1234", "S4", "0-2"),
    (r"\0", "\u{0}", "0-1"),
    (r"\12", "\n", "0-1"),
    (r"\x41\x{e9}", "Aé", "0-3"),
    (r"\p{^L}", "a1", "1-2"),
    (r"\P{^L}", "1a", "1-2"),
    (r"\pN+", "1٣a", "0-3"),
    (r"\PN", "1a", "1-2"),
    (r"\p{Greek}+", "aαβ", "1-5"),
    (r"\Aa\z", "a", "0-1"),
    (r"\Aa\z", "a\n", ""),
    ("a$", "a\n", ""),
    ("(?m)^b$", "a\nb\nc", "2-3"),
    (".+", "a\nb", "0-1 2-3"),
    ("(?s).+", "a\nb", "0-3"),
    ("(?U)a+", "aaa", "0-1 1-2 2-3"),
    ("(?U)a+?", "aaa", "0-3"),
    ("(?ii)A", "a", "0-1"),
    ("(?i-i)A", "a", ""),
    ("(?)a", "a", "0-1"),
    ("(?i:A)a", "aa", "0-2"),
    ("(?i:A)a", "aA", ""),
    ("a(?i)b|C", "aB", "0-2"),
    ("a(?i)b|C", "c", "0-1"),
    (r"(?P<verb>[A-Z]+) (?P<path>/\w+)", "GET /é", ""),
    (r"(?P<verb>[A-Z]+) (?P<path>/\w+)", "GET /cart", "0-9(0-3)(4-9)"),
    ("(?P<1a>b)", "b", "0-1(0-1)"),
    ("(?<n>b)", "ab", "1-2(1-2)"),
    ("(a|ab)(c|bcd)(d*)", "abcd", "0-4(0-1)(1-4)(4-4)"),
    ("(a*)(b*)", "baab", "0-1(0-0)(0-1) 1-4(1-3)(3-4)"),
    ("(|a)+", "aa", "0-0(0-0) 1-1(1-1) 2-2(2-2)"),
    ("(a*)+", "baa", "0-0(0-0) 1-3(1-3)"),
    ("^*a", "ba", "1-2"),
    ("a*", "baac", "0-0 1-3 4-4"),
    (r"\_\ \-\~\@", "_ -~@", "0-5"),
    (r"a\.b\[c\]", "a.b[c]", "0-6"),
    ("#&~", "#&~", "0-3"),
    ("", "ab", "0-0 1-1 2-2"),
    ("a|", "ba", "0-0 1-2"),
];

/// What Go refuses.
#[rustfmt::skip]
const REFUSED: &[&str] = &[
    "(?x)a", "(?u)a", "(?-u)a", "(?R)a", "(?-)", "(?i-)", "(?=a)", "(?!a)", "(?<=a)", "(?P=n)", "(?P<é>a)", "(?P<>a)", "(?P<n", "(?P>n)", "(?P<a.b>c)", "a**", "a*+", "a++", "a??*", "a{1}{2}", "a{1001}", "a{1,1001}", "a{2,1}", "*", "+a", "(", ")", "[", "[]", "[a", "[z-a]", "[a--b]", r"[a-\d]", "[[:foo:]]", "[[:^^alpha:]]", r"[\b]", r"[\Qa\E]", r"[\z]", r"\1", r"\8", r"\18", r"\C", r"\Z", r"\G", r"\E", r"\e", r"\u0041", r"\U", r"\é", r"\x4", r"\x{}", r"\x{110000}", r"\xg1", r"\p", r"\p{", r"\p{}", r"\p{Foo}", r"\p{Script=Greek}", r"\p1", r"\pé", r"a\", "(?i",
];

fn found(expression: &str, text: &str) -> String {
    let regex = compile(expression, false).unwrap_or_else(|e| panic!("{expression}: {e}"));
    let range = |found: Option<regex::Match<'_>>| {
        found.map_or("-".to_owned(), |found| format!("{}-{}", found.start(), found.end()))
    };
    let matches = regex.captures_iter(text).map(|groups| {
        let mut ranges = groups.iter().map(range);
        let whole = ranges.next().unwrap();
        ranges.fold(whole, |all, group| format!("{all}({group})"))
    });
    matches.collect::<Vec<_>>().join(" ")
}

#[test]
fn matches_are_those_of_go() {
    for (expression, text, matches) in MATCHES {
        assert_eq!(found(expression, text), *matches, "{expression} in {text:?}");
    }
}

#[test]
fn what_go_refuses_is_refused() {
    for expression in REFUSED {
        let error = compile(expression, false).map(|regex| regex.to_string()).expect_err(expression);
        assert!(!error.is_empty() && !error.contains('\n'), "{expression}: {error}");
    }
}

#[test]
fn what_is_wrong_is_told_in_the_users_words() {
    for (expression, says) in [
        (r"a\u0041", r"there is no `\u`"),
        (r"a\é", r"there is no `\é`"),
        (r"\xg1", r"there is no `\xg1`"),
        (r"a\", r"nothing stands behind the last `\`"),
        (r"\x{d800}", r"`\x{d800}` is no character"),
        ("a{2000}", "it repeats something 2000 times; 1000 is the most"),
        ("xa*+?", "`+?` repeats a repetition"),
        ("(?x)a", "`(?x` begins no group"),
        ("(?<=a)b", "a group's name has no `>`"),
        ("(?P<é>a)", "`é` is no name of a group, which has letters, digits and `_`"),
        ("[[:foo:]]", "there is no class `[:foo:]`"),
        (r"\p{Script=Greek}", r"`\p{Script=Greek}` names no class of characters"),
        ("[a", "a class has no `]`"),
        (r"\w(", "unclosed group"),
    ] {
        assert_eq!(compile(expression, false).map(|_| ()), Err(says.to_owned()), "{expression}");
    }
}

#[test]
fn names_of_groups_are_the_users() {
    let regex = compile("(?P<1a>.)(?<b2>.)(.)", false).unwrap();
    let names: Vec<_> = regex.capture_names().map(|name| name.map(group_name)).collect();
    assert_eq!(names, [None, Some("1a"), Some("b2"), None]);
}

/// Parts of expressions, such that the crate and RE2 differ over some of them.
fn parts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[a-c_é]",
        r"\\[dDwWsSbBAz]",
        r"\\Q[a\\.{]{0,3}\\E",
        r"[*+?|{}(),:^$<>&~-]",
        r"\[\^?[]a&~^\[-]{0,3}\]",
        r"\(\?(i|s|i-s|P<a>|<1b>|)[:)]?",
        r"\\[<>PQEpx01]|\{1,?2?\}",
    ];
    proptest::collection::vec(part, 0..8).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(expression in parts(), text in "[abc_é1 &{<]{0,8}") {
        if let Ok(regex) = compile(&expression, false) {
            // What is around a match never lies within a character.
            regex.find_iter(&text).for_each(|found| assert!(text.is_char_boundary(found.start())));
        }
        if let Ok(pattern) = Pattern::new(&expression) {
            prop_assert!(pattern.to_string().starts_with('~'));
        }
    }

    #[test]
    fn plain_texts_stay_as_they_are(text in "[a-zé0-9 .^$|)&~<>#:=,}-]{0,12}") {
        prop_assert_eq!(translate(&text), Ok(text.as_str().into()));
    }

    #[test]
    fn quoted_texts_are_found_as_they_are(text in r"[ab&{\[(\\*.^-]{0,6}", around in "[ab&{*.]{0,3}") {
        let regex = compile(&format!("\\Q{text}\\E"), false).unwrap();
        let whole = format!("{around}{text}{around}");
        prop_assert_eq!(regex.find(&whole).map(|found| found.start()), whole.find(&text));
    }

    /// Each character of a class says for itself what is in it.
    #[test]
    fn classes_hold_what_their_parts_hold(parts in proptest::collection::vec("[ac&~#é]|\\\\[wdWD\\[\\]^-]|\\[:alpha:\\]", 1..5), c in "[abc1&~é#:^\\[\\]-]") {
        let class = compile(&format!("^[{}]$", parts.concat()), false).unwrap();
        let one = |part: &String| compile(&format!("^[{part}]$"), false).unwrap().is_match(&c);
        prop_assert_eq!(class.is_match(&c), parts.iter().any(one), "{:?}", parts);
    }
}
