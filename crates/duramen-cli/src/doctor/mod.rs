//! Looks a store and its surroundings over, and says what is wrong and what to do.
//!
//! | module | what it looks at |
//! |---|---|
//! | [`place`] | the directory: whose it is, its file system, its room |
//! | [`process`] | this machine's limits and clock |
//! | [`contents`] | what is in the store: who writes, who keeps, what is behind, what is damaged |
//! | [`served`] | what `duramen serve` reads: settings, certificate, tokens |
//!
//! Nothing is changed but for one file in the directory that is made, synced and removed to see how that goes.

mod contents;
mod place;
mod process;
#[cfg(feature = "server")]
mod served;

use crate::interrupt::Interrupt;
use crate::render::escape::push_safe_line;
use duramen_engine::io::Env;
use serde_json::{Value, json};
use std::path::Path;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Status {
    /// All is well.
    Ok,
    /// It works, and may not for long, or not as people think.
    Warning,
    /// It does not work, or something is lost.
    Error,
}

impl Status {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What one check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What was checked: a word or two.
    check: &'static str,
    status: Status,
    /// What was found.
    told: String,
    /// What to do about it, if it is not well.
    advice: Option<String>,
}

/// What all checks found, in their order.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    all: Vec<Finding>,
}

impl Findings {
    /// All is well.
    fn ok(&mut self, check: &'static str, told: impl Into<String>) {
        self.all.push(Finding { check, status: Status::Ok, told: told.into(), advice: None });
    }

    /// Something should be seen to.
    fn warn(&mut self, check: &'static str, told: impl Into<String>, advice: impl Into<String>) {
        let advice = Some(advice.into());
        self.all.push(Finding { check, status: Status::Warning, told: told.into(), advice });
    }

    /// Something does not work.
    fn error(&mut self, check: &'static str, told: impl Into<String>, advice: impl Into<String>) {
        let advice = Some(advice.into());
        self.all.push(Finding { check, status: Status::Error, told: told.into(), advice });
    }

    /// The worst of them.
    pub(crate) fn status(&self) -> Status {
        self.all.iter().map(|finding| finding.status).max().unwrap_or(Status::Ok)
    }

    fn count(&self, status: Status) -> usize {
        self.all.iter().filter(|finding| finding.status == status).count()
    }

    /// For people: a line each, and what to do below it.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for Finding { check, status, told, advice } in &self.all {
            push_safe_line(&mut text, &format!("{:<8} {check}: {told}", status.name()));
            text.push('\n');
            if let Some(advice) = advice {
                push_safe_line(&mut text, &format!("{:<8} → {advice}", ""));
                text.push('\n');
            }
        }
        let (errors, warnings) = (self.count(Status::Error), self.count(Status::Warning));
        let of = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        text.push_str(&match (errors, warnings) {
            (0, 0) => "all is well\n".to_owned(),
            _ => format!("{}, {}\n", of(errors, "error"), of(warnings, "warning")),
        });
        text
    }

    /// For programs.
    pub(crate) fn to_json(&self) -> Value {
        let checks: Vec<Value> = self
            .all
            .iter()
            .map(|Finding { check, status, told, advice }| {
                let mut finding = json!({ "check": check, "status": status.name(), "told": told });
                if let Some(advice) = advice {
                    finding["advice"] = json!(advice);
                }
                finding
            })
            .collect();
        json!({ "version": env!("CARGO_PKG_VERSION"), "status": self.status().name(), "checks": checks })
    }
}

/// What to look at.
#[derive(Debug)]
pub(crate) struct Visit<'a> {
    /// The store's directory.
    pub(crate) dir: &'a Path,
    /// The server's settings.
    #[cfg(feature = "server")]
    pub(crate) config: Option<&'a Path>,
    /// Whether every byte is to be read.
    pub(crate) verify: bool,
}

/// Runs every check that can be run.
pub(crate) fn examine(visit: &Visit<'_>, env: &Env, interrupt: &Interrupt) -> Findings {
    let mut found = Findings::default();
    let findings = &mut found;
    process::limits(findings);
    let now_ns = env.clock.now_unix_ns();
    process::clock(findings, now_ns);
    if place::directory(findings, visit.dir) {
        place::file_system(findings, visit.dir, env);
        place::room(findings, visit.dir, env);
        contents::store(findings, visit, env, interrupt);
    }
    #[cfg(feature = "server")]
    served::examine(findings, visit, env);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_counts_and_each_is_told() {
        let mut findings = Findings::default();
        assert_eq!((findings.status(), &*findings.to_text()), (Status::Ok, "all is well\n"));
        findings.ok("room", "1 GB free");
        findings.warn("clock", "it is early", "set it");
        assert_eq!(findings.status(), Status::Warning);
        findings.error("store", "gone\n", "look");
        assert_eq!(findings.status(), Status::Error);
        let text = findings.to_text();
        assert_eq!(text.lines().count(), 6, "{text}");
        assert!(text.contains("warning  clock: it is early\n         → set it\n"), "{text}");
        assert!(text.ends_with("1 error, 1 warning\n"), "{text}");
        let json = findings.to_json();
        assert_eq!((&json["status"], &json["checks"][1]["advice"]), (&json!("error"), &json!("set it")));
        assert_eq!(json["checks"][0].get("advice"), None);
    }
}
