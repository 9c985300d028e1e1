//! MessagePack as JSON.

use super::{MAX_DEPTH, event_time};
use crate::msgpack::{Cursor, Item};
use duramen_formats::text_of;

/// Writes the value at the cursor as JSON. `None` if it is nested over [`MAX_DEPTH`] deep, or not whole.
pub(super) fn push_json(cursor: &mut Cursor<'_>, json: &mut Vec<u8>) -> Option<()> {
    push(cursor, json, MAX_DEPTH)
}

fn push(cursor: &mut Cursor<'_>, json: &mut Vec<u8>, depth: usize) -> Option<()> {
    if depth == 0 {
        return None;
    }
    match cursor.next().ok()? {
        Item::Nil => json.extend_from_slice(b"null"),
        Item::Bool(b) => json.extend_from_slice(if b { b"true" } else { b"false" }),
        Item::Int(n) => json.extend_from_slice(n.to_string().as_bytes()),
        Item::Uint(n) => json.extend_from_slice(n.to_string().as_bytes()),
        Item::Float(x) if x.is_finite() => json.extend_from_slice(format!("{x:?}").as_bytes()),
        Item::Float(x) => push_text(x.to_string().as_bytes(), json),
        Item::Bytes(text) => push_text(text, json),
        Item::Ext(_, bytes) => match event_time(bytes) {
            Some(ns) => json.extend_from_slice(ns.to_string().as_bytes()),
            None => push_text(bytes, json),
        },
        Item::Array(n) => {
            json.push(b'[');
            for i in 0..n {
                if i > 0 {
                    json.push(b',');
                }
                push(cursor, json, depth - 1)?;
            }
            json.push(b']');
        }
        Item::Map(n) => {
            json.push(b'{');
            for i in 0..n {
                if i > 0 {
                    json.push(b',');
                }
                match cursor.next().ok()? {
                    Item::Bytes(key) => push_text(key, json),
                    Item::Int(n) => push_text(n.to_string().as_bytes(), json),
                    Item::Uint(n) => push_text(n.to_string().as_bytes(), json),
                    Item::Bool(b) => push_text(b.to_string().as_bytes(), json),
                    _ => return None,
                }
                json.push(b':');
                push(cursor, json, depth - 1)?;
            }
            json.push(b'}');
        }
    }
    Some(())
}

/// Writes a text, between quotes.
pub(super) fn push_text(text: &[u8], json: &mut Vec<u8>) {
    // Writing a text to a Vec cannot fail.
    let _infallible = serde_json::to_writer(json, &text_of(text));
}
