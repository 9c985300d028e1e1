use super::*;
use crate::labels::EntryReader;
use duramen_query::ResultRow;

fn apply(template: &str) -> Result<String, String> {
    let row = ResultRow::new();
    let mut reader = EntryReader::default();
    let mut entry = reader.read(&row, None);
    entry.line = "the line".into();
    entry.time_ns = 1_500_000_000;
    for (name, value) in [("app", "Web"), ("n", "42"), ("took", "1.5s"), ("size", "2KB"), ("path", "/a b")] {
        entry.set(name, value.into());
    }
    Template::parse(template).map_err(|e| format!("parse: {e}"))?.apply(&entry)
}

#[test]
fn what_log_queries_use() {
    for (template, expected) in [
        ("plain", "plain"),
        ("{{.app}}-{{ .n }}{{.nothing}}", "Web-42"),
        ("{{.app | ToLower}} {{ToUpper .app}} {{ title \"a b\" }}", "web WEB A B"),
        ("{{ .app | lower | printf \"%-5s|%5.2f|%05d\" | print }}", "web  |%!f(MISSING)|%!d(MISSING)"),
        ("{{ printf \"%-5s|%6.2f|%05d|%q|%%\" .app (divf .n 5) .n .app }}", "Web  |  8.40|00042|\"Web\"|%"),
        ("{{ if eq .app \"Web\" }}yes{{ else }}no{{ end }}", "yes"),
        ("{{ if and .nothing .app }}a{{ else if gt (int .n) 41 }}b{{ else }}c{{ end }}", "b"),
        ("{{ if or .nothing (not .app) }}a{{end}}.", "."),
        ("{{ add .n 1 }} {{ sub 1 2 }} {{ mul 2 3 4 }} {{ div .n 5 }} {{ mod .n 5 }}", "43 -1 24 8 2"),
        ("{{ duration .took }} {{ bytes .size }} {{ round 1.256 2 }}", "1.5 2000 1.26"),
        ("{{ Replace .app \"e\" \"a\" 1 }} {{ replace \"W\" \"w\" .app }}", "Wab web"),
        ("{{ regexReplaceAll \"(W)(e)\" .app \"$2$1\" }} {{ count \"[0-9]\" .n }}", "eWb 2"),
        ("{{ substr 1 2 .app }} {{ trunc -2 .app }} {{ trunc 1 .app }} {{ len .app }}", "e eb W 3"),
        ("{{ alignRight 5 .app }}|{{ alignLeft 2 .app }}|{{ urlencode .path }}", "  Web|We|%2Fa+b"),
        ("{{ urldecode \"%2Fa+b\" }} {{ default \"x\" .nothing }} {{ default \"x\" .app }}", "/a b x Web"),
        ("{{ __line__ }} {{ __timestamp__ }}", "the line 1970-01-01T00:00:01.5Z"),
        ("a {{- .n -}} b{{/* nothing */}}", "a42b"),
        ("{{ `a\"b}}` }}{{ \"\\\"\" }}", "a\"b}}\""),
        ("{{ contains \"eb\" .app }} {{ hasPrefix \"W\" .app }} {{ 1.5 }} {{ true }}", "true true 1.5 true"),
        ("{{ TrimPrefix .app \"W\" }} {{ trimSuffix \"b\" .app }} {{ Trim .app \"Wb\" }}", "eb We e"),
        ("{{ float64 3000000 }} {{ mulf 1 999999 }} {{ divf 12345678.9 3 }}", "3e+06 999999 4.1152263e+06"),
        ("{{ printf \"%e %.2e %10.1e\" 1500 0.00025 (float64 1e120) }}", "1.500000e+03 2.50e-04   1.0e+120"),
        ("{{ repeat 3 \"ab\" }} {{ indent 2 \"a\" }}", "ababab   a"),
        ("{{ __timestamp__ | unixEpochMillis }}", "1500"),
        (
            "{{ addf 0.1 0.2 }} {{ mulf 1.1 1.1 }} {{ subf 0.3 0.1 }} {{ divf 1 3 }}",
            "0.3 1.21 0.2 0.3333333333333333",
        ),
        (
            "{{ __timestamp__ | date \"2006-01-02 15:04:05.0\" }} {{ date \"15:04\" 60 }}",
            "1970-01-01 00:00:01.5 00:01",
        ),
        (
            "{{ unixToTime \"1715094249\" | date \"Jan 2\" }} {{ toDate \"2006-01-02\" \"2024-05-07\" | unixEpoch }}",
            "May 7 1715040000",
        ),
        ("{{ toDateInZone \"2006-01-02\" \"nowhere\" \"2024-05-07\" }}", "2024-05-07T00:00:00Z"),
        ("{{ .path | b64enc }} {{ b64dec \"L2EgYg==\" }} {{ b64dec \"L2EgYg\" }}", "L2EgYg== /a b /a b"),
        ("{{ b64dec \"L2!\" }}", "illegal base64 data at input byte 2"),
        (
            "{{ println .app 1 }}{{ html \"<a b='c'>&\" }} {{ urlquery .path }}",
            "Web 1\n&lt;a b=&#39;c&#39;&gt;&amp; %2Fa+b",
        ),
        ("{{ slice .app 1 }} {{ slice .path 0 2 }} {{ slice .app }}", "eb /a Web"),
        ("{{ print 1 2 \"a\" }} {{ print 1 \"a\" 2 }} {{ print .n true 1 }}", "1 2a 1a2 42true 1"),
        ("{{ alignLeft -1 .app }} {{ alignRight -5 .app }}", "Web Web"),
        ("{{ round 1.55 1 }} {{ round 1.54 1 0.3 }} {{ round 1.52 1 0.3 }}", "1.6 1.6 1.5"),
    ] {
        assert_eq!(apply(template).as_deref(), Ok(expected), "{template}");
    }
}

#[test]
fn what_is_wrong_is_told() {
    for (template, part) in [
        ("{{.app", "`}}` is missing"),
        ("{{ if .app }}", "no `end`"),
        ("{{ end }}", "without an `if`"),
        ("{{ else }}", "without an `if`"),
        ("{{ range .app }}{{ end }}", "not supported"),
        ("{{ . }}", "not supported"),
        ("{{ $x := 1 }}", "variables are not supported"),
        ("{{ nosuch .app }}", "no function is called `nosuch`"),
        ("{{ ToLower }}", "takes 1 arguments, not 0"),
        ("{{ .app .n }}", "expected `|`"),
        ("{{ .app | .n }}", "must stand a function"),
        ("{{ regexReplaceAll \"(\" .app \"\" }}", "unclosed group"),
        ("{{ (.app }}", "`)` is missing"),
        ("{{ \"a }}", "missing"),
        ("{{ 1x }}", "no number"),
        ("{{}}", "is missing"),
        ("{{ .a.b }}", "not supported"),
        ("{{ div 1 0 }}", "division by zero"),
        ("{{ divf 1 0 }}", "division by zero"),
        ("{{ slice .app 2 9 }}", "out of range"),
        ("{{ toDate \"2006\" .app }}", "`Web` is no time as `2006`"),
        ("{{ date \"2006\" .app }}", "no time stamp"),
        ("{{ unixToTime .n }}", "`42` is no time"),
        ("{{ duration .app }}", "no duration"),
        ("{{ repeat 99999999 .app }}", "out of range"),
        ("{{ urldecode \"%zz\" }}", "not URL-encoded"),
    ] {
        let error = apply(template).unwrap_err();
        assert!(error.contains(part), "{template}: {error}");
    }
    let deep = format!("{{{{ {}1{} }}}}", "(".repeat(200), ")".repeat(200));
    assert!(apply(&deep).unwrap_err().contains("deep"));
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "[{}.|()\"` a-z0-9%$-]{0,40}", word in "\\PC{0,20}") {
        let _ = apply(&text);
        let _ = apply(&format!("{{{{ {text} {word} }}}}"));
        let _ = super::format::printf(&word, &[Value::Text(text), Value::Int(5)]);
    }
}
