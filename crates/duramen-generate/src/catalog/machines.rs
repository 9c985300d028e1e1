//! What the machines themselves log: sequences of lines that share a process and its variables.

use super::variables::Template;
use crate::event::Level::{self, Debug, Error, Info, Warn};

/// A program of the system.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// Syslog's number for what kind of program it is.
    pub(crate) facility: u64,
    pub(crate) weight: f64,
    /// Lines that follow one another, each with its level.
    pub(crate) sequences: Vec<Vec<(Level, Template)>>,
    /// Whether the lines carry a process id.
    pub(crate) has_pid: bool,
}

/// Sequences that are repeated many times in a row when a stranger tries passwords: sshd's second and third.
pub(crate) const SSHD: usize = 0;
/// Which of sshd's sequences is an attempt to guess a password.
pub(crate) const GUESS: usize = 1;

type Lines = &'static [(Level, &'static str)];

const PROGRAMS: &[(&str, u64, f64, bool, &[Lines])] = &[
    (
        "sshd",
        4,
        20.0,
        true,
        &[
            &[
                (
                    Info,
                    "Accepted publickey for {login} from {address} port {port} ssh2: ED25519 SHA256:{token}",
                ),
                (Info, "pam_unix(sshd:session): session opened for user {login}(uid={int}) by (uid=0)"),
                (Info, "pam_unix(sshd:session): session closed for user {login}"),
            ],
            &[
                (Info, "Invalid user {login} from {address} port {port}"),
                (Warn, "Failed password for invalid user {login} from {address} port {port} ssh2"),
                (Info, "Connection closed by invalid user {login} {address} port {port} [preauth]"),
            ],
            &[(Info, "Received disconnect from {address} port {port}:11: Bye Bye [preauth]")],
            &[(Error, "error: kex_exchange_identification: Connection closed by remote host")],
        ],
    ),
    (
        "CRON",
        9,
        30.0,
        true,
        &[
            &[
                (Info, "pam_unix(cron:session): session opened for user root(uid=0) by (uid=0)"),
                (Info, "(root) CMD (test -x /usr/sbin/{word}-clean && /usr/sbin/{word}-clean --quiet)"),
                (Info, "pam_unix(cron:session): session closed for user root"),
            ],
            &[(Info, "({login}) CMD (/opt/example/bin/{job} --since yesterday)")],
        ],
    ),
    (
        "kernel",
        0,
        12.0,
        false,
        &[
            &[(Info, "[{uptime}] eth0: link up, 10000 Mbps, full duplex")],
            &[(
                Warn,
                "[{uptime}] TCP: request_sock_TCP: Possible SYN flooding on port {port}. Sending cookies.",
            )],
            &[(
                Info,
                "[{uptime}] audit: type=1400 apparmor=\"ALLOWED\" operation=\"open\" name=\"{file}\" pid={int} comm=\"{word}\"",
            )],
            &[(Debug, "[{uptime}] nf_conntrack: expectation {hex} removed")],
            &[
                (
                    Error,
                    "[{uptime}] {word}[{int}]: segfault at {hex} ip 00007f{hex2} sp 00007ff{hex3} error 4",
                ),
                (Info, "[{uptime}] Code: Bad RIP value."),
            ],
        ],
    ),
    (
        "systemd",
        3,
        18.0,
        true,
        &[
            &[
                (Info, "Starting {job}.service - Run {job}..."),
                (Info, "{job}.service: Deactivated successfully."),
                (Info, "Finished {job}.service - Run {job}."),
            ],
            &[(Info, "Started session-{int}.scope - Session {int} of User {login}.")],
            &[
                (Warn, "{job}.service: Main process exited, code=exited, status={small}/FAILURE"),
                (Error, "Failed to start {job}.service - Run {job}."),
            ],
        ],
    ),
    (
        "postfix",
        2,
        16.0,
        true,
        &[
            &[
                (Info, "{queue}: client=mail.example.net[{address}]"),
                (Info, "{queue}: message-id=<{uuid}@example.net>"),
                (Info, "{queue}: from=<{email}>, size={bytes}, nrcpt=1 (queue active)"),
                (
                    Info,
                    "{queue}: to=<{email2}>, relay=mx.example.org[192.0.2.25]:25, delay={float}, dsn=2.0.0, status=sent (250 2.0.0 Ok: queued as {queue2})",
                ),
                (Info, "{queue}: removed"),
            ],
            &[(
                Warn,
                "{queue}: to=<{email}>, relay=none, delay={float}, dsn=4.4.1, status=deferred (connect to mx.example.org[192.0.2.25]:25: Connection timed out)",
            )],
            &[(Warn, "warning: hostname host-{int}.example.net does not resolve to address {address}")],
        ],
    ),
];

pub(crate) fn all() -> Vec<Program> {
    PROGRAMS
        .iter()
        .map(|&(name, facility, weight, has_pid, sequences)| Program {
            name,
            facility,
            weight,
            has_pid,
            sequences: sequences
                .iter()
                .map(|lines| lines.iter().map(|&(level, text)| (level, Template::parse(text))).collect())
                .collect(),
        })
        .collect()
}
