//! Requests as clients send them, with their replies.

use super::*;
use crate::testing::{NOW, show};

fn bulk(body: &str, index: Option<&str>) -> Result<(String, String)> {
    let mut out = Decoded::default();
    let mut bulk = Bulk::new(&Params::default(), NOW);
    bulk.read(body.as_bytes(), index, NOW, &mut out)?;
    let mut reply = String::new();
    bulk.write_reply(3, &mut reply);
    let parsed: serde_json::Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(parsed["items"].as_array().unwrap().len(), bulk.items());
    assert_eq!(out.row(), bulk.items() as u64);
    Ok((show(&mut out), reply))
}

#[test]
fn documents_become_entries() {
    let body = concat!(
        "{\"create\":{\"_index\":\"logs-a\",\"_id\":null}}\n",
        "{\"@timestamp\":\"2024-06-27T00:00:07Z\",\"message\":\"refused\",\"log\":{\"level\":\"error\"}}\n",
        "{ \"index\" : { \"_id\" : \"7\", \"pipeline\":{\"x\":[1]} } }\r\n",
        "{\"message\":\"ok\"}\r\n\n",
        "{\"create\":{}}\n{\"message\":\"m\"}",
    );
    let (entries, reply) = bulk(body, Some("path")).unwrap();
    assert_eq!(
        entries,
        "1719446407000000000 Error refused {} @timestamp=2024-06-27T00:00:07Z message=refused log.level=error es_index=logs-a\n\
         NOW Unknown ok {} message=ok es_index=path es_id=7\n\
         NOW Unknown m {} message=m es_index=path\n"
    );
    assert_eq!(
        reply,
        "{\"took\":3,\"errors\":false,\"items\":[{\"create\":{\"_index\":\"logs-a\",\"status\":201}},{\"index\":{\"_index\":\"path\",\"status\":201}},{\"create\":{\"_index\":\"path\",\"status\":201}}]}"
    );
    assert_eq!(bulk("", None).unwrap().1, "{\"took\":3,\"errors\":false,\"items\":[]}");
}

#[test]
fn each_item_names_its_index_as_clients_for_java_need_it() {
    let item = |index: &str| format!("{{\"index\":{{\"_index\":{index}}}}}\n{{\"message\":\"m\"}}\n");
    let (a, b, none) = (item("\"a\""), item("\"b\\\"\""), item("null"));
    let body = [
        &a[..],
        &a,
        &b,
        &none,
        "{\"delete\":{\"_index\":\"d\"}}\n",
        "{\"create\":{\"_index\":\"c\"}}\n[]\n",
        &a,
    ];
    let indexes = |path| {
        let reply: serde_json::Value = serde_json::from_str(&bulk(&body.concat(), path).unwrap().1).unwrap();
        let items = reply["items"].as_array().unwrap().clone();
        let named =
            items.iter().map(|item| item.as_object().unwrap().values().next().unwrap()["_index"].clone());
        serde_json::Value::Array(named.collect()).to_string()
    };
    assert_eq!(indexes(None), r#"["a","a","b\"",null,"d","c","a"]"#);
    assert_eq!(indexes(Some("p")), r#"["a","a","b\"","p","d","c","a"]"#);
}

#[test]
fn what_stands_beside_an_action_is_passed_over() {
    let body = "{\"index\":{\"_index\":\"i\"},\"attempts\":0,\"x\":{\"create\":[1]}}\n{\"message\":\"m\"}\n";
    assert_eq!(bulk(body, None).unwrap().0, "NOW Unknown m {} message=m es_index=i\n");
}

#[test]
fn an_action_hides_no_field_and_ids_may_be_numbers() {
    let body = "\u{feff}{\"create\":{\"_index\":\"i\",\"_id\":5}}\n{\"message\":\"m\",\"es_index\":\"own\",\"es_id\":\"5\"}\n";
    assert_eq!(bulk(body, None).unwrap().0, "NOW Unknown m {} message=m es_index#1=own es_id=5 es_index=i\n");
}

#[test]
fn each_item_has_its_own_outcome() {
    let body = "{\"create\":{}}\n{\"a\":\"\\q\"}\n{\"delete\":{\"_id\":\"1\"}}\n{\"update\":{}}\n{\"doc\":{}}\n{\"index\":{}}\n{\"message\":\"m\"}\n";
    let (entries, reply) = bulk(body, None).unwrap();
    assert_eq!(entries, "NOW Unknown m {} message=m\n");
    let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["errors"], true);
    let items = &reply["items"];
    assert_eq!(items[0]["create"]["status"], 400);
    assert_eq!(items[0]["create"]["error"]["type"], "document_parsing_exception");
    assert!(items[0]["create"]["error"]["reason"].as_str().unwrap().contains("escape"));
    assert_eq!(items[1]["delete"]["error"]["type"], "action_request_validation_exception");
    assert_eq!(items[2]["update"]["status"], 400);
    assert_eq!(items[3]["index"]["status"], 201);
}

#[test]
fn a_short_reply_tells_what_came_of_it_and_not_of_each_item() {
    let short = |body: &str| {
        let (mut out, mut bulk) = (Decoded::default(), Bulk::new(&Params::default(), NOW));
        bulk.read(body.as_bytes(), None, NOW, &mut out).unwrap();
        let mut reply = String::new();
        bulk.write_short_reply(3, &mut reply);
        reply
    };
    let good = "{\"create\":{}}\n{\"log\":\"m\"}\n".repeat(30_000);
    assert_eq!(short(&good), "{\"took\":3,\"errors\":false,\"items\":[{\"create\":{\"status\":201}}]}");
    assert_eq!(short(""), "{\"took\":3,\"errors\":false,\"items\":[]}");
    let bad = "{\"index\":{}}\n[]\n".repeat(30_000);
    let statuses = |body: &str| {
        let reply: serde_json::Value = serde_json::from_str(&short(body)).unwrap();
        assert_eq!(reply["errors"], true);
        let items = reply["items"].as_array().unwrap().clone();
        let of = |verb: &str, status: u16| items.iter().filter(|item| item[verb]["status"] == status).count();
        (of("create", 201), of("index", 400), items.len())
    };
    assert_eq!(statuses(&bad), (0, 100, 100), "nothing was taken");
    assert_eq!(statuses(&(bad + &good)), (1, 100, 101));
}

#[test]
fn a_broken_action_is_an_error_as_a_whole() {
    for (body, detail) in [
        ("{\"create\":{}}\n", "an action without a document, at byte 14"),
        ("{\"create\":{}}\n{}\nhello\n{}\n", "no JSON object: expected value, at byte 17"),
        ("{\"upsert\":{}}\n{}\n", "and not \"upsert\", at byte 0"),
        ("{}\n{}\n", "empty object"),
        ("{\"create\":{},\"index\":{}}\n{}\n", "more than one action"),
        ("{\"create\":{},\"x\":}\n{}\n", "no JSON object"),
        ("{\"create\":1}\n{}\n", "no JSON object"),
        ("{\"create\":{}} x\n{}\n", "no JSON object"),
    ] {
        let error = bulk(body, None).unwrap_err().to_string();
        assert!(
            error.starts_with("not an Elasticsearch bulk request: ") && error.contains(detail),
            "{error}"
        );
    }
}

#[test]
fn millions_of_bad_items_have_a_bounded_reply() {
    let (_, reply) = bulk(&"{\"index\":{}}\nx\n".repeat(3_000), Some("path")).unwrap();
    assert_eq!(reply.matches("begins with something else").count(), REASONS_KEPT);
    assert_eq!(reply.matches(OTHER_REASON).count(), 3_000 - REASONS_KEPT);
    assert_eq!(reply.matches("\"_index\":\"path\"").count(), 3_000);
}

/// A path is sent once, and its name is in each item of the reply, also where no entry has it.
#[test]
fn the_name_of_an_index_has_a_limit() {
    let (longest, longer) = ("\u{e9}".repeat(127) + "e", "\u{e9}".repeat(128));
    let good = "{\"create\":{}}\n{\"message\":\"m\"}\n";
    assert!(
        bulk(good, Some(&longest))
            .unwrap()
            .1
            .contains(&format!("{{\"_index\":\"{longest}\",\"status\":201}}"))
    );
    let error = bulk(good, Some(&longer)).unwrap_err();
    assert!(matches!(error, Error::Parameter { .. }), "{error:?}");
    assert!(error.to_string().contains("256 bytes, and the name of an index at most 255"), "{error}");
    // Of an action it is its item's fault.
    let named = |index: &str| format!("{{\"index\":{{\"_index\":\"{index}\"}}}}\n{{\"message\":\"m\"}}\n");
    let (entries, reply) = bulk(&(named(&longer) + &named(&longest)), Some("p")).unwrap();
    assert_eq!(entries, format!("NOW Unknown m {{}} message=m es_index={longest}\n"));
    let reply: serde_json::Value = serde_json::from_str(&reply).unwrap();
    let [refused, taken] = [0, 1].map(|i| &reply["items"][i]["index"]);
    assert_eq!((&refused["status"], &taken["status"]), (&400.into(), &201.into()));
    assert!(refused["error"]["reason"].as_str().unwrap().contains("at most 255"), "{refused}");
    assert_eq!(refused["_index"], "\u{e9}".repeat(127), "as much as it may have");
}

#[test]
fn the_names_in_a_reply_have_a_limit_together() {
    let mut params = Params::default();
    params.set("ignore_fields", "es_index").unwrap();
    let limits = crate::Limits { max_entries_bytes: 64 << 10, ..crate::Limits::default() };
    let (mut out, mut bulk) = (Decoded::new(limits), Bulk::new(&params, NOW));
    let name = "\u{1}".repeat(MAX_INDEX_BYTES);
    let mut read =
        |items: usize, item: &str| bulk.read(item.repeat(items).as_bytes(), Some(&name), NOW, &mut out);
    for item in ["{\"create\":{}}\n{\"m\":1}\n", "{\"delete\":{}}\n"] {
        assert_eq!(read(40, item), Ok(()));
        let error = read(50, item).unwrap_err();
        assert!(matches!(error, Error::Limit { name: "max_entries_bytes", .. }), "{error}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    #[test]
    fn no_bytes_make_it_panic(bytes: Vec<u8>, text in "(\\{\"(create|index|delete|update)\":\\{[_indexd\":,]{0,8}\\}\\}\n(\\{\"a\":1\\}|[{}\"a:]{0,6})\n?){0,4}") {
        for body in [&bytes[..], text.as_bytes()] {
            let mut out = Decoded::default();
            let mut bulk = Bulk::new(&Params::default(), NOW);
            if bulk.read(body, Some("i"), NOW, &mut out).is_ok() {
                let mut reply = String::new();
                bulk.write_reply(0, &mut reply);
                serde_json::from_str::<serde_json::Value>(&reply).unwrap();
            }
        }
    }
}

#[test]
fn a_document_alone_becomes_an_entry() {
    let mut bulk = Bulk::new(&Params::default(), NOW);
    let mut read = |body: &str, index: &str, id: &str| {
        let mut out = Decoded::default();
        let outcome = bulk.read_document(body.as_bytes(), index, id, NOW, &mut out);
        (outcome, out.row(), show(&mut out))
    };
    let (outcome, rows, entries) = read("\u{feff}{\n  \"message\": \"one\",\n  \"n\": 1\n}\n", "logs", "7");
    assert!(matches!(outcome, Ok(Ok(()))));
    assert_eq!((rows, entries.as_str()), (1, "NOW Unknown one {} message=one n=1 es_index=logs es_id=7\n"));
    assert_eq!(read("{\"message\":\"m\"}", "i", "").2, "NOW Unknown m {} message=m es_index=i\n");
    for body in
        ["", "[]", "{\"message\":", "{\"message\":\"m\"} {}", "{\"message\":\"m\"}\n{\"message\":\"m\"}"]
    {
        let (outcome, rows, entries) = read(body, "i", "");
        assert!(matches!(outcome, Ok(Err(_))), "{body}");
        assert_eq!((rows, entries.as_str()), (1, ""), "rejected, and counted");
    }
    let too_long = "x".repeat(MAX_INDEX_BYTES + 1);
    assert!(matches!(read("{\"message\":\"m\"}", &too_long, "").0, Err(Error::Parameter { .. })));
}
