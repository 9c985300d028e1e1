//! Paths as clients write them: who joins a URL that ends with a slash and a path that begins with one sends two, and means one,
//! as VictoriaLogs takes it.

use axum::http::Uri;
use axum::http::uri::PathAndQuery;

/// The same with single slashes; `None` if they are.
pub(crate) fn with_single_slashes(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if !path.contains("//") {
        return None;
    }
    let mut single = String::with_capacity(uri.path_and_query().map_or(0, |all| all.as_str().len()));
    for c in path.chars() {
        if c != '/' || !single.ends_with('/') {
            single.push(c);
        }
    }
    if let Some(query) = uri.query() {
        single.push('?');
        single.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(PathAndQuery::try_from(single).ok()?);
    Uri::from_parts(parts).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_of_a_path_are_single() {
        for (written, meant) in [
            ("//insert/jsonline?a=b//c", Some("/insert/jsonline?a=b//c")),
            ("/insert///loki//api/v1/push//", Some("/insert/loki/api/v1/push/")),
            ("http://localhost//v1/logs", Some("http://localhost/v1/logs")),
            ("//", Some("/")),
            ("/insert/jsonline?a=//", None),
            ("*", None),
        ] {
            let uri = with_single_slashes(&written.parse().unwrap());
            assert_eq!(uri.map(|uri| uri.to_string()), meant.map(str::to_owned), "{written}");
        }
    }
}
