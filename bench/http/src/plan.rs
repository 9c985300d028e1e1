//! What is measured: a kind of request to a server.

/// Who answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    Empty,
    Duramen,
    /// Duramen, with a token that each request must bring.
    DuramenToken,
    VictoriaLogs,
}

impl Peer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Empty => "empty server",
            Self::Duramen => "Duramen",
            Self::DuramenToken => "Duramen, token",
            Self::VictoriaLogs => "VictoriaLogs",
        }
    }

    /// What an acknowledged line survives.
    pub(crate) fn survives(self) -> &'static str {
        match self {
            Self::Empty => "nothing is kept",
            Self::Duramen | Self::DuramenToken => "`kill -9` (durability `process`)",
            Self::VictoriaLogs => "nothing: in memory for about a second (default)",
        }
    }
}

/// How lines are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Native,
    JsonLines,
    Loki,
    Elasticsearch,
    Otlp,
}

pub(crate) const PROTOCOLS: [Protocol; 5] =
    [Protocol::Native, Protocol::JsonLines, Protocol::Loki, Protocol::Elasticsearch, Protocol::Otlp];

impl Protocol {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native NDJSON",
            Self::JsonLines => "VictoriaLogs JSON lines",
            Self::Loki => "Loki push, JSON",
            Self::Elasticsearch => "Elasticsearch `_bulk`",
            Self::Otlp => "OTLP logs, JSON",
        }
    }

    /// Where a server takes it, if it does.
    pub(crate) fn path(self, peer: Peer) -> Option<&'static str> {
        Some(match (self, peer) {
            (Self::Native, Peer::VictoriaLogs) | (Self::Otlp, Peer::VictoriaLogs) => return None,
            (Self::Native, _) => "/api/v1/ingest?_stream_fields=app",
            (Self::JsonLines, _) => "/insert/jsonline?_stream_fields=app",
            (Self::Loki, Peer::VictoriaLogs) => "/insert/loki/api/v1/push",
            (Self::Loki, _) => "/loki/api/v1/push",
            (Self::Elasticsearch, Peer::VictoriaLogs) => {
                "/insert/elasticsearch/_bulk?_stream_fields=app&_time_field=_time&_msg_field=_msg"
            }
            (Self::Elasticsearch, _) => "/_bulk?_stream_fields=app&_time_field=_time&_msg_field=_msg",
            (Self::Otlp, _) => "/v1/logs",
        })
    }
}

/// Requests of one kind to one server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) peer: Peer,
    pub(crate) protocol: Protocol,
    pub(crate) lines_per_request: usize,
}

impl Case {
    pub(crate) fn name(&self) -> String {
        format!("{}, {} lines a request, {}", self.peer.name(), self.lines_per_request, self.protocol.name())
    }
}

pub(crate) const BATCH: usize = 100;

/// Those that keep lines.
pub(crate) fn peers(victorialogs: bool) -> Vec<Peer> {
    let mut peers = vec![Peer::Duramen];
    peers.extend(victorialogs.then_some(Peer::VictoriaLogs));
    peers
}

/// All cases: study 001's single lines and batches to everybody, and each protocol in batches to who takes it.
pub(crate) fn cases(victorialogs: bool) -> Vec<Case> {
    let mut cases = Vec::new();
    for lines_per_request in [1, BATCH] {
        for peer in [Peer::Empty, Peer::Duramen, Peer::DuramenToken] {
            cases.push(Case { peer, protocol: Protocol::Native, lines_per_request });
        }
        if victorialogs {
            cases.push(Case { peer: Peer::VictoriaLogs, protocol: Protocol::JsonLines, lines_per_request });
        }
    }
    for protocol in PROTOCOLS {
        for peer in [Peer::Duramen, Peer::DuramenToken, Peer::VictoriaLogs] {
            let case = Case { peer, protocol, lines_per_request: BATCH };
            let wanted = peer != Peer::VictoriaLogs || victorialogs && protocol.path(peer).is_some();
            if wanted && !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    cases
}
