//! The OpenAPI document, at `/api/openapi.json`: made of a table that tests hold to the routes.

mod operations;

use crate::app::Shared;
use crate::json::ok;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use operations::{ELASTIC, FORM, Kind, OPERATIONS, Operation};
use serde_json::{Map, Value, json};

/// Open to all: it says what can be asked, and nothing of the store.
pub(crate) fn routes() -> Router<Shared> {
    Router::new().route("/api/openapi.json", get(document))
}

async fn document() -> Response {
    ok(&text())
}

fn text() -> Value {
    let mut paths = Map::new();
    for operation in OPERATIONS {
        paths.insert(operation.path.to_owned(), operation.item());
    }
    for operation in ELASTIC {
        paths.insert(operation.path.to_owned(), operation.item());
        paths.insert(format!("/insert/elasticsearch{}", operation.path), operation.item());
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Duramen",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The durable log store. Without any token, it is open to this machine only, and nothing is needed.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearer": { "type": "http", "scheme": "bearer" },
                "basic": { "type": "http", "scheme": "basic", "description": "The token is the password." },
            },
            "schemas": {
                "Error": {
                    "type": "object",
                    "properties": {
                        "status": { "type": "string" },
                        "error": { "type": "string", "description": "What was wrong, and what to do" },
                        "code": { "type": "integer" },
                    },
                },
            },
        },
    })
}

impl Operation {
    /// What the document says of a path.
    fn item(&self) -> Value {
        self.methods
            .iter()
            .map(|method| ((*method).to_owned(), self.described(method)))
            .collect::<Map<_, _>>()
            .into()
    }

    fn described(&self, method: &str) -> Value {
        let in_path = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path = in_path.map(
            |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }),
        );
        // A form holds what the URL could, so that nothing is required of either alone.
        let by_form = method == "post" && self.takes == FORM;
        let in_query = self.params.iter().map(|(name, kind, description)| {
            let kind_name = if matches!(kind, Kind::Number) { "integer" } else { "string" };
            let required = matches!(kind, Kind::Needed) && !by_form;
            json!({ "name": name, "in": "query", "required": required, "description": description, "schema": { "type": kind_name } })
        });
        let parameters: Vec<_> = in_path.chain(in_query).collect();
        let mut described = json!({
            "summary": self.summary,
            "parameters": parameters,
            "responses": {
                self.success.to_string(): { "description": "All is well" },
                "default": {
                    "description": "What was wrong",
                    "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Error" } } },
                },
            },
        });
        if !self.scope.is_empty() {
            described["security"] = json!([{ "bearer": [self.scope] }, { "basic": [self.scope] }, {}]);
        }
        if let (Some(content_type), true) = (self.takes, method != "get") {
            let schema = json!({ "description": "See docs/server.md and docs/clients" });
            described["requestBody"] = json!({ "content": { content_type: { "schema": schema } } });
        }
        described
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};

    /// The paths that the sources give to `.route(…)`.
    fn routed(dir: &std::path::Path, found: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                routed(&path, found);
            } else {
                let source = std::fs::read_to_string(&path).unwrap();
                let quoted = source.split(".route(").skip(1).filter_map(|rest| {
                    let rest = rest.trim_start().trim_start_matches("&at(");
                    rest.strip_prefix('"')?.split('"').next()
                });
                found.extend(quoted.filter(|path| path.starts_with('/')).map(str::to_owned));
            }
        }
    }

    #[test]
    fn every_route_is_described_and_nothing_else() {
        let mut found = BTreeSet::new();
        routed(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
        assert!(found.len() > 50, "{found:?}");
        let described: BTreeSet<_> =
            OPERATIONS.iter().chain(ELASTIC).map(|operation| operation.path.to_owned()).collect();
        let missing: Vec<_> = found.difference(&described).collect();
        let extra: Vec<_> = described.difference(&found).collect();
        assert!(missing.is_empty() && extra.is_empty(), "not described: {missing:?}; not there: {extra:?}");
        assert_eq!(described.len(), OPERATIONS.len() + ELASTIC.len(), "each once");
    }

    #[test]
    fn the_page_for_people_tells_of_every_route_and_nothing_else() {
        let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/api.md");
        let page = std::fs::read_to_string(page).unwrap();
        let mut told = BTreeMap::new();
        for section in page.split("\n### ").skip(1) {
            let (heading, text) = section.split_once('\n').unwrap();
            let text = text.split("\n## ").next().unwrap();
            for route in heading.split('`').skip(1).step_by(2) {
                let (methods, path) = route.rsplit_once(' ').unwrap();
                let methods: BTreeSet<_> = methods.split(", ").map(str::to_lowercase).collect();
                assert!(told.insert(path, (methods, text)).is_none(), "{path} twice");
            }
        }
        for operation in OPERATIONS.iter().chain(ELASTIC) {
            let path = operation.path;
            let (methods, text) = told.remove(path).unwrap_or_else(|| panic!("nothing is told of {path}"));
            let wanted: BTreeSet<_> = operation.methods.iter().map(|method| (*method).to_owned()).collect();
            assert_eq!(methods, wanted, "{path}");
            let scope =
                if operation.scope.is_empty() { "none".into() } else { format!("`{}`", operation.scope) };
            let text = text.replace('\n', " ");
            assert!(text.contains(&format!("Scope: {scope}")), "{path}: scope");
            let success = format!("nswers {}", operation.success);
            assert!(text.contains(&success), "{path}: {success}");
            assert!(text.contains("curl "), "{path}: an example");
            for (name, ..) in operation.params {
                assert!(text.contains(&format!("`{name}")), "{path}: the parameter {name}");
            }
        }
        assert!(told.is_empty(), "not there: {:?}", told.keys());
    }
}
