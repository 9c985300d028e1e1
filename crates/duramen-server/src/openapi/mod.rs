//! The OpenAPI document, at `/api/openapi.json`: made of a table that tests hold to the routes.

mod operations;

use crate::app::Shared;
use crate::json::ok;
use axum::Router;
use axum::response::Response;
use axum::routing::get;
use operations::{ELASTIC, Kind, OPERATIONS, Operation};
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
                "ElasticError": {
                    "type": "object",
                    "properties": {
                        "error": { "type": ["object", "string"], "description": "A type and a reason; or what was wrong" },
                        "status": { "type": ["integer", "string"] },
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

    /// What a refusal in JSON looks like: for Elasticsearch's clients, as theirs.
    fn refusal(&self) -> Value {
        let is_elastic = ["/_bulk", "/_doc", "/_create/"].iter().any(|part| self.path.contains(part));
        let schema = if is_elastic { "ElasticError" } else { "Error" };
        json!({ "$ref": format!("#/components/schemas/{schema}") })
    }

    fn described(&self, method: &str) -> Value {
        let in_path = self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path = in_path.map(
            |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } }),
        );
        // A form or an object holds what the URL could, so that nothing is required of either alone.
        let by_body = method != "get" && self.takes.is_some() && self.scope != "ingest";
        let in_query = self.params.iter().map(|(name, kind, description)| {
            let required = matches!(kind, Kind::Needed) && !by_body;
            json!({ "name": name, "in": "query", "required": required, "description": description, "schema": kind.schema(by_body) })
        });
        let parameters: Vec<_> = in_path.chain(in_query).collect();
        let mut described = json!({
            "summary": self.summary,
            "parameters": parameters,
            "responses": {
                self.success.to_string(): { "description": "All is well", "content": contents(self.answers, &json!({})) },
                "default": { "description": "What was wrong", "content": contents(self.refusals, &self.refusal()) },
            },
        });
        if !self.scope.is_empty() {
            described["security"] = json!([{ "bearer": [self.scope] }, { "basic": [self.scope] }, {}]);
        }
        if let (Some(content_type), true) = (self.takes, method != "get") {
            let mut schema = json!({ "description": "See docs/server.md and docs/clients" });
            if by_body {
                let is_form = content_type == operations::FORM;
                let schema_of = |kind: &Kind| if is_form { kind.schema(true) } else { Kind::member() };
                let members = self.params.iter().map(|(name, kind, _)| ((*name).to_owned(), schema_of(kind)));
                schema["type"] = json!("object");
                schema["properties"] = members.collect::<Map<_, _>>().into();
            }
            described["requestBody"] = json!({ "content": { content_type: { "schema": schema } } });
        }
        described
    }
}

impl Kind {
    /// As text; `or_elsewhere` if another part of the request may have it, too.
    fn schema(self, or_elsewhere: bool) -> Value {
        match self {
            // An empty value is as none.
            Self::Number => json!({ "anyOf": [{ "type": "integer" }, { "const": "" }] }),
            Self::Needed if !or_elsewhere => json!({ "type": "string", "minLength": 1 }),
            Self::Text | Self::Needed => json!({ "type": "string" }),
        }
    }

    /// As a member of an object, where text need not be in quotes.
    fn member() -> Value {
        json!({ "type": ["string", "number", "boolean", "null"] })
    }
}

/// Bodies of these types; what those in JSON look like.
fn contents(types: &[&str], json: &Value) -> Value {
    let schema = |of: &str| if of == "application/json" { json.clone() } else { json!({}) };
    types.iter().map(|of| ((*of).to_owned(), json!({ "schema": schema(of) }))).collect::<Map<_, _>>().into()
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
        let direct = crate::insert::Direct::paths();
        found
            .extend(direct.map(|path| path.strip_prefix("/insert/elasticsearch").unwrap_or(path).to_owned()));
        let described: BTreeSet<_> =
            OPERATIONS.iter().chain(ELASTIC).map(|operation| operation.path.to_owned()).collect();
        let missing: Vec<_> = found.difference(&described).collect();
        let extra: Vec<_> = described.difference(&found).collect();
        assert!(missing.is_empty() && extra.is_empty(), "not described: {missing:?}; not there: {extra:?}");
        assert_eq!(described.len(), OPERATIONS.len() + ELASTIC.len(), "each once");
    }

    /// Those over HTTP/1: a call of gRPC ends with its stream.
    #[test]
    fn what_brings_logs_outlives_its_client_and_nothing_else() {
        use crate::insert::{Direct, brings_logs};
        use axum::http::Method;

        for operation in OPERATIONS.iter().chain(ELASTIC) {
            let path = operation.path;
            for name in operation.methods {
                let method: Method = name.to_uppercase().parse().unwrap();
                let outlives = Direct::of(&method, path).is_some() || brings_logs(&method, path);
                let takes_logs = operation.scope == "ingest"
                    && ["post", "put"].contains(name)
                    && operation.takes.is_some_and(|kind| kind != "application/grpc");
                assert_eq!(outlives, takes_logs, "{method} {path}");
            }
        }
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
