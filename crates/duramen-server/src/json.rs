//! Answers that are JSON, and objects in requests.

use crate::error::{ApiError, ApiResult};
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// What all of them say they are.
pub(crate) const JSON: &str = "application/json";

/// A value as an answer.
pub(crate) fn as_json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_string(value) {
        Ok(text) => written(status, text),
        Err(e) => {
            let told = format!("the answer cannot be written: {e}\n");
            (StatusCode::INTERNAL_SERVER_ERROR, told).into_response()
        }
    }
}

/// A value as the answer to what went well.
pub(crate) fn ok(value: &impl Serialize) -> Response {
    as_json(StatusCode::OK, value)
}

/// A value's text.
///
/// # Errors
/// 503 if it has none.
pub(crate) fn text_of(value: &impl Serialize) -> ApiResult<Vec<u8>> {
    serde_json::to_vec(value).map_err(|e| ApiError::unavailable(format!("the answer cannot be written: {e}")))
}

/// JSON that is written already.
pub(crate) fn written(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// The members of an object, in order. A map would keep only the last of one name: of two conditions, one would be lost without
/// a word.
pub(crate) struct Members(pub Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(InOrder)
    }
}

struct InOrder;

impl<'de> Visitor<'de> for InOrder {
    type Value = Members;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Members, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = object.next_entry()? {
            members.push(member);
        }
        Ok(Members(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_there_twice_is_twice_a_member() {
        let read = |text: &str| serde_json::from_str::<Members>(text).map(|Members(members)| members);
        let members = read(r#"{"b":"1","a":["x"],"b":"2"}"#).unwrap();
        let names: Vec<_> = members.iter().map(|(name, value)| (&**name, value.to_string())).collect();
        assert_eq!(names, [("b", "\"1\"".into()), ("a", "[\"x\"]".into()), ("b", "\"2\"".into())]);
        for wrong in ["[]", "1", "{", r#"{"a":1}x"#] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
