//! The changing parts of texts.
//!
//! A variable's value is a function of a seed and the variable alone. So the text, a field, and another
//! service's text show the same order number without anybody passing it on, and an event can be written in
//! any format, any number of times.

use super::Catalog;
use crate::event::Event;
use crate::rng::{below, mix};
use crate::text::{fixed, hex, int, uuid};

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Var {
    // Of the request: the same in every service.
    User,
    Ip,
    Order,
    Product,
    Session,
    Status,
    Trace,
    Email,
    // Of the event.
    Address,
    Amount,
    App,
    Attempt,
    Bool,
    Build,
    Bytes,
    Carrier,
    Code,
    Currency,
    Digest,
    ErrorCode,
    File,
    Flag,
    Float,
    Hex,
    Host,
    Int,
    Job,
    Key,
    Login,
    Millis,
    Peer,
    Percent,
    Pool,
    Port,
    Provider,
    Queue,
    Scope,
    Seconds,
    Small,
    State,
    Table,
    Token,
    Took,
    Topic,
    Uptime,
    Uuid,
    Version,
    Warehouse,
    Word,
}

const NAMES: [(&str, Var); 49] = [
    ("user", Var::User),
    ("ip", Var::Ip),
    ("order", Var::Order),
    ("product", Var::Product),
    ("session", Var::Session),
    ("status", Var::Status),
    ("trace", Var::Trace),
    ("email", Var::Email),
    ("address", Var::Address),
    ("amount", Var::Amount),
    ("app", Var::App),
    ("attempt", Var::Attempt),
    ("bool", Var::Bool),
    ("build", Var::Build),
    ("bytes", Var::Bytes),
    ("carrier", Var::Carrier),
    ("code", Var::Code),
    ("currency", Var::Currency),
    ("digest", Var::Digest),
    ("error_code", Var::ErrorCode),
    ("file", Var::File),
    ("flag", Var::Flag),
    ("float", Var::Float),
    ("hex", Var::Hex),
    ("host", Var::Host),
    ("int", Var::Int),
    ("job", Var::Job),
    ("key", Var::Key),
    ("login", Var::Login),
    ("millis", Var::Millis),
    ("peer", Var::Peer),
    ("percent", Var::Percent),
    ("pool", Var::Pool),
    ("port", Var::Port),
    ("provider", Var::Provider),
    ("queue", Var::Queue),
    ("scope", Var::Scope),
    ("seconds", Var::Seconds),
    ("small", Var::Small),
    ("state", Var::State),
    ("table", Var::Table),
    ("token", Var::Token),
    ("took", Var::Took),
    ("topic", Var::Topic),
    ("uptime", Var::Uptime),
    ("uuid", Var::Uuid),
    ("version", Var::Version),
    ("warehouse", Var::Warehouse),
    ("word", Var::Word),
];

const WORDS: [&str; 64] = [
    "lantern", "copper", "willow", "harbor", "velvet", "marble", "cedar", "pepper", "saddle", "anchor",
    "basket", "blanket", "bottle", "bracelet", "brush", "bucket", "button", "cabinet", "camera", "candle",
    "carpet", "chair", "clock", "cotton", "curtain", "desk", "drawer", "easel", "engine", "fabric",
    "feather", "flask", "frame", "garden", "glove", "hammer", "helmet", "jacket", "kettle", "ladder",
    "leather", "linen", "magnet", "mirror", "mug", "needle", "notebook", "oven", "paddle", "pencil",
    "pillow", "plate", "racket", "ribbon", "rope", "scarf", "shelf", "spoon", "stool", "teapot", "thread",
    "towel", "umbrella", "wallet",
];
const FIRST_NAMES: [&str; 24] = [
    "ada", "bela", "cleo", "dario", "edda", "femi", "gita", "hugo", "ines", "jonas", "kira", "levin", "mara",
    "nilo", "olga", "pavel", "quinn", "rosa", "sami", "tilda", "umar", "vera", "wanda", "yara",
];
const LOGINS: [&str; 16] = [
    "root", "admin", "deploy", "ubuntu", "test", "backup", "oracle", "postgres", "git", "guest", "ftp", "pi",
    "jenkins", "www", "user", "operator",
];
const TABLES: [&str; 10] = [
    "orders",
    "order_items",
    "products",
    "users",
    "sessions",
    "payments",
    "stock_levels",
    "shipments",
    "invoices",
    "reviews",
];
const JOBS: [&str; 10] = [
    "nightly-report",
    "expire-carts",
    "sync-stock",
    "rebuild-index",
    "send-reminders",
    "rotate-keys",
    "vacuum-sessions",
    "import-prices",
    "refresh-rates",
    "archive-orders",
];
const CODES: [&str; 10] = [
    "insufficient_funds",
    "expired_card",
    "do_not_honor",
    "timeout",
    "invalid_account",
    "limit_exceeded",
    "suspected_fraud",
    "issuer_unavailable",
    "duplicate",
    "currency_not_supported",
];
const ERROR_CODES: [&str; 8] = [
    "E_CONFLICT",
    "E_DEADLOCK",
    "E_POOL_EXHAUSTED",
    "E_DECLINED",
    "E_BAD_INPUT",
    "E_UNAVAILABLE",
    "E_TIMEOUT",
    "E_INTERNAL",
];

fn pick<'t>(bits: u64, table: &[&'t str]) -> &'t str {
    table[bits as usize % table.len()]
}

/// A text with variables in it.
#[derive(Clone, Debug)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Copy, Debug)]
enum Piece {
    Text(&'static str),
    /// A variable, and which of several of its kind.
    Var(Var, u8),
}

impl Template {
    /// Reads `text {variable} text {variable2}`.
    pub(crate) fn parse(mut text: &'static str) -> Self {
        let mut pieces = Vec::new();
        while let Some((before, name, after)) = text
            .split_once('{')
            .and_then(|(before, rest)| Some((before, rest.split_once('}')?)))
            .map(|(before, (name, after))| (before, name, after))
        {
            let bare = name.trim_end_matches(|c: char| c.is_ascii_digit());
            let which = name[bare.len()..].parse().unwrap_or(1);
            pieces.push(Piece::Text(before));
            match NAMES.iter().find(|(n, _)| *n == bare) {
                Some(&(_, var)) => pieces.push(Piece::Var(var, which)),
                None => pieces.push(Piece::Text("?")),
            }
            text = after;
        }
        pieces.push(Piece::Text(text));
        Self(pieces)
    }

    /// Writes the text with the event's values.
    pub(crate) fn write(&self, out: &mut Vec<u8>, catalog: &Catalog, event: &Event) {
        for piece in &self.0 {
            match *piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Var(var, which) => var.write(out, catalog, event, which),
            }
        }
    }
}

/// The address of the client with this rank: the documentation ranges for the busiest, then the range that is
/// set aside for benchmarks.
pub(crate) fn write_address(out: &mut Vec<u8>, rank: usize) {
    const DOCUMENTATION: [&str; 3] = ["192.0.2.", "198.51.100.", "203.0.113."];
    if let Some(prefix) = DOCUMENTATION.get(rank / 254) {
        out.extend_from_slice(prefix.as_bytes());
        int(out, 1 + rank as u64 % 254);
    } else {
        let spread = mix(rank as u64);
        out.extend_from_slice(b"198.");
        int(out, 18 + (spread >> 16) % 2);
        out.push(b'.');
        int(out, (spread >> 8) % 256);
        out.push(b'.');
        int(out, spread % 256);
    }
}

/// The user with this rank.
pub(crate) fn write_user(out: &mut Vec<u8>, rank: u32) {
    out.extend_from_slice(b"u-");
    int(out, 10_000 + below(mix(u64::from(rank)), 90_000_000));
}

fn write_email(out: &mut Vec<u8>, bits: u64) {
    out.extend_from_slice(pick(bits, &FIRST_NAMES).as_bytes());
    out.push(b'.');
    out.extend_from_slice(pick(bits >> 16, &WORDS).as_bytes());
    out.extend_from_slice(pick(bits >> 32, &["@example.com", "@example.net", "@example.org"]).as_bytes());
}

impl Var {
    /// Writes the event's value, of which `which` tells several of a kind apart.
    pub(crate) fn write(self, out: &mut Vec<u8>, catalog: &Catalog, event: &Event, which: u8) {
        let request_seed = event.request.as_ref().map_or(event.seed, |r| r.seed);
        let seed = if (self as u8) <= Var::Email as u8 { request_seed } else { event.seed };
        let bits = mix(seed ^ (u64::from(self as u8) << 8 | u64::from(which)));
        let mut put = |text: &str| out.extend_from_slice(text.as_bytes());
        match self {
            Var::User => {
                let rank = event.request.as_ref().map_or(catalog.users.at(bits) as u32, |r| r.user);
                write_user(out, rank);
            }
            Var::Ip => {
                let rank = event.request.as_ref().map_or(catalog.addresses.at(bits), |r| r.address as usize);
                write_address(out, rank);
            }
            Var::Address => write_address(out, catalog.addresses.at(bits)),
            Var::Order => {
                put("ORD-");
                int(out, 10_000_000 + below(bits, 80_000_000));
            }
            Var::Product => {
                put("SKU-");
                int(out, 1000 + below(mix(catalog.products.at(bits) as u64), 900_000));
            }
            Var::Session => hex(out, bits, 12),
            Var::Status => int(out, event.request.as_ref().map_or(200, |r| u64::from(r.status))),
            Var::Trace => {
                let [high, low] = event.request.as_ref().map_or([bits, mix(bits)], |r| r.trace);
                hex(out, high, 16);
                hex(out, low, 16);
            }
            Var::Email => write_email(out, bits),
            Var::Amount => fixed(out, 199 + below(bits, 60_000) * below(mix(bits), 5), 2),
            Var::App => put(&catalog.services[usize::from(event.app)].name),
            Var::Attempt => int(out, 1 + bits % 4),
            Var::Bool => put(if bits & 3 == 0 { "true" } else { "false" }),
            // Files of a build keep their names until the next one.
            Var::Build => hex(out, mix((event.time_ns / 43_200_000_000_000) as u64), 8),
            Var::Bytes => int(out, 120 + below(bits, 9000) * (1 + (mix(bits) & 7))),
            Var::Carrier => put(pick(bits, &["northpost", "swiftly", "bluewagon", "parcelo"])),
            Var::Code => put(pick(bits, &CODES)),
            Var::Currency => put(pick(bits, &["EUR", "EUR", "EUR", "USD", "USD", "GBP", "CHF", "JPY"])),
            Var::Digest => {
                hex(out, bits, 16);
                hex(out, mix(bits), 16);
            }
            Var::ErrorCode => put(pick(bits, &ERROR_CODES)),
            Var::File => {
                put("/var/lib/example/");
                put(pick(bits, &WORDS));
                put("/segment-");
                int(out, (bits >> 16) % 5000);
                out.extend_from_slice(b".dat");
            }
            Var::Flag => {
                put(pick(bits, &["new", "fast", "beta"]));
                put("-");
                put(pick(bits >> 8, &WORDS[..12]));
            }
            Var::Float => fixed(out, 50 + below(bits, 30_000), 3),
            Var::Hex => hex(out, bits, 10),
            Var::Host => put(&catalog.hosts[bits as usize % catalog.hosts.len()]),
            Var::Int => int(out, (bits >> 32) >> (20 + bits % 12)),
            Var::Job => put(pick(bits, &JOBS)),
            Var::Key => {
                put(pick(bits, &["user", "product", "price", "session"]));
                put(":v3:");
                int(out, catalog.products.at(mix(bits)) as u64);
            }
            Var::Login => put(pick(bits, &LOGINS)),
            Var::Millis => int(out, 1 + ((bits >> 32) >> (21 + bits % 11))),
            Var::Peer => {
                let calls = &catalog.services[usize::from(event.app)].calls;
                let peer = if calls.is_empty() { event.app } else { calls[bits as usize % calls.len()] };
                put(&catalog.services[usize::from(peer)].name);
            }
            Var::Percent => int(out, 20 + bits % 79),
            Var::Pool => {
                put(pick(bits, &["main", "read", "batch"]));
                put("-pool");
            }
            Var::Port => int(out, 1024 + bits % 64_000),
            Var::Provider => put(pick(bits, &["cardwell", "paylane", "giroex", "tillpay"])),
            Var::Queue => {
                for byte in bits.to_le_bytes() {
                    out.push(b"0123456789ABCDEF"[usize::from(byte & 15)]);
                }
            }
            Var::Scope => put(pick(bits, &["read", "read write", "read write admin", "checkout"])),
            Var::Seconds => int(out, 1 + bits % 3600),
            Var::Small => int(out, 1 + (bits % 12) * ((bits >> 8) % 7) / 2),
            Var::State => put(pick(bits, &["CREATED", "PAID", "PACKED", "SHIPPED", "CANCELLED", "REFUNDED"])),
            Var::Table => put(pick(bits, &TABLES)),
            Var::Token => {
                const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
                for i in 0..43 {
                    out.push(DIGITS[(mix(bits ^ i) & 63) as usize]);
                }
            }
            Var::Took => fixed(out, u64::from(event.took_us), 3),
            Var::Topic => put(pick(bits, &["orders", "payments", "stock", "mail", "clicks"])),
            Var::Uptime => {
                let since_boot_us = (event.time_ns / 1000) as u64 % 4_000_000_000_000;
                fixed(out, since_boot_us, 6);
            }
            Var::Uuid => uuid(out, bits, mix(bits)),
            // A version lives for some hours.
            Var::Version => {
                let build = (event.time_ns / 14_400_000_000_000) as u64;
                put("4.");
                int(out, build / 9 % 60);
                out.push(b'.');
                int(out, build % 9);
            }
            Var::Warehouse => put(pick(bits, &["ham-1", "rtm-2", "lyo-1", "gdn-3"])),
            Var::Word => put(pick(bits, &WORDS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variable_has_its_name_and_every_template_only_known_ones() {
        for (i, (_, var)) in NAMES.iter().enumerate() {
            assert_eq!(*var as usize, i);
        }
        let catalog = Catalog::new(20, 20);
        let templates = (catalog.messages.iter().map(|m| &m.template))
            .chain(catalog.routes.iter().map(|r| &r.path))
            .chain(catalog.programs.iter().flat_map(|p| p.sequences.iter().flatten().map(|(_, t)| t)));
        for template in templates {
            for piece in &template.0 {
                assert!(!matches!(piece, Piece::Text("?")), "{template:?}");
            }
        }
        assert!(catalog.messages.len() >= 55, "{}", catalog.messages.len());
    }
}
