//! Starts and stops: store, listeners, signals.

mod error;
mod tls;

use crate::admin::{Tasks, Turns};
use crate::answer::{AnswerMemory, KnownQueries};
use crate::app::{App, router};
use crate::auth::{TokenError, Tokens, check_tenant};
use crate::body::Budget;
use crate::connection::{Door, listen};
use crate::listeners;
use crate::metrics::Metrics;
use crate::settings::{Limits, Settings};
use crate::tenants::{Tenants, freshness};
use crate::working_memory::{self, Allocator, WorkingMemory};
use arc_swap::ArcSwapOption;
use duramen_engine::io::Env;
use hyper_util::server::graceful::GracefulShutdown;
use sd_notify::NotifyState;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tls::tls_of;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Semaphore, watch};

pub use error::ServeError;
pub use tls::check_tls;

/// How often the file of tokens is looked at.
const TOKENS_EVERY: Duration = Duration::from_millis(500);
/// Most threads for what waits: queries, large bodies, full stores.
const MAX_BLOCKING_THREADS: usize = 256;
/// How long one waits for more: whoever asks every minute is not to wait for it to start.
const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(120);
/// So many are started at the beginning: one for a query, one for the runtime to go on meanwhile.
const FIRST_THREADS: usize = 2;

/// Serves the store in `dir` until SIGTERM or SIGINT; `ready` is told the addresses once connections are taken.
/// The process's `allocator` is told while queries run that take more than a moment.
///
/// A stop takes no new connections, lets requests and queries that run end, for `stop_timeout_ms` at most, then seals,
/// syncs and flushes the store. SIGHUP reads certificate, key and tokens again.
///
/// # Errors
/// [`ServeError`]. What was acknowledged is safe in all cases.
pub fn serve(
    dir: &Path,
    env: &Env,
    settings: Settings,
    allocator: Allocator,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<(), ServeError> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    threads_can_be_had(workers + FIRST_THREADS)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .max_blocking_threads(MAX_BLOCKING_THREADS)
        .thread_keep_alive(THREAD_KEEP_ALIVE)
        .thread_name("duramen-serve")
        .build()?;
    let outcome = runtime.block_on(run(dir, env, settings.complete(), allocator, ready));
    // Threads of queries that do not end in time are left to the process's end.
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome
}

/// That there are so many threads, with which the runtime is to begin: it would end the program with a panic.
///
/// # Errors
/// What the system said.
fn threads_can_be_had(count: usize) -> std::io::Result<()> {
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let held = Arc::new(Mutex::new(held));
    let mut threads = Vec::new();
    let mut outcome = Ok(());
    for _ in 0..count {
        let held = held.clone();
        let wait = move || _ = held.lock().map(|held| held.recv());
        match std::thread::Builder::new().spawn(wait) {
            Ok(thread) => threads.push(thread),
            Err(e) => {
                let told = format!("no more threads can be had: {e} (`ulimit -u`, or TasksMax= of systemd)");
                outcome = Err(std::io::Error::new(e.kind(), told));
                break;
            }
        }
    }
    drop(hold);
    threads.into_iter().for_each(|thread| _ = thread.join());
    outcome
}

async fn run(
    dir: &Path,
    env: &Env,
    settings: Settings,
    allocator: Allocator,
    ready: impl FnOnce(&[SocketAddr]),
) -> Result<(), ServeError> {
    let mut signals = Signals::listen()?;
    let limits = Limits::of(&settings);
    let tls = tls_of(&settings)?;
    let tenants = Arc::new(open_tenants(env, dir, &settings)?);
    let tokens = Tokens::load(env, dir)?;
    let listeners = bind(&settings, tokens.are_none()).await?;
    if tls.is_none()
        && let Some(&address) = settings.syslog_tls_listen.first()
    {
        return Err(ServeError::NoCertificate { address });
    }
    let bound = listeners::bind(&settings).await?;
    if tokens.are_none() {
        tracing::warn!("the store has no token: everybody on this machine may do everything");
    }
    let (stop, stopping) = watch::channel(false);
    let app = Arc::new(App {
        env: env.clone(),
        tokens,
        tenants,
        bodies: Budget::new(settings.max_bodies_bytes.unwrap_or_default()),
        queries: Arc::new(Semaphore::new(limits.max_queries)),
        known_queries: KnownQueries::new(),
        answers: AnswerMemory::new(limits.query_memory_bytes),
        following: Arc::new(Semaphore::new(limits.max_queries)),
        decoders: Arc::new(Semaphore::new(limits.decoders())),
        changes: Turns::default(),
        lists: Arc::new(Semaphore::new(1)),
        deletions: Tasks::default(),
        working_memory: WorkingMemory::new(allocator),
        metrics: Metrics::new(),
        stopping: stopping.clone(),
        limits: limits.clone(),
        settings,
    });
    let door = Arc::new(Door {
        tls: ArcSwapOption::from(tls),
        places: Arc::new(Semaphore::new(limits.max_connections)),
        sender_places: Arc::new(Semaphore::new(limits.max_sender_connections)),
        idle_timeout: limits.idle_timeout,
        read_timeout: limits.read_timeout,
        stopping,
    });
    // The store has its own by now.
    threads_can_be_had(FIRST_THREADS)?;
    for _ in 0..FIRST_THREADS {
        drop(tokio::task::spawn_blocking(|| ()));
    }
    let graceful = Arc::new(GracefulShutdown::new());
    let router = router(&app);
    let mut addresses = Vec::new();
    let mut accepting = Vec::new();
    for (i, listener) in listeners.into_iter().enumerate() {
        match (listener.local_addr(), i < app.settings.otlp_grpc_listen.len()) {
            (Ok(address), true) => tracing::info!(%address, protocol = "otlp-grpc", "listening"),
            (Ok(address), false) => addresses.push(address),
            (Err(_), _) => {} // it is served, and nobody can say where
        }
        accepting.push(tokio::spawn(listen(
            listener,
            app.clone(),
            router.clone(),
            door.clone(),
            graceful.clone(),
        )));
    }
    drop(router);
    accepting.extend(listeners::spawn(bound, &app, &door));
    for address in &addresses {
        tracing::info!(%address, store = %dir.display(), "listening");
    }
    let freshness = tokio::spawn(freshness::keep(app.clone()));
    let memory = tokio::spawn(working_memory::keep(app.clone()));
    ready(&addresses);
    tell_manager(NotifyState::Ready);
    wait(&app, &door, &mut signals).await;
    tracing::info!("stopping");
    tell_manager(NotifyState::Stopping);
    let _all_have_gone = stop.send(true);
    for task in accepting {
        let _ended = task.await;
    }
    let _kept = freshness.await;
    let _given_back = memory.await;
    note_uses(&app, true);
    end(app, graceful).await?;
    tracing::info!("stopped");
    Ok(())
}

/// Opens the store and the tenants that the settings name, with the retention that these say.
fn open_tenants(env: &Env, dir: &Path, settings: &Settings) -> Result<Tenants, ServeError> {
    for name in settings.tenants.keys() {
        let wrong = |e: TokenError| ServeError::TenantName { name: name.clone(), detail: e.to_string() };
        check_tenant(name).map_err(wrong)?;
    }
    let tenants = Tenants::open(env, dir, settings)?;
    for tenant in tenants.all() {
        tenant.set_retention(settings).map_err(|source| ServeError::Retention {
            whose: if tenant.name.is_empty() {
                "the store".into()
            } else {
                format!("tenant {}", tenant.name)
            },
            source,
        })?;
    }
    Ok(tenants)
}

/// Takes the addresses of HTTP, those of gRPC first. Where anybody may do everything, they must be this machine's.
async fn bind(settings: &Settings, anybody_may: bool) -> Result<Vec<TcpListener>, ServeError> {
    let mut listeners = Vec::new();
    for &address in settings.otlp_grpc_listen.iter().chain(&settings.listen) {
        if anybody_may && !address.ip().is_loopback() {
            return Err(ServeError::Open { address });
        }
        let failed = |source| ServeError::Listen { address, source };
        listeners.push(TcpListener::bind(address).await.map_err(failed)?);
    }
    Ok(listeners)
}

/// Lets what runs end, for a while, then closes the stores.
async fn end(app: Arc<App>, graceful: Arc<GracefulShutdown>) -> Result<(), ServeError> {
    app.queries.close();
    for tenant in app.tenants.all() {
        tenant.hub.stop();
    }
    // The listeners have ended, and each connection has a watcher only, so that nobody else holds it.
    let drained = async {
        if let Some(graceful) = Arc::into_inner(graceful) {
            graceful.shutdown().await;
        }
    };
    if tokio::time::timeout(app.limits.stop_timeout, drained).await.is_err() {
        tracing::warn!("some requests were still running after stop_timeout_ms");
    }
    let closing = tokio::task::spawn_blocking(move || {
        app.tenants.all().iter().map(|tenant| tenant.close()).collect::<Result<Vec<()>, _>>()
    });
    closing.await.map_err(std::io::Error::other)??;
    Ok(())
}

/// Tells the service manager, if one has asked for it (`NOTIFY_SOCKET`, as systemd's `sd_notify`).
fn tell_manager(state: NotifyState<'_>) {
    if let Err(e) = sd_notify::notify(&[state]) {
        tracing::warn!(error = %e, "cannot tell the service manager");
    }
}

/// The signals that are listened for, from before anybody is told that the server runs.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl Signals {
    fn listen() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }
}

/// Waits for a signal to stop; meanwhile sees to tokens and certificates.
async fn wait(app: &Arc<App>, door: &Door, signals: &mut Signals) {
    let Signals { terminate, interrupt, hangup } = signals;
    let mut tick = tokio::time::interval(TOKENS_EVERY);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = terminate.recv() => return,
            _ = interrupt.recv() => return,
            _ = hangup.recv() => {
                match tls_of(&app.settings) {
                    Ok(tls) => door.tls.store(tls),
                    Err(e) => tracing::error!(error = %e, "the certificate stays as it was"),
                }
                reload_tokens(app);
            }
            _ = tick.tick() => {
                reload_tokens(app);
                note_uses(app, false);
            }
        }
    }
}

fn reload_tokens(app: &App) {
    match app.tokens.reload() {
        Ok(true) => tracing::info!(tokens = app.tokens.count(), "tokens read again"),
        Ok(false) => {}
        Err(e) => tracing::error!(error = %e, "the tokens stay as they were"),
    }
}

fn note_uses(app: &App, at_once: bool) {
    if let Err(e) = app.tokens.note_uses(at_once) {
        tracing::warn!(error = %e, "when tokens were used cannot be noted");
    }
}
