//! Starts Duramen and the empty server; what a server has used.

use crate::plan::Peer;
use crate::{Args, Result};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// A server that answers. One that was started here ends with this, and so does its store.
#[derive(Debug)]
pub(crate) struct Server {
    /// Address and port.
    pub(crate) address: String,
    pub(crate) token: Option<String>,
    pid: u32,
    started: Option<Started>,
}

#[derive(Debug)]
struct Started {
    child: Child,
    store: Option<PathBuf>,
}

impl Server {
    /// A server as it is at first: started anew, with an empty store. But VictoriaLogs is as it is.
    pub(crate) fn start(args: &Args, peer: Peer) -> Result<Self> {
        match peer {
            Peer::Empty => Self::empty(),
            Peer::Duramen => Self::duramen(args, false),
            Peer::DuramenToken => Self::duramen(args, true),
            Peer::VictoriaLogs => {
                let Some([url, pid]) = args.victorialogs.as_deref() else {
                    return Err("VictoriaLogs is not there".into());
                };
                let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
                Ok(Self { address, token: None, pid: pid.parse()?, started: None })
            }
        }
    }

    fn empty() -> Result<Self> {
        let mut child =
            Command::new(std::env::current_exe()?).arg("--empty-server").stdout(Stdio::piped()).spawn()?;
        let mut address = String::new();
        if let Some(out) = child.stdout.take() {
            BufReader::new(out).read_line(&mut address)?;
        }
        let (pid, started) = (child.id(), Some(Started { child, store: None }));
        Ok(Self { address: address.trim().to_owned(), token: None, pid, started })
    }

    fn duramen(args: &Args, with_token: bool) -> Result<Self> {
        let store = args.dir.join("store");
        if store.exists() {
            fs::remove_dir_all(&store)?;
        }
        let command = || {
            let mut command = Command::new(&args.duramen);
            command.arg("--store").arg(&store);
            command
        };
        let mut token = None;
        if with_token {
            let made = command().args(["token", "create", "bench", "--scope", "admin"]).output()?;
            if !made.status.success() {
                return Err(String::from_utf8_lossy(&made.stderr).into());
            }
            token = Some(String::from_utf8(made.stdout)?.trim().to_owned());
        }
        let mut child = command()
            .args(["serve", "--listen", "127.0.0.1:0", "--log-format", "json"])
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", args.duramen.display()))?;
        let mut log = BufReader::new(child.stderr.take().ok_or("no log")?);
        let mut told = String::new();
        let address = loop {
            let from = told.len();
            if log.read_line(&mut told)? == 0 {
                child.wait()?;
                return Err(format!("the server has not started: {told}").into());
            }
            let event: serde_json::Value = serde_json::from_str(&told[from..]).unwrap_or_default();
            if let Some(address) = event["fields"]["address"].as_str() {
                break address.to_owned();
            }
        };
        // Nobody reads on, but it must not have to wait for that.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let pid = child.id();
        Ok(Self { address, token, pid, started: Some(Started { child, store: Some(store) }) })
    }

    /// CPU seconds of the process so far, and of the kernel for it.
    pub(crate) fn cpu_s(&self) -> Result<f64> {
        cpu_s(&self.pid.to_string())
    }

    /// Resident bytes, and those of them that belong to no file.
    pub(crate) fn memory(&self) -> Result<(u64, u64)> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid))?;
        let of = |name: &str| {
            let line = status.lines().find(|line| line.starts_with(name));
            let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
            kib.map(|kib| kib << 10).ok_or(format!("no {name}"))
        };
        Ok((of("VmRSS:")?, of("RssAnon:")?))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(started) = &mut self.started {
            let _ended = started.child.kill();
            let _reaped = started.child.wait();
            if let Some(store) = &started.store {
                let _left_if_it_cannot_be = fs::remove_dir_all(store);
            }
        }
    }
}

/// CPU seconds of a process, `self` or its identity, and of the kernel for it.
pub(crate) fn cpu_s(pid: &str) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    // After the name: state is the third field of all, user and system time the 14th and 15th.
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    Ok(ticks / rustix::param::clock_ticks_per_second() as f64)
}

/// Thousands of connections need as many open files, here and in the servers, which inherit the limit.
pub(crate) fn raise_open_files() -> Result<()> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    Ok(setrlimit(Resource::Nofile, limit)?)
}
