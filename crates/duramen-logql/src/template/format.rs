//! `printf "%-10s %05.2f" …`: the verbs `%s %v %q %d %f %e %g %x %X %t %%`, with flags, width and precision.

use super::value::{Value, gos_exponent};

/// The widest that a value is made.
const MAX_WIDTH: usize = 1_000;

/// The text, with the values in the places of the verbs. As in Go, what does not fit is shown, not refused.
pub(super) fn printf(format: &str, values: &[Value]) -> String {
    let mut out = String::new();
    let mut values = values.iter();
    let mut rest = format;
    while let Some((before, after)) = rest.split_once('%') {
        out.push_str(before);
        let spec_len = after.find(|c: char| !matches!(c, '-' | '+' | '0' | ' ' | '#' | '.' | '1'..='9'));
        let Some(spec_len) = spec_len else {
            out.push_str("%!(NOVERB)");
            return out;
        };
        let (spec, tail) = after.split_at(spec_len);
        let verb = tail.chars().next().unwrap_or('%');
        rest = &tail[verb.len_utf8()..];
        if verb == '%' {
            out.push('%');
            continue;
        }
        match values.next() {
            Some(value) => out.push_str(&one(spec, verb, value)),
            None => out.push_str(&format!("%!{verb}(MISSING)")),
        }
    }
    out.push_str(rest);
    for value in values {
        out.push_str(&format!("%!(EXTRA {})", value.text()));
    }
    out
}

fn one(spec: &str, verb: char, value: &Value) -> String {
    let flags_len = spec.find(|c: char| !matches!(c, '-' | '+' | '0' | ' ' | '#')).unwrap_or(spec.len());
    let (flags, sizes) = spec.split_at(flags_len);
    let (width, precision) = sizes.split_once('.').map_or((sizes, None), |(w, p)| (w, Some(p)));
    let width = width.parse().unwrap_or(0usize).min(MAX_WIDTH);
    let precision = precision.map(|p| p.parse().unwrap_or(0usize).min(MAX_WIDTH));
    let signed =
        |text: String| if flags.contains('+') && !text.starts_with('-') { format!("+{text}") } else { text };
    let mut number = true;
    let text = match verb {
        'd' => signed(value.int().to_string()),
        'f' => signed(format!("{:.*}", precision.unwrap_or(6), value.float())),
        'e' => signed(gos_exponent(format!("{:.*e}", precision.unwrap_or(6), value.float()))),
        'g' => signed(Value::Float(value.float()).text()),
        'x' | 'X' => {
            let text = match value {
                Value::Text(text) => text.bytes().map(|b| format!("{b:02x}")).collect(),
                other => format!("{:x}", other.int()),
            };
            if verb == 'X' { text.to_uppercase() } else { text }
        }
        't' => value.is_true().to_string(),
        's' | 'v' | 'q' => {
            number = false;
            let text = value.text();
            let text = match precision {
                Some(precision) => text.chars().take(precision).collect(),
                None => text,
            };
            if verb == 'q' { crate::lexer::quote(&text) } else { text }
        }
        _ => return format!("%!{verb}({})", value.text()),
    };
    let missing = width.saturating_sub(text.chars().count());
    if flags.contains('-') {
        format!("{text}{}", " ".repeat(missing))
    } else if flags.contains('0') && number {
        let digits = usize::from(text.starts_with(['-', '+']));
        format!("{}{}{}", &text[..digits], "0".repeat(missing), &text[digits..])
    } else {
        format!("{}{text}", " ".repeat(missing))
    }
}
