//! Stamps and what they say; the expected times are written in RFC 3339 and read by jiff.

use super::*;
use jiff::Timestamp;

fn ns(text: &str) -> i64 {
    i64::try_from(text.parse::<Timestamp>().unwrap().as_nanosecond()).unwrap()
}

/// A reference in June 2024.
fn parser(zone: &str) -> StampParser {
    let zone = if zone == "UTC" { TimeZone::UTC } else { TimeZone::get(zone).unwrap() };
    StampParser::new(zone, ns("2024-06-15T12:00:00Z"), None)
}

#[test]
fn stamps_of_real_logs_are_read() {
    let table = [
        ("2024-06-27T00:00:07Z|", "2024-06-27T00:00:07Z"),
        ("2024-06-27T00:00Z|", "2024-06-27T00:00:00Z"),
        ("2024-06-27T00:00:07.123456789123+02:00| x", "2024-06-26T22:00:07.123456789Z"),
        ("2024-06-27 00:00:07,123| - INFO", "2024-06-27T00:00:07.123Z"),
        ("2024-06-27 00:00:07 CEST| [58151]: x", "2024-06-26T22:00:07Z"),
        ("2024-06-27 00:00:07.5 UTC| x", "2024-06-27T00:00:07.5Z"),
        ("2024-06-27 00:00:07| INFO x", "2024-06-27T00:00:07Z"),
        ("2024-06-27 00:00:07+0330| x", "2024-06-26T20:30:07Z"),
        ("2024-06-27 00:00:07 -0500| x", "2024-06-27T05:00:07Z"),
        ("2024-06-27 00:00:07-05| x", "2024-06-27T05:00:07Z"),
        ("2024-06-27 00:00:07 -5 x", "2024-06-27T00:00:07Z"),
        ("2024-06-27 00:00:07.123 -03| [7] LOG:  x", "2024-06-27T03:00:07.123Z"),
        ("2024-06-27 00:00:07 +08|]", "2024-06-26T16:00:07Z"),
        ("2024-06-27 00:00:07| -15 degrees", "2024-06-27T00:00:07Z"),
        ("2024-06-27 00:00:07| -03x", "2024-06-27T00:00:07Z"),
        ("2024-06-27 00:00:07 -03| app@db LOG:  x", "2024-06-27T03:00:07Z"),
        ("2024-06-27 00:00:07 -03| 1234 postgres ERROR:  x", "2024-06-27T03:00:07Z"),
        ("2024-06-27 00:00:07| -12 V rail low", "2024-06-27T00:00:07Z"),
        ("2024-06-27 00:00:07 UTC-3|: x", "2024-06-27T03:00:07Z"),
        ("2024-06-27 3:04:07 PM|-INFO x", "2024-06-27T15:04:07Z"),
        ("2024-06-27 3:04:07 PM|. x", "2024-06-27T15:04:07Z"),
        ("2024-06-27 00:00:07| +10 dBm", "2024-06-27T00:00:07Z"),
        ("2024-06-27 00:00:07| -05 1013 hPa", "2024-06-27T00:00:07Z"),
        ("2024-06-27 00:00:07 -03| LOG:  x", "2024-06-27T03:00:07Z"),
        ("2024-06-27 00:00:07 UTC+5:30| x", "2024-06-26T18:30:07Z"),
        ("Jun  9 06:06:01| pm-01 app: x", "2024-06-09T06:06:01Z"),
        ("Jun  9 06:06:01| PM-01 app: x", "2024-06-09T06:06:01Z"),
        ("Jun  9 06:06:01| MSK-FW01 app: x", "2024-06-09T06:06:01Z"),
        ("Jun  9 06:06:01.5| IST.example.org app: x", "2024-06-09T06:06:01.5Z"),
        ("Jun 09 2024 06:06:01| EST-01 : %ASA-6-302013: x", "2024-06-09T06:06:01Z"),
        ("Jun  9 06:06:01 UTC| EST-01 x", "2024-06-09T06:06:01Z"),
        ("Jun  9 06:06:01| 2001:db8::1 app: x", "2024-06-09T06:06:01Z"),
        ("Jun  9 06:06:01| 2001:db8:0:0:0:0:0:1 app: x", "2024-06-09T06:06:01Z"),
        ("Jun  9 06:06:01 2023|: 1:2", "2023-06-09T06:06:01Z"),
        ("Jun  9 06:06:01 2023|:1: x", "2023-06-09T06:06:01Z"),
        ("Fri Jun  9 06:06:01 2023|:12:34:abc x", "2023-06-09T06:06:01Z"),
        ("Jun  9, 2024 03:00:00 PM|-start of backup", "2024-06-09T15:00:00Z"),
        ("Jun 9, 2024 3:04:05 PM|.Next", "2024-06-09T15:04:05Z"),
        ("Jun  9 06:06:01 EST|-0500 hi", "2024-06-09T11:06:01Z"),
        ("20240627000007|\x1b[0m x", "2024-06-27T00:00:07Z"),
        ("20240627000007|,447700900123,5", "2024-06-27T00:00:07Z"),
        ("2024-06-27 00:00:07 GMT+05:00| x", "2024-06-26T19:00:07Z"),
        ("2024-06-27 00:00:07 UTC+5| x", "2024-06-26T19:00:07Z"),
        ("2024-06-27 00:00:07 UTC|-x", "2024-06-27T00:00:07Z"),
        ("Thu Jun 27 2024 00:00:07 GMT-0300| (-03)", "2024-06-27T03:00:07Z"),
        ("Thu 2024-06-27 00:00:07 CEST| host", "2024-06-26T22:00:07Z"),
        ("2024-Jun-27 00:00:07.5| x", "2024-06-27T00:00:07.5Z"),
        ("2024 Jun 7 00:00:07| x", "2024-06-07T00:00:07Z"),
        // Of NX-OS, in another year than the reference's.
        ("2023 Jun  7 00:00:07.5 UTC| sw %x", "2023-06-07T00:00:07.5Z"),
        ("20240627000007| x", "2024-06-27T00:00:07Z"),
        ("20240627000007.25Z|", "2024-06-27T00:00:07.25Z"),
        ("20240627000007123|,x", "2024-06-27T00:00:07.123Z"),
        ("27-06-2024 00:00:07,123| x", "2024-06-27T00:00:07.123Z"),
        ("05-06-2024 00:00:07| x", "2024-06-05T00:00:07Z"),
        ("06-27-2024, 00:00:07| x", "2024-06-27T00:00:07Z"),
        ("9/30/2024 9:00:01 AM| x", "2024-09-30T09:00:01Z"),
        ("30/9/2024, 09:00:01| x", "2024-09-30T09:00:01Z"),
        ("6/1/24 15:04:05:123 UTC|] 0001", "2024-06-01T15:04:05.123Z"),
        ("12/1/2024 3:04:05PM| x", "2024-12-01T15:04:05Z"),
        ("12/1/2024 12:04:05 a.m.| x", "2024-12-01T00:04:05Z"),
        ("01 Jun 10:00:04.123| * x", "2024-06-01T10:00:04.123Z"),
        ("Jun 1, 2024, 3:04:08 PM UTC| x", "2024-06-01T15:04:08Z"),
        ("Jun 1, 2024 @ 15:04:08.500| x", "2024-06-01T15:04:08.5Z"),
        ("Jun 1, 2024 10:00:02,123 AM UTC|> <Error>", "2024-06-01T10:00:02.123Z"),
        ("2024/06/27 00:00:07| [error]", "2024-06-27T00:00:07Z"),
        ("2016-12-31T23:59:60Z|", "2017-01-01T00:00:00Z"),
        ("2005-06-03-15.42.50.675872| R02", "2005-06-03T15:42:50.675872Z"),
        ("20240627T000007Z|", "2024-06-27T00:00:07Z"),
        ("20240627T000007.25+0200|", "2024-06-26T22:00:07.25Z"),
        ("20171223-22:15:29:606||Step", "2017-12-23T22:15:29.606Z"),
        ("20171223-22:15:29:60||Step", "2017-12-23T22:15:29.06Z"),
        ("20171224-0:5:9:4||Step", "2017-12-24T00:05:09.004Z"),
        ("2024-06-27, 00:00:07 UTC|] {x.py:1}", "2024-06-27T00:00:07Z"),
        ("2024-06-27\t00:00:07|\tAMS1", "2024-06-27T00:00:07Z"),
        ("2024/06/27 - 00:00:07| | 200 |", "2024-06-27T00:00:07Z"),
        ("01/02/2006 - 15:04:05|: x", "2006-01-02T15:04:05Z"),
        ("06/30/17 20:10:41| x", "2017-06-30T20:10:41Z"),
        ("02.01.2006 15:04:05.5| x", "2006-01-02T15:04:05.5Z"),
        ("05.30 16:49:06|] x", "2024-05-30T16:49:06Z"),
        ("1286536309.586|\t180", "2010-10-08T11:11:49.586Z"),
        ("26/Jan/2019:19:45:25 +0330|] x", "2019-01-26T16:15:25Z"),
        ("01-Jun-2024 10:00:02 Europe/Berlin|] PHP Warning:  x", "2024-06-01T08:00:02Z"),
        ("01-Jan-2024 10:00:02 America/New_York|] PHP Warning:  x", "2024-01-01T15:00:02Z"),
        ("01-Jan-2024 10:00:02| Europe/Nowhere] x", "2024-01-01T10:00:02Z"),
        ("Jun  9 06:06:01 Asia/Tokyo| x", "2024-06-08T21:06:01Z"),
        ("02-Jan-2006 15:04:05.123| queries", "2006-01-02T15:04:05.123Z"),
        ("16-Jan-2013::15:58:33| ===", "2013-01-16T15:58:33Z"),
        ("6-Jan-2013::15:58:35.25| ===", "2013-01-06T15:58:35.25Z"),
        ("01 Jan 2024 12:00:00.5| * Ready", "2024-01-01T12:00:00.5Z"),
        ("Mon, 02 Jan 2006 15:04:05 GMT|", "2006-01-02T15:04:05Z"),
        ("Mon Jan  2 15:04:05 2006|", "2006-01-02T15:04:05Z"),
        ("Sun Dec 04 04:47:44 2005|] [error]", "2005-12-04T04:47:44Z"),
        ("Mon Jan  2 15:04:05 MST 2006|", "2006-01-02T22:04:05Z"),
        ("Jun 14, 2024 3:04:05 PM| org.x", "2024-06-14T15:04:05Z"),
        ("Jun 14, 2024 3:04:05\u{202f}PM| org.x", "2024-06-14T15:04:05Z"),
        ("Jun 14, 2024 12:04:05 AM| org.x", "2024-06-14T00:04:05Z"),
        ("Dec 10 06:55:46| LabSZ", "2023-12-10T06:55:46Z"),
        ("Jun  9 06:06:01| combo", "2024-06-09T06:06:01Z"),
        ("Jun 16 11:59:59| within a day after", "2024-06-16T11:59:59Z"),
        ("Jun 16 12:00:01| later than that", "2023-06-16T12:00:01Z"),
        ("Feb 29 10:00:00| leap", "2024-02-29T10:00:00Z"),
        ("Nov 9 12:01:01| dn228", "2023-11-09T12:01:01Z"),
        ("Jun 1 12:01:01 1131| x", "2024-06-01T12:01:01Z"),
        ("03-17 16:13:38.811|  1702", "2024-03-17T16:13:38.811Z"),
        ("I0109 12:34:56.789012|    1 main.go:1]", "2024-01-09T12:34:56.789012Z"),
        ("I20240109 12:34:56.789012|    1 a.cc:1]", "2024-01-09T12:34:56.789012Z"),
        ("17/06/09 20:10:41| INFO", "2017-06-09T20:10:41Z"),
        ("99/06/09 20:10:41| INFO", "1999-06-09T20:10:41Z"),
        ("01/02/2006 15:04:05| x", "2006-01-02T15:04:05Z"),
        ("13/02/2006, 15:04:05| x", "2006-02-13T15:04:05Z"),
        ("06/01/2024-10:00:00.123456|  [**] x", "2024-06-01T10:00:00.123456Z"),
        ("06/01-10:00:00.123456|  [**] x", "2024-06-01T10:00:00.123456Z"),
        ("081109 203615| 148 INFO", "2008-11-09T20:36:15Z"),
        ("081109  9:36:15| mysql", "2008-11-09T09:36:15Z"),
        ("1117838570| 2005.06.03", "2005-06-03T22:42:50Z"),
        ("1286536309.586|    180", "2010-10-08T11:11:49.586Z"),
        ("1446249499322|", "2015-10-30T23:58:19.322Z"),
        ("1674981741123210741|", "2023-01-29T08:42:21.123210741Z"),
    ];
    let parser = parser("UTC");
    for (text, expected) in table {
        let end = text.find('|');
        let plain = end.map_or(text.to_owned(), |end| text[..end].to_owned() + &text[end + 1..]);
        let (time, consumed) = parser.parse(&plain).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(time, ns(expected), "{text}: {}", Timestamp::from_nanosecond(time.into()).unwrap());
        if let Some(end) = end
            && !plain.starts_with("Jun 1 ")
        {
            assert_eq!(consumed, end, "{text}");
        }
    }
}

#[test]
fn what_is_no_stamp_is_none() {
    let parser = parser("UTC");
    for text in [
        "",
        "2",
        "20",
        "2024",
        "2024-",
        "2024-06-27",
        "2024-06-27T",
        "2024-13-01T00:00:00Z",
        "20241301000000",
        "20240627000007x",
        "19240627000007",
        "9/30/2024",
        "9/30/2 9:00:01",
        "2024-Foo-01 00:00:00",
        "2048 Jun 17 10:00:07",
        "31-31-2024 00:00:00",
        "2023-02-29T00:00:00Z",
        "2024-06-27T24:00:00Z",
        "2024-06-27T00:60:00Z",
        "0001-01-01T00:00:00Z",
        "9999-01-01T00:00:00Z",
        "2262-01-01T00:00:00Z",
        "2005.06.03 R02",
        "Jan",
        "Jan ",
        "Jan 1",
        "Jan 32 00:00:00",
        "January 1 00:00:00",
        "Mon",
        "Mon,",
        "99-17 16:13:38",
        "1234567890123456789012",
        "0000000001",
        "1117838570x",
        "I9999 12:00:00",
        "081109 ",
        "081399 203615 x",
        "12/34/5678 00:00:00",
        "31/Foo/2019:19:45:25",
        "é",
        "1é",
        "12:34:56",
    ] {
        assert_eq!(parser.parse(text), None, "{text}");
    }
}

#[test]
fn a_zone_is_used_where_the_stamp_names_none() {
    let berlin = parser("Europe/Berlin");
    for (text, expected) in [
        ("2024-06-27 12:00:00", "2024-06-27T10:00:00Z"),
        ("2024-01-27 12:00:00", "2024-01-27T11:00:00Z"),
        ("2024-01-27 12:00:00Z", "2024-01-27T12:00:00Z"),
        ("2024-03-31 01:59:59", "2024-03-31T00:59:59Z"),
        ("2024-03-31 02:30:00", "2024-03-31T01:30:00Z"),
        ("2024-03-31 03:00:00", "2024-03-31T01:00:00Z"),
        ("2024-10-27 02:30:00", "2024-10-27T00:30:00Z"),
        ("Jun 15 12:00:00", "2024-06-15T10:00:00Z"),
        ("2024-06-27 12:00:00 XYZ", "2024-06-27T10:00:00Z"),
    ] {
        assert_eq!(berlin.parse(text).unwrap().0, ns(expected), "{text}");
    }
}

#[test]
fn a_given_year_is_used() {
    let parser = StampParser::new(TimeZone::UTC, ns("2024-06-15T12:00:00Z"), Some(2005));
    assert_eq!(parser.parse("Dec 10 06:55:46").unwrap().0, ns("2005-12-10T06:55:46Z"));
    assert_eq!(parser.parse("Dec 10 06:55:46 2006").unwrap().0, ns("2006-12-10T06:55:46Z"));
    // 2005 has no such day: better the nearest year that does than no time.
    assert_eq!(parser.parse("Feb 29 06:55:46").unwrap().0, ns("2024-02-29T06:55:46Z"));
}

#[test]
fn the_order_of_day_and_month_is_that_of_the_input() {
    let mut parser = parser("UTC");
    let read = |parser: &StampParser, text| parser.parse(text).map(|(time, _)| time);
    assert_eq!(read(&parser, "01/02/2006 15:04:05"), Some(ns("2006-01-02T15:04:05Z")));
    let seen = |day_first, year_last, month_first| Seen { day_first, year_last, month_first };
    assert_eq!(parser.order_seen(), seen(false, false, false));
    let fresh = parser.fresh();
    assert!(read(&fresh, "9/30/24 3:04:05").is_some() && fresh.order_seen() == seen(false, true, false));
    assert_eq!(read(&parser, "13/02/2006 15:04:05"), Some(ns("2006-02-13T15:04:05Z")));
    assert_eq!(read(&parser, "01/13/06 15:04:05"), Some(ns("2006-01-13T15:04:05Z")));
    assert_eq!(read(&parser, "01-02-2006 15:04:05"), Some(ns("2006-02-01T15:04:05Z")));
    assert_eq!(parser.order_seen(), seen(true, true, false));
    assert_eq!(read(&parser, "01-13-2006 15:04:05"), Some(ns("2006-01-13T15:04:05Z")));
    assert_eq!(parser.order_seen(), seen(true, true, true));
    parser.settle(seen(true, false, true), TimeZone::UTC);
    assert_eq!(read(&parser, "01-02-2006 15:04:05"), Some(ns("2006-01-02T15:04:05Z")));
    assert_eq!(read(&parser, "13-02-2006 15:04:05"), Some(ns("2006-02-13T15:04:05Z")));
    assert_eq!(read(&parser, "2/1/24 3:04:05"), Some(ns("2024-01-02T03:04:05Z")));
    assert_eq!(read(&parser, "01/02/2006 15:04:05"), Some(ns("2006-02-01T15:04:05Z")));
    assert_eq!(read(&parser, "01/13/2006 15:04:05"), Some(ns("2006-01-13T15:04:05Z")));
    assert_eq!(read(&parser, "06/02/01 15:04:05"), Some(ns("2006-02-01T15:04:05Z")));
    parser.settle(seen(false, true, false), TimeZone::UTC);
    assert_eq!(read(&parser, "01/02/06 15:04:05"), Some(ns("2006-01-02T15:04:05Z")));
    parser.settle(seen(true, true, false), TimeZone::UTC);
    assert_eq!(read(&parser, "01/02/06 15:04:05"), Some(ns("2006-02-01T15:04:05Z")));
}

#[test]
fn values_are_times_as_a_whole() {
    let parser = parser("UTC");
    for (text, expected) in [
        ("2022-11-27 18:58:02.096 UTC", Some("2022-11-27T18:58:02.096Z")),
        (" 2022-11-27T18:58:02Z ", Some("2022-11-27T18:58:02Z")),
        ("2022-11-27T18:58:02+01:00[Europe/Berlin]", Some("2022-11-27T17:58:02Z")),
        ("2022-11-27", Some("2022-11-27T00:00:00Z")),
        ("1669575482.0968924", Some("2022-11-27T18:58:02.0968924Z")),
        ("1669575482096892", Some("2022-11-27T18:58:02.096892Z")),
        ("1.669575482E9", Some("2022-11-27T18:58:02Z")),
        ("1.669575482627E9", Some("2022-11-27T18:58:02.627Z")),
        ("1.669575482627e+09", Some("2022-11-27T18:58:02.627Z")),
        ("0.1669575482E10", Some("2022-11-27T18:58:02Z")),
        ("1669575482096892501e-9", Some("2022-11-27T18:58:02.096892501Z")),
        ("16695754820968925.01e-7", Some("2022-11-27T18:58:02.096892501Z")),
        ("1669575482096892501999e-3", Some("2022-11-27T18:58:02.096892501Z")),
        ("0.00000000000001669575482096892501E23", Some("2022-11-27T18:58:02.096892501Z")),
        ("1669575482096892501e-0", Some("2022-11-27T18:58:02.096892501Z")),
        ("17e-1", None),
        ("1e-99", None),
        ("1e-", None),
        ("e9", None),
        ("1669575482\u{e9}e-1", None),
        ("1.6E9.1", None),
        ("-1.669575482E9", None),
        ("1.6-E9", None),
        ("1669575482096.25", Some("2022-11-27T18:58:02.09625Z")),
        ("2022-11-27 18:58:02 and more", None),
        ("Sun Nov 27 2022 18:58:02 GMT+0200 (Eastern European Standard Time)", Some("2022-11-27T16:58:02Z")),
        ("20221127185802", Some("2022-11-27T18:58:02Z")),
        ("-6795364578871345152", None),
        ("0", None),
        ("12.5", None),
        ("99999999999999999999999", None),
        ("1e400", None),
        ("1.2.3", None),
        ("", None),
        ("2022-11-2", None),
    ] {
        assert_eq!(parser.parse_value(text), expected.map(ns), "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_time_in_rfc_3339_is_read_as_jiff_reads_it(secs in 0i64..9_214_646_400, nanos in 0i32..1_000_000_000) {
        let t = Timestamp::new(secs, nanos).unwrap();
        let (time, end) = parser("UTC").parse(&t.to_string()).unwrap();
        proptest::prop_assert_eq!(i128::from(time), t.as_nanosecond());
        proptest::prop_assert_eq!(end, t.to_string().len());
    }

    #[test]
    fn any_local_time_is_read_as_jiff_reads_it(secs in 0i64..4_000_000_000) {
        let zone = TimeZone::get("America/New_York").unwrap();
        let local = zone.to_datetime(Timestamp::from_second(secs).unwrap());
        let expected = zone.to_ambiguous_timestamp(local).compatible().unwrap();
        let (time, _) = parser("America/New_York").parse(&local.to_string()).unwrap();
        proptest::prop_assert_eq!(i128::from(time), expected.as_nanosecond());
    }

    #[test]
    fn a_number_is_the_same_time_wherever_its_point_is(ns in 1_000_000_000_000_000_000i64..=4_102_444_799_999_999_999, at in 0usize..=19, more in -40isize..40) {
        let digits = ns.to_string();
        let (whole, fraction) = digits.split_at(at);
        // In seconds, whatever the exponent.
        let power = 10 - at as isize;
        let text = format!("{whole}.{fraction}e{power}");
        proptest::prop_assert_eq!(parser("UTC").parse_value(&text), Some(ns), "{}", text);
        let _time_or_none = parser("UTC").parse_value(&format!("{whole}.{fraction}e{more}"));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[0-9A-Za-z:/ .,+TZé-]{0,40}") {
        let parser = parser("Europe/Berlin");
        if let Some((_, end)) = parser.parse(&text) {
            proptest::prop_assert!(text.is_char_boundary(end));
        }
        parser.parse_value(&text);
    }
}
