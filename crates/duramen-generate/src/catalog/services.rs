//! The services, what they depend on, and the hosts.

/// What a service is written in, which decides how it logs an exception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    Go,
    Java,
    Python,
}

/// A service.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub(crate) name: String,
    /// Its name without the number, as its code knows itself.
    pub(crate) package: &'static str,
    pub(crate) runtime: Runtime,
    /// The services it calls, as indices.
    pub(crate) calls: Vec<u16>,
    /// Whether it asks the database.
    pub(crate) uses_database: bool,
    /// How long its own work takes at the median's lower end, in microseconds.
    pub(crate) base_us: f64,
}

/// The service in front of all others; it writes the access log.
pub(crate) const EDGE: u16 = 0;

use Runtime::{Go, Java, Python};

/// (name, runtime, calls, uses the database, base µs)
const SERVICES: [(&str, Runtime, &[u16], bool, f64); 20] = [
    ("edge", Go, &[1, 18], false, 400.0),
    ("auth", Go, &[2], true, 1_100.0),
    ("accounts", Java, &[15], true, 2_300.0),
    ("catalog", Java, &[9, 14], true, 2_800.0),
    ("search", Java, &[3, 12], false, 9_500.0),
    ("cart", Go, &[3, 9], true, 1_600.0),
    ("checkout", Java, &[5, 7, 8], true, 6_200.0),
    ("payments", Java, &[2, 15], true, 18_000.0),
    ("orders", Java, &[9, 10, 11], true, 4_100.0),
    ("inventory", Go, &[], true, 1_900.0),
    ("shipping", Python, &[18], true, 7_400.0),
    ("notifications", Python, &[2], false, 5_200.0),
    ("recommendations", Python, &[3], false, 12_500.0),
    ("reviews", Python, &[2], true, 3_300.0),
    ("media", Go, &[], false, 3_900.0),
    ("billing", Java, &[], true, 8_800.0),
    ("analytics", Python, &[], true, 15_000.0),
    ("scheduler", Python, &[16, 11], true, 2_000.0),
    ("config", Go, &[], false, 500.0),
    ("postgres", Go, &[], false, 700.0),
];

/// The first `n` services; past the twentieth they are numbered copies that call the same ones.
pub(crate) fn services(n: u16) -> Vec<Service> {
    (0..n)
        .map(|i| {
            let (package, runtime, calls, uses_database, base_us) = SERVICES[usize::from(i) % SERVICES.len()];
            let copy = usize::from(i) / SERVICES.len();
            let name = if copy == 0 { package.to_owned() } else { format!("{package}-{}", copy + 1) };
            let calls = calls.iter().copied().filter(|&c| c < n).collect();
            Service { name, package, runtime, calls, uses_database, base_us }
        })
        .collect()
}

/// The names of `n` hosts.
pub(crate) fn hosts(n: u16) -> Vec<String> {
    (0..n)
        .map(|i| {
            let role =
                ["web", "app", "app", "app", "web", "app", "db", "app", "web", "batch"][usize::from(i % 10)];
            format!("{role}-{:02}", i + 1)
        })
        .collect()
}
