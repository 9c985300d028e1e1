//! A request: it enters at the edge, passes from service to service, and fails or does not.

use super::Workload;
use crate::catalog::messages::Group;
use crate::catalog::services::EDGE;
use crate::event::{Body, Event, Level, Request};
use crate::options::Kind;

/// Services call services no deeper than this.
const DEPTH: u32 = 4;
/// A query that takes longer is logged by the database.
const SLOW_QUERY_US: f64 = 60_000.0;

/// How a call ended.
#[derive(Clone, Copy)]
struct Outcome {
    took_us: f64,
    /// The status of the failure, if it failed.
    failed: Option<u16>,
}

impl Workload {
    /// A request arrives now.
    pub(super) fn request(&mut self) {
        let catalog = &self.catalog;
        let user = catalog.users.at(self.rng.next()) as u32;
        // A user mostly comes from one address; some addresses are proxies that many share.
        let address = if self.rng.chance(0.8) {
            user.wrapping_mul(7919) % 30_000
        } else {
            catalog.addresses.at(self.rng.next()) as u32
        };
        let route_index = catalog.route_choice.at(self.rng.next());
        let route = &catalog.routes[route_index];
        let (target, file) = (route.service, route.is_file());
        let status = match self.rng.below(1000) {
            0..25 if file => 304,
            0..12 => 404,
            12..18 => 401,
            18..21 => 429,
            _ => route.status,
        };
        let mut request = Request {
            seed: self.rng.next(),
            trace: [self.rng.next(), self.rng.next()],
            user,
            address,
            agent: catalog.agents.at(self.rng.next()) as u8,
            route: route_index as u8,
            status,
        };
        let host = self.any_host();
        let mut took_us = 150.0 * self.rng.pareto();
        // The access log alone does not need to know what happens behind the edge but for its failing.
        if self.kind != Kind::Syslog
            && !file
            && status < 400
            && usize::from(target) < self.catalog.services.len()
        {
            let outcome = self.call(target, &request, self.now_ns, 0);
            took_us += outcome.took_us;
            if let Some(status) = outcome.failed {
                request.status = status;
            }
        }
        if matches!(self.kind, Kind::Mixed | Kind::Access) {
            let level = match request.status {
                500.. => Level::Error,
                400.. => Level::Warn,
                _ => Level::Info,
            };
            let seed = self.rng.next();
            self.push(Event {
                time_ns: self.now_ns.saturating_add((took_us * 1000.0) as i64),
                level,
                app: EDGE,
                host,
                took_us: took_us as u32,
                seed,
                request: Some(request),
                body: Body::Access,
            });
        }
    }

    /// `app` is asked at a time, and asks others.
    fn call(&mut self, app: u16, request: &Request, start_ns: i64, depth: u32) -> Outcome {
        let stress = self.incidents.stress(app, start_ns);
        let host = self.any_host();
        let service = &self.catalog.services[usize::from(app)];
        let (uses_database, calls) = (service.uses_database, service.calls.len());
        let mut took_us = service.base_us * 0.5 * self.rng.pareto() * stress.slowdown;
        let mut request = *request;
        let at = |took_us: f64| start_ns.saturating_add((took_us * 1000.0) as i64);

        if self.rng.chance(0.75) {
            self.message(at(took_us * 0.2), app, host, Group::Step, Some(request), 0);
        }
        if uses_database && self.rng.chance(0.5) {
            let query_us = 800.0 * self.rng.pareto() * self.rng.pareto() * stress.slowdown;
            took_us += query_us;
            if query_us > SLOW_QUERY_US {
                let database = self.catalog.services.len().saturating_sub(1).min(19) as u16;
                let db_host = self.any_host();
                self.message(
                    at(took_us),
                    database,
                    db_host,
                    Group::SlowQuery,
                    Some(request),
                    query_us as u32,
                );
            }
        }
        let mut dependency_failed = None;
        for i in 0..calls {
            if depth + 1 < DEPTH && self.rng.chance(0.45) {
                let callee = self.catalog.services[usize::from(app)].calls[i];
                let outcome = self.call(callee, &request, at(took_us), depth + 1);
                took_us += outcome.took_us;
                if outcome.failed.is_some() {
                    dependency_failed = outcome.failed;
                    break;
                }
            }
        }
        if self.rng.chance(0.045) || took_us > 400_000.0 && self.rng.chance(0.3) {
            self.message(at(took_us), app, host, Group::Odd, Some(request), took_us as u32);
        }
        let failed = match dependency_failed {
            Some(_) => {
                self.message(at(took_us), app, host, Group::DependencyFailed, Some(request), took_us as u32);
                // Some callers can do without the answer.
                self.rng.chance(0.6).then_some(if took_us > 2_000_000.0 { 504 } else { 502 })
            }
            None if self.rng.chance(stress.error_rate) => {
                request.status = if stress.error_rate > 0.5 { 503 } else { 500 };
                self.message(at(took_us), app, host, Group::Failed, Some(request), took_us as u32);
                Some(request.status)
            }
            None => None,
        };
        if failed.is_none() && self.rng.chance(0.8) {
            self.message(at(took_us), app, host, Group::Done, Some(request), took_us as u32);
        }
        if failed.is_some() && self.rng.chance(0.05) {
            self.message(at(took_us), app, host, Group::Dying, None, 0);
        }
        Outcome { took_us, failed }
    }
}
