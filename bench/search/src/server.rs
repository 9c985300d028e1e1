//! A server with LogsQL over HTTP: one that runs, or one that is started here.

use crate::Result;
use crate::load::send;
use crate::peer::{Load, Peer};
use crate::question::{Answer, Question, rows_of};
use shared::process::{Memory, Process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// As long as this a server may take to start or to stop.
const PATIENCE: Duration = Duration::from_secs(120);

/// A server under test. One that was started here ends with this.
#[derive(Debug)]
pub(crate) struct Server {
    name: &'static str,
    pub(crate) url: String,
    pub(crate) dir: PathBuf,
    /// Parameters of the request that inserts lines.
    pub(crate) insert: &'static str,
    /// Connections that send at once.
    pub(crate) connections: usize,
    command: Option<String>,
    process: Process,
    child: Option<Child>,
    agent: ureq::Agent,
    loading: Option<Loading>,
}

#[derive(Clone, Copy, Debug)]
struct Loading {
    cpu_before_s: f64,
    wall_s: f64,
    raw_bytes: u64,
}

impl Server {
    /// From its address, the identity of its process and its directory; with a command, which is then started, from
    /// its address and its directory.
    pub(crate) fn of(
        name: &'static str,
        args: &[String],
        command: Option<&str>,
        connections: usize,
    ) -> Result<Self> {
        let (url, pid, dir) = match (args, command) {
            ([url, pid, dir], None) => (url, pid.parse()?, dir),
            ([url, dir], Some(_)) => (url, 0, dir),
            (_, None) => return Err(format!("{name}: URL PID DIR are needed, or a command").into()),
            (_, Some(_)) => {
                return Err(format!("{name}: with a command, URL DIR are needed, and no PID").into());
            }
        };
        let mut server = Self {
            name,
            url: url.trim_end_matches('/').to_owned(),
            dir: PathBuf::from(dir),
            insert: "",
            connections,
            command: command.map(str::to_owned),
            process: Process::Id(pid),
            child: None,
            agent: ureq::Agent::new_with_defaults(),
            loading: None,
        };
        if command.is_some() {
            server.start()?;
        }
        Ok(server)
    }

    /// Starts it, and waits until it says that it is well.
    pub(crate) fn start(&mut self) -> Result<()> {
        self.start_until(Self::is_well)?;
        Ok(())
    }

    /// Milliseconds that a request takes that asks for nothing, the median of 100: nobody answers faster over HTTP.
    pub(crate) fn empty_ms(&self) -> f64 {
        let mut times_ms: Vec<f64> = Vec::new();
        for _ in 0..100 {
            let started = Instant::now();
            let _answered = self.is_well();
            times_ms.push(started.elapsed().as_secs_f64() * 1e3);
        }
        times_ms.sort_by(f64::total_cmp);
        times_ms[times_ms.len() / 2]
    }

    fn is_well(&self) -> bool {
        self.agent.get(format!("{}/health", self.url)).call().is_ok()
    }

    /// Starts it, and asks until it has told how many lines there are, so many: how long that took.
    pub(crate) fn start_until_answer(&mut self, lines: u64) -> Result<Duration> {
        self.start_until(|server| server.count_all().is_ok_and(|found| found == lines))
    }

    fn start_until(&mut self, is_there: impl Fn(&Self) -> bool) -> Result<Duration> {
        let Some(command) = &self.command else {
            return Err(format!("{}: a command is needed", self.name).into());
        };
        let mut words = command.split_whitespace();
        let program = words.next().ok_or("an empty command")?;
        // Connections to what ran before are of no use.
        self.agent = ureq::Agent::new_with_defaults();
        if self.is_well() {
            return Err(format!("{}: at {} there is a server already", self.name, self.url).into());
        }
        let started = Instant::now();
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("{program}: {e}"))?;
        while !is_there(self) {
            if child.try_wait()?.is_some() || started.elapsed() > PATIENCE {
                let _it_may_have_ended = child.kill();
                child.wait()?;
                return Err(format!("{}: `{command}` does not answer at {}", self.name, self.url).into());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let took = started.elapsed();
        self.process = Process::Id(child.id());
        self.child = Some(child);
        Ok(took)
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(&mut self) -> Result<()> {
        let Some(mut child) = self.child.take() else {
            return Err(format!("{}: only what was started here is stopped", self.name).into());
        };
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&child),
            rustix::process::Signal::TERM,
        )?;
        let asked = Instant::now();
        while child.try_wait()?.is_none() {
            if asked.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                return Err(format!("{}: has not stopped", self.name).into());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(&mut self) -> Result<()> {
        let mut child = self.child.take().ok_or("only what was started here is killed")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// What LogsQL answers, as it comes.
    pub(crate) fn query(&self, query: &str, limit: Option<u64>) -> Result<String> {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("query", query);
        if let Some(limit) = limit {
            form.append_pair("limit", &limit.to_string());
        }
        let request = self.agent.post(format!("{}/select/logsql/query", self.url));
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        let mut response = request.send(form.finish()).map_err(|e| format!("{}, {query}: {e}", self.name))?;
        Ok(response.body_mut().with_config().limit(1 << 30).read_to_string()?)
    }

    /// How many lines there are.
    pub(crate) fn count_all(&self) -> Result<u64> {
        let rows = rows_of(&self.query("* | stats count() n", None)?)?;
        Ok(rows.first().and_then(|row| row.get("n")).ok_or("no count")?.parse()?)
    }

    /// Where lines are sent.
    pub(crate) fn insert_url(&self) -> String {
        format!("{}/insert/jsonline?{}", self.url, self.insert)
    }

    /// Bytes on disk while it is stopped; then it is started again. Nothing if it was not started here.
    pub(crate) fn stopped_bytes(&mut self) -> Result<Option<u64>> {
        if self.command.is_none() {
            return Ok(None);
        }
        self.stop()?;
        let bytes = shared::disk::disk_bytes(&self.dir);
        self.start()?;
        Ok(Some(bytes))
    }

    /// What loading took, now that all is merged.
    pub(crate) fn settled(&self) -> Result<Option<Load>> {
        let Some(Loading { cpu_before_s, wall_s, raw_bytes }) = self.loading else {
            return Ok(None);
        };
        let Memory { peak_bytes, resident_bytes, anonymous_bytes } = self.process.memory()?;
        Ok(Some(Load {
            wall_s,
            raw_bytes,
            cpu_s: self.process.cpu_s()? - cpu_before_s,
            peak_bytes,
            resident_bytes: Some(resident_bytes),
            anonymous_bytes: Some(anonymous_bytes),
            disk_bytes: shared::disk::disk_bytes(&self.dir),
            stopped_bytes: None,
        }))
    }
}

impl Peer for Server {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> String {
        self.command.as_ref().map(|command| format!("`{command}`")).unwrap_or_default()
    }

    fn load(&mut self, lines: &Path) -> Result<Option<Load>> {
        let cpu_before_s = self.process.cpu_s()?;
        let started = Instant::now();
        send(&self.insert_url(), lines, self.connections)?;
        let wall_s = started.elapsed().as_secs_f64();
        let raw_bytes = std::fs::metadata(lines)?.len();
        self.loading = Some(Loading { cpu_before_s, wall_s, raw_bytes });
        self.settled()
    }

    fn ask(&mut self, question: &Question) -> Result<Option<Answer>> {
        let started = Instant::now();
        let text = self.query(&question.query, question.limit)?;
        let took = started.elapsed();
        Ok(Some(Answer::new(took, rows_of(&text)?)))
    }

    fn start_cold(&mut self) -> Result<()> {
        self.stop()?;
        shared::disk::drop_from_cache(&self.dir)?;
        self.start()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.is_some() {
            let _it_may_have_ended = self.stop();
        }
    }
}
