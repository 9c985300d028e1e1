//! Lines of all kinds.

use super::*;
use crate::testing::fields_of;
use duramen::EntryRef;
use jiff::tz::TimeZone;

/// Read in June 2024.
fn read(line: &str) -> Option<String> {
    let stamps = StampParser::new(TimeZone::UTC, 1_718_452_800_000_000_000, None);
    let parsed = parse(line, &stamps)?;
    let mut entry = EntryBuf::default();
    parsed.add_to(entry.start(0), &mut Names::new());
    let e = EntryRef::decode(entry.finish().unwrap()).unwrap();
    let time = parsed.time_ns.map(|ns| ns / 1_000_000_000);
    Some(format!("{time:?} {:?} {} | {}", parsed.level(), fields_of(&e), parsed.message))
}

#[test]
fn lines_are_taken_apart() {
    for (line, expected) in [
        (
            "Dec 10 06:55:46 LabSZ sshd[24200]: Invalid user webmaster",
            r#"Some(1702191346) None host=Str("LabSZ") app=Str("sshd") pid=Int(24200) | Invalid user webmaster"#,
        ),
        (
            "<11>Jun 14 15:16:01 vm \tjava.lang.RuntimeException: x",
            "Some(1718378161) Some(Error) host=Str(\"vm\") priority=Int(11) facility=Str(\"user\") severity=Str(\"err\") | \tjava.lang.RuntimeException: x",
        ),
        (
            "Jun 14 15:16:01 combo sshd(pam_unix)[19939]: check pass",
            r#"Some(1718378161) None host=Str("combo") app=Str("sshd(pam_unix)") pid=Int(19939) | check pass"#,
        ),
        (
            "<163>Jun 09 2024 06:06:20: %ASA-3-106023: Deny tcp",
            r#"Some(1717913180) Some(Error) app=Str("%ASA-3-106023") priority=Int(163) facility=Str("local4") severity=Str("err") | Deny tcp"#,
        ),
        (
            "<189>29: *Jun  9 06:06:20.123: %SYS-5-CONFIG_I: Configured",
            r#"Some(1717913180) Some(Info) app=Str("%SYS-5-CONFIG_I") msgid=Str("29") priority=Int(189) facility=Str("local7") severity=Str("notice") | Configured"#,
        ),
        (
            "<189>29: 000123: *Jun  9 06:06:20.123: %SYS-5-CONFIG_I: Configured",
            r#"Some(1717913180) Some(Info) app=Str("%SYS-5-CONFIG_I") msgid=Str("29") priority=Int(189) facility=Str("local7") severity=Str("notice") | Configured"#,
        ),
        (
            "<189>29: router1: *Jun  9 06:06:20.123: %SYS-5-CONFIG_I: Configured",
            r#"Some(1717913180) Some(Info) host=Str("router1") app=Str("%SYS-5-CONFIG_I") msgid=Str("29") priority=Int(189) facility=Str("local7") severity=Str("notice") | Configured"#,
        ),
        (
            "<189>29: router1: 000123: Jun  9 06:06:20.123: %SYS-5-CONFIG_I: Configured",
            r#"Some(1717913180) Some(Info) host=Str("router1") app=Str("%SYS-5-CONFIG_I") msgid=Str("29") priority=Int(189) facility=Str("local7") severity=Str("notice") | Configured"#,
        ),
        (
            "<189>29: 00:00:46: %LINK-3-UPDOWN: Interface up",
            r#"None Some(Info) msgid=Str("29") priority=Int(189) facility=Str("local7") severity=Str("notice") | 00:00:46: %LINK-3-UPDOWN: Interface up"#,
        ),
        (
            "<189>29: 1d02h: %LINK-3-UPDOWN: Interface up",
            r#"None Some(Info) msgid=Str("29") priority=Int(189) facility=Str("local7") severity=Str("notice") | 1d02h: %LINK-3-UPDOWN: Interface up"#,
        ),
        (
            "<189>29: %LINK-3-UPDOWN: Interface up",
            r#"None Some(Info) app=Str("%LINK-3-UPDOWN") msgid=Str("29") priority=Int(189) facility=Str("local7") severity=Str("notice") | Interface up"#,
        ),
        (
            "<149>2647599: vmx01 RP/0/RSP1/CPU0:Jun  9 06:06:20.123 UTC: ifmgr[123]: %PKT_INFRA-LINK-5-CHANGED: down",
            r#"Some(1717913180) Some(Info) host=Str("vmx01") msgid=Str("2647599") priority=Int(149) facility=Str("local2") severity=Str("notice") | RP/0/RSP1/CPU0:Jun  9 06:06:20.123 UTC: ifmgr[123]: %PKT_INFRA-LINK-5-CHANGED: down"#,
        ),
        (
            "<149>7: RP/0/RSP1/CPU0:Jun  9 06:06:20.123: ifmgr: down",
            r#"Some(1717913180) Some(Info) msgid=Str("7") priority=Int(149) facility=Str("local2") severity=Str("notice") | RP/0/RSP1/CPU0:Jun  9 06:06:20.123: ifmgr: down"#,
        ),
        (
            "<13>404: not found",
            r#"None Some(Info) msgid=Str("404") priority=Int(13) facility=Str("user") severity=Str("notice") | not found"#,
        ),
        (
            "<13>404[7]: not found",
            r#"None Some(Info) priority=Int(13) facility=Str("user") severity=Str("notice") | 404[7]: not found"#,
        ),
        (
            "<13>12:30 is the time: late",
            r#"None Some(Info) priority=Int(13) facility=Str("user") severity=Str("notice") | 12:30 is the time: late"#,
        ),
        (
            "<187>: Jun  9 06:06:20 UTC: %VPC-3-X: down",
            r#"Some(1717913180) Some(Error) app=Str("%VPC-3-X") priority=Int(187) facility=Str("local7") severity=Str("err") | down"#,
        ),
        (
            r#"<165>1 - h a - - [origin ip="1" ip="2"][origin ip="1"][origin ip="3"] x"#,
            r##"None Some(Info) host=Str("h") app=Str("a") priority=Int(165) facility=Str("local4") severity=Str("notice") sd.origin.ip=Str("1") sd.origin.ip#1=Str("2") sd.origin.ip#2=Str("3") | x"##,
        ),
        (
            "Jun  9 06:06:20 combo kernel: Linux version 2.6",
            r#"Some(1717913180) None host=Str("combo") app=Str("kernel") | Linux version 2.6"#,
        ),
        (
            "Jun  9 06:06:20 combo syslogd 1.4.1: restart.",
            r#"Some(1717913180) None host=Str("combo") | syslogd 1.4.1: restart."#,
        ),
        (
            "<34>Oct 11 22:14:15 mymachine su: 'su root' failed",
            r#"Some(1697062455) Some(Fatal) host=Str("mymachine") app=Str("su") priority=Int(34) facility=Str("auth") severity=Str("crit") | 'su root' failed"#,
        ),
        (
            r#"<165>1 2003-10-11T22:14:15.003Z host.example.com evntslog - ID47 [ex@32473 iut="3" src="a \"b\" \] \\ \x"][o@1 k="v"] BOMless"#,
            r#"Some(1065910455) Some(Info) host=Str("host.example.com") app=Str("evntslog") msgid=Str("ID47") priority=Int(165) facility=Str("local4") severity=Str("notice") sd.ex@32473.iut=Str("3") sd.ex@32473.src=Str("a \"b\" ] \\ \\x") sd.o@1.k=Str("v") | BOMless"#,
        ),
        // As Fluent Bit sends a map that has no values.
        (
            "<12>1 2003-10-11T22:14:15.003Z h1 - - - [nested] \u{feff}hello [x]",
            r#"Some(1065910455) Some(Warn) host=Str("h1") priority=Int(12) facility=Str("user") severity=Str("warning") | hello [x]"#,
        ),
        (
            "<11>1 - - - - - -",
            r#"None Some(Error) priority=Int(11) facility=Str("user") severity=Str("err") | "#,
        ),
        (
            "2024-01-02T03:04:05.678901+02:00 web-1 nginx[77]: error: x",
            r#"Some(1704157445) Some(Error) host=Str("web-1") app=Str("nginx") pid=Int(77) | error: x"#,
        ),
        (
            "Jun 09 06:06:20.123456 web-1 sshd[7]: x",
            r#"Some(1717913180) None host=Str("web-1") app=Str("sshd") pid=Int(7) | x"#,
        ),
        (
            "Sun 2024-06-09 06:06:20 UTC web-1 sshd[7]: x",
            r#"Some(1717913180) None host=Str("web-1") app=Str("sshd") pid=Int(7) | x"#,
        ),
        (
            "Jun 09 2024 06:06:20 fw-1 : %ASA-4-106023: Deny tcp",
            r#"Some(1717913180) Some(Warn) host=Str("fw-1") app=Str("%ASA-4-106023") | Deny tcp"#,
        ),
        (
            "Jun  9 06:06:20 node-1 kubelet[7]: E0609 06:06:20.123456       7 a.go:1] INFO x",
            r#"Some(1717913180) Some(Error) host=Str("node-1") app=Str("kubelet") pid=Int(7) | E0609 06:06:20.123456       7 a.go:1] INFO x"#,
        ),
        (
            "<12>shop[7]: out of stock",
            r#"None Some(Warn) app=Str("shop") pid=Int(7) priority=Int(12) facility=Str("user") severity=Str("warning") | out of stock"#,
        ),
        (
            "<12>error: http://x",
            r#"None Some(Warn) priority=Int(12) facility=Str("user") severity=Str("warning") | error: http://x"#,
        ),
        (
            "<12>http://x",
            r#"None Some(Warn) priority=Int(12) facility=Str("user") severity=Str("warning") | http://x"#,
        ),
        (
            "<13>just text",
            r#"None Some(Info) priority=Int(13) facility=Str("user") severity=Str("notice") | just text"#,
        ),
        (
            "Feb 10 23:15:39 test-pc postgres[10809]: [4-1] db=,user=,app=,client= LOG:  ready",
            r#"Some(1707606939) Some(Info) host=Str("test-pc") app=Str("postgres") pid=Int(10809) | [4-1] db=,user=,app=,client= LOG:  ready"#,
        ),
    ] {
        assert_eq!(read(line).as_deref(), Some(expected), "{line}");
    }
}

#[test]
fn what_is_wrong_or_missing_in_rfc_5424_costs_no_other_part() {
    let all = r#"host=Str("h") app=Str("a") msgid=Str("m") pid=Int(7) "#;
    for (line, fields, message) in [
        (
            r#"h a 7 m [sd@1 p="q" ] 1.2.3.4 - - x"#,
            format!(r#"{all}PRI sd.sd@1.p=Str("q")"#),
            "1.2.3.4 - - x",
        ),
        (
            r#"h a 7 m [sd@1  p="q"  r="s"  ][o ]x"#,
            format!(r#"{all}PRI sd.sd@1.p=Str("q") sd.sd@1.r=Str("s")"#),
            "x",
        ),
        (r#"h a 7 m [x=y z=a q="]= "] x"#, format!("{all}PRI"), r#"[x=y z=a q="]= "] x"#),
        (r#"h a 7 m [sd@1 p="q x"#, format!("{all}PRI"), r#"[sd@1 p="q x"#),
        (r#"h a 7 m [sd@1 p q="r"] x"#, format!("{all}PRI"), r#"[sd@1 p q="r"] x"#),
        ("h a 7 m [INFO] ready", format!("{all}PRI"), "[INFO] ready"),
        ("h a 7 m", format!("{all}PRI"), ""),
        ("h a 7", r#"host=Str("h") app=Str("a") pid=Int(7) PRI"#.to_owned(), ""),
        ("h a", r#"host=Str("h") app=Str("a") PRI"#.to_owned(), ""),
        ("h", r#"host=Str("h") PRI"#.to_owned(), ""),
        ("", "PRI".to_owned(), ""),
    ] {
        let line = format!("<165>1 2003-10-11T22:14:15Z {line}");
        let pri = r#"priority=Int(165) facility=Str("local4") severity=Str("notice")"#;
        let expected = format!("Some(1065910455) Some(Info) {} | {message}", fields.replace("PRI", pri));
        assert_eq!(read(&line), Some(expected.clone()), "{line}");
        assert_eq!(read(line.trim_end()), Some(expected), "{line}");
    }
    for text in ["1 - nothing", "1 - h a", "1 soon h a - - - x", "1 "] {
        let read = read(&format!("<165>{text}")).unwrap();
        assert!(read.starts_with("None ") && read.ends_with(&format!(" | {text}")), "{read}");
    }
}

#[test]
fn other_lines_are_none() {
    for line in [
        "",
        "<",
        "<192>x",
        "<1234>x",
        "<a>x",
        "Mon Jan  2 15:04:05 2006 hello",
        "Jan  2 15:04:05 2006 hello there: x",
        "Jan  2 15:04:05 ERROR main: x",
        "2024-01-02T03:04:05Z INFO main: x",
        "Jun 09 2024 06:06:20 Starting server",
        "Jun 09 06:06:20.123456 Starting server",
        "Jun 09 06:06:20 UTC 2024 a b: x",
        "2024-01-02T03:04:05Z started the server",
        "2024-01-02T03:04:05Z fail: X[0] x",
        "2024-01-02T03:04:05Z - info: x",
        "2024-01-02T03:04:05Z I0102 03:04:05.123456       1 main.go:12] x",
        "2024-01-02T03:04:05Z ::error file=a.js,line=1::x",
        "2024-01-02 03:04:05 host app: x",
        "Janitor came",
    ] {
        assert_eq!(read(line), None, "{line}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_it_panic(
        head in "(<1[0-9]{0,2}>)?(1 )?(- |Jan  2 15:04:05 |2024-01-02T03:04:05Z )?",
        tail in "[ab:\\[\\]=\"\\\\ é-]{0,30}",
    ) {
        read(&format!("{head}{tail}"));
    }
}
