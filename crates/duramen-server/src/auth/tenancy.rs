//! Headers by which clients of others name a tenant: Loki's `X-Scope-OrgID`, VictoriaLogs' `AccountID` and `ProjectID`.
//!
//! Here the token says which tenant it is. A header that says the same, or nothing, changes nothing; one that names
//! another is refused, so that nobody takes one tenant's logs for another's.
//!
//! | header | names |
//! |---|---|
//! | `X-Scope-OrgID: shop` | the tenant `shop` |
//! | `AccountID: 12`, `ProjectID: 0` or none | the tenant `12` |
//! | `AccountID: 12`, `ProjectID: 3` | the tenant `12-3` |
//! | `AccountID: 0`, `ProjectID: 0`; an empty one | nothing: clients send it unasked |

use crate::error::{ApiError, ApiResult};
use axum::http::{HeaderMap, StatusCode};

/// Checks that the headers name no other tenant than this; `None` is the store's own, which has no name.
///
/// # Errors
/// 403 if they do, 400 if one makes no sense.
pub(super) fn agree(headers: &HeaderMap, tenant: Option<&str>) -> ApiResult<()> {
    for (header, named) in [("X-Scope-OrgID", scope(headers)?), ("AccountID", account(headers)?)] {
        let Some(named) = named.filter(|named| Some(named.as_str()) != tenant) else { continue };
        let named: String = named.chars().take(super::MAX_NAME_BYTES).collect();
        let token = match tenant {
            Some(tenant) => format!("the token is for `{tenant}`"),
            None => "the request is for the store's own logs".to_owned(),
        };
        let told = format!(
            "{header} names the tenant `{named}`, but {token}: leave the header out, or use a token made with --tenant"
        );
        return Err(ApiError::new(StatusCode::FORBIDDEN, told));
    }
    Ok(())
}

fn scope(headers: &HeaderMap) -> ApiResult<Option<String>> {
    Ok(text(headers, "X-Scope-OrgID")?.map(str::to_owned))
}

fn account(headers: &HeaderMap) -> ApiResult<Option<String>> {
    let number = |name| -> ApiResult<u32> {
        let Some(text) = text(headers, name)? else { return Ok(0) };
        text.parse().map_err(|_| ApiError::bad_request(format!("{name} is not a number of 32 bits")))
    };
    Ok(match (number("AccountID")?, number("ProjectID")?) {
        (0, 0) => None,
        (account, 0) => Some(account.to_string()),
        (account, project) => Some(format!("{account}-{project}")),
    })
}

/// A header's value, if it is there and says something.
fn text<'a>(headers: &'a HeaderMap, name: &str) -> ApiResult<Option<&'a str>> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    let text = value.to_str().map_err(|_| ApiError::bad_request(format!("{name} is not text in ASCII")))?;
    Ok(Some(text.trim()).filter(|text| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::{HeaderName, HeaderValue};

    fn told(headers: &[(&'static str, &str)], tenant: Option<&str>) -> u16 {
        let named = headers.iter().map(|(name, value)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        });
        agree(&named.collect(), tenant).map_or_else(|e| e.status.as_u16(), |()| 200)
    }

    #[test]
    fn the_same_or_nothing() {
        for headers in [&[][..], &[("X-Scope-OrgID", " ")], &[("AccountID", "0"), ("ProjectID", "0")]] {
            assert_eq!((told(headers, None), told(headers, Some("shop"))), (200, 200), "{headers:?}");
        }
        assert_eq!(told(&[("x-scope-orgid", "shop")], Some("shop")), 200);
        assert_eq!(told(&[("AccountID", "12")], Some("12")), 200);
        assert_eq!(told(&[("AccountID", "12"), ("ProjectID", "3")], Some("12-3")), 200);
        assert_eq!(told(&[("ProjectID", "3"), ("X-Scope-OrgID", "0-3")], Some("0-3")), 200);
    }

    #[test]
    fn another_is_refused() {
        for headers in [
            &[("X-Scope-OrgID", "shop")][..],
            &[("X-Scope-OrgID", "bank|shop")],
            &[("AccountID", "12")],
            &[("X-Scope-OrgID", "bank"), ("AccountID", "12")],
        ] {
            assert_eq!((told(headers, None), told(headers, Some("bank"))), (403, 403), "{headers:?}");
        }
        assert_eq!(told(&[("AccountID", "x")], None), 400);
        assert_eq!(told(&[("AccountID", "-1")], None), 400);
        assert_eq!(told(&[("X-Scope-OrgID", "\u{e9}")], None), 400);
    }
}
