use super::*;

#[test]
fn computed_numbers_have_fifteen_digits() {
    let slowly = |x: f64| format_float(format!("{x:.14e}").parse().unwrap_or(x));
    for x in [
        0.1 + 0.2,
        1e22,
        1.0 / 3.0,
        2343098.957999981,
        1e-7,
        -0.0,
        0.00012345678901234567,
        5e15,
        123456789012345.67,
    ] {
        assert_eq!(format_rounded(x), slowly(x), "{x}");
        assert_eq!(format_rounded(-x), slowly(-x), "{x}");
    }
    assert_eq!([f64::INFINITY, f64::NEG_INFINITY, f64::NAN].map(format_rounded), ["Inf", "-Inf", "NaN"]);
    assert_eq!(format_rounded(f64::MAX).parse(), Ok(f64::MAX));
}

#[test]
fn computed_numbers_are_rounded_as_their_texts_are() {
    let mut quick = 0;
    let mut random = 1u64;
    for i in 0..200_000u64 {
        random = random.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(i).rotate_left(31);
        let (a, b) = ((random >> 40) as f64, (random % 9973 + 1) as f64);
        for x in [a / b, a / 1024.0, a / 1000.0, b / a.max(1.0), -a * 1e-9, (a / b).ln(), a * 1e7 / b] {
            let slowly = Number::parse(&format_rounded(x));
            quick += u32::from(rounded(x).is_some());
            let x = Number::from_f64(x);
            assert_eq!(format!("{:?}", Some(x.as_written())), format!("{slowly:?}"), "{x:?}");
        }
    }
    assert!(quick > 900_000, "{quick}");
    for x in
        [0.1 + 0.2, 1e-6, 1e14 - 0.1, 999_999_999_999_999.9, 0.5, 1e300, f64::INFINITY, f64::MIN_POSITIVE]
    {
        for x in [x, -x] {
            let slowly = Number::parse(&format_rounded(x));
            assert_eq!(format!("{:?}", Some(Number::Float(x).as_written())), format!("{slowly:?}"));
        }
    }
}

#[test]
fn reads_what_logsql_writes() {
    for (text, value) in [
        ("0", 0.0),
        ("-12", -12.0),
        ("0012", 12.0),
        ("4.5e3", 4500.0),
        ("1_234_567", 1_234_567.0),
        ("1.234_5", 1.2345),
        ("5KB", 5000.0),
        ("1.5KiB", 1536.0),
        ("10ms", 1e7),
        ("1.5s", 1.5e9),
        ("1h33m", 93.0 * 60e9),
        ("1MiB500KiB200B", 1_560_776.0),
        ("-1.5K2B", -1502.0),
        ("-1h", -3600e9),
        ("2µs", 2000.0),
        (".5", 0.5),
        ("Inf", f64::INFINITY),
        ("-inf", f64::NEG_INFINITY),
    ] {
        assert_eq!(Number::parse(text).map(Number::as_f64), Some(value), "{text}");
    }
    for text in [
        "", "-", ".", "abc", "1.2.3.4", "5KBx", "1h33", "1h5K", "5K1h", "5K3", "nan", "--1", "- 1", "1 ",
        "5mm",
    ] {
        assert_eq!(Number::parse(text), None, "{text:?}");
    }
}

#[test]
fn queries_may_say_numbers_in_other_bases() {
    for (text, value) in [("0xff", 255), ("-0xF_F", -255), ("0o17", 15), ("0b101", 5), ("1KiB", 1024)] {
        assert_eq!(Number::literal(text), Some(Number::Int(value)), "{text}");
    }
    for text in ["0x", "0x-1", "0x+1", "0x_1", "0b2", "0xffffffffffffffffff", "x"] {
        assert_eq!(Number::literal(text), None, "{text}");
    }
}

#[test]
fn big_ids_compare_exactly() {
    let a = Number::parse("9007199254740993").unwrap();
    let b = Number::parse("9007199254740992").unwrap();
    assert!(a > b);
    assert!(Number::Int(3) < Number::Float(3.5) && Number::Int(-3) > Number::Float(-3.5));
    assert!(Number::Int(i64::MAX) < Number::Float(1e19));
}

proptest::proptest! {
    #[test]
    fn decimal_fractions_of_columns_are_what_their_texts_read_as(
        n in proptest::prop_oneof![proptest::prelude::any::<i64>(), -100_000i64..100_000], most in 0u8..=18, least in 0u8..=18,
    ) {
        let Some(scale) = Scale::new(most, least) else { return Ok(()) };
        let text = IntText::default().format_decimal(n, scale).to_owned();
        let (read, told) = (Number::parse(&text), Number::of_decimal(n, scale));
        proptest::prop_assert_eq!(format!("{read:?}"), format!("{:?}", Some(told)), "{}", text);
    }
}

#[test]
fn only_digits_with_a_point_between_them_are_read_the_quick_way() {
    assert_eq!(plain_decimal("9.017"), Some(9.017));
    assert_eq!(plain_decimal("-00.5"), Some(-0.5));
    assert_eq!(plain_decimal("1234567890123.45"), Some(1_234_567_890_123.45));
    for text in
        ["", "-", ".", "1.", ".5", "-.5", "1.5.2", "1-.5", "12345678901234.56", "1.5e3", "1_0.5", "1.5ms"]
    {
        assert_eq!(plain_decimal(text), None, "{text}");
    }
}

proptest::proptest! {
    #[test]
    fn any_decimals_are_read_as_floats_are(text in "-?[0-9]{1,9}\\.[0-9]{1,9}") {
        let expected = text.parse::<f64>().unwrap();
        proptest::prop_assert_eq!(Number::parse(&text).map(Number::as_f64), Some(expected + 0.0), "{}", text);
        proptest::prop_assert_eq!(plain_decimal(&text).is_some(), text.trim_start_matches('-').len() <= 16, "{}", text);
    }

    #[test]
    fn no_text_makes_it_panic(text in "[-+0-9._eKMGTiBnuµmshdwy]{0,12}|.{0,8}") {
        if let Some(n) = Number::parse(&text) {
            let again = Number::parse(&n.to_string());
            proptest::prop_assert_eq!(again, Some(n));
        }
        let _ = parse_duration_ns(&text);
    }
}
