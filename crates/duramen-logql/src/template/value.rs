//! Values inside templates: texts, numbers, truth values.

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Text(String),
    Int(i64),
    Float(f64),
    Bool(bool),
}

impl Value {
    /// As it is shown.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Int(n) => n.to_string(),
            Self::Float(x) => float_text(*x),
            Self::Bool(b) => b.to_string(),
        }
    }

    /// Whether `if` holds: it is not empty, zero or false.
    pub fn is_true(&self) -> bool {
        match self {
            Self::Text(text) => !text.is_empty(),
            Self::Int(n) => *n != 0,
            Self::Float(x) => *x != 0.0,
            Self::Bool(b) => *b,
        }
    }

    /// As an integer; what is no number is 0, as the functions of Go's templates have it.
    pub fn int(&self) -> i64 {
        match self {
            Self::Int(n) => *n,
            Self::Float(x) => *x as i64,
            Self::Bool(b) => i64::from(*b),
            Self::Text(text) => {
                let text = text.trim();
                text.parse().unwrap_or_else(|_| text.parse::<f64>().map_or(0, |x| x as i64))
            }
        }
    }

    /// As a number; what is none is 0.
    pub fn float(&self) -> f64 {
        match self {
            Self::Int(n) => *n as f64,
            Self::Float(x) => *x,
            Self::Bool(b) => f64::from(u8::from(*b)),
            Self::Text(text) => text.trim().parse().unwrap_or(0.0),
        }
    }

    pub fn is_number(&self) -> bool {
        matches!(self, Self::Int(_) | Self::Float(_))
    }
}

/// A number as Go prints one: shortest digits, with an exponent where that is far from the point.
fn float_text(x: f64) -> String {
    if x.is_infinite() {
        return if x > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    if x != 0.0 && x.is_finite() && !(1e-4..1e6).contains(&x.abs()) {
        return gos_exponent(format!("{x:e}"));
    }
    format!("{x}")
}

/// A number with an exponent as Go writes one: with a sign, and of two digits at least.
pub(super) fn gos_exponent(text: String) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}e{sign}{exponent:0>2}")
}
