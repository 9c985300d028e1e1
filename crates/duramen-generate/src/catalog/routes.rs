//! What clients ask for, and with which programs.

use super::variables::Template;

/// Something that can be asked for.
#[derive(Clone, Debug)]
pub(crate) struct Route {
    pub(crate) method: &'static str,
    pub(crate) path: Template,
    /// The service that answers; the edge itself for files.
    pub(crate) service: u16,
    /// The status of success.
    pub(crate) status: u16,
    pub(crate) weight: f64,
}

impl Route {
    /// Whether the edge answers it from a file.
    pub(crate) fn is_file(&self) -> bool {
        self.service == super::services::EDGE
    }
}

/// (method, path, service, status, weight)
const ROUTES: [(&str, &str, u16, u16, f64); 38] = [
    ("GET", "/", 0, 200, 60.0),
    ("GET", "/api/v1/products/{product}", 3, 200, 140.0),
    ("GET", "/api/v1/products?category={word}&page={small}", 3, 200, 70.0),
    ("GET", "/api/v1/search?q={word}+{word2}", 4, 200, 90.0),
    ("GET", "/api/v1/search/suggest?q={word}", 4, 200, 55.0),
    ("GET", "/api/v1/cart", 5, 200, 60.0),
    ("POST", "/api/v1/cart/items", 5, 201, 40.0),
    ("DELETE", "/api/v1/cart/items/{product}", 5, 204, 9.0),
    ("POST", "/api/v1/checkout", 6, 200, 22.0),
    ("POST", "/api/v1/payments/{order}/authorize", 7, 200, 18.0),
    ("POST", "/api/v1/payments/{order}/capture", 7, 200, 14.0),
    ("GET", "/api/v1/orders/{order}", 8, 200, 32.0),
    ("GET", "/api/v1/orders?user={user}&limit=20", 8, 200, 16.0),
    ("POST", "/api/v1/orders", 8, 201, 20.0),
    ("POST", "/api/v1/orders/{order}/cancel", 8, 200, 2.0),
    ("GET", "/api/v1/stock/{product}", 9, 200, 24.0),
    ("GET", "/api/v1/shipments/{uuid}", 10, 200, 12.0),
    ("POST", "/api/v1/shipments", 10, 201, 8.0),
    ("GET", "/api/v1/notifications", 11, 200, 35.0),
    ("GET", "/api/v1/recommendations/{user}", 12, 200, 45.0),
    ("GET", "/api/v1/reviews/{product}", 13, 200, 38.0),
    ("POST", "/api/v1/reviews/{product}", 13, 201, 3.0),
    ("GET", "/media/{product}/{small}.webp", 14, 200, 120.0),
    ("PUT", "/media/upload/{uuid}", 14, 201, 2.5),
    ("POST", "/api/v1/login", 1, 200, 26.0),
    ("POST", "/api/v1/logout", 1, 204, 7.0),
    ("POST", "/api/v1/token/refresh", 1, 200, 34.0),
    ("GET", "/api/v1/me", 2, 200, 48.0),
    ("PATCH", "/api/v1/me", 2, 200, 3.0),
    ("GET", "/api/v1/invoices/{order}.pdf", 15, 200, 4.0),
    ("POST", "/api/v1/events", 16, 202, 65.0),
    ("GET", "/healthz", 18, 200, 50.0),
    ("GET", "/static/js/app.{build}.js", 0, 200, 70.0),
    ("GET", "/static/css/site.{build}.css", 0, 200, 50.0),
    ("GET", "/static/img/logo.svg", 0, 200, 35.0),
    ("GET", "/favicon.ico", 0, 200, 20.0),
    ("GET", "/robots.txt", 0, 200, 6.0),
    ("GET", "/{word}/{word2}.php?id={int}", 0, 404, 5.0),
];

pub(crate) fn all() -> Vec<Route> {
    ROUTES
        .iter()
        .map(|&(method, path, service, status, weight)| Route {
            method,
            path: Template::parse(path),
            service,
            status,
            weight,
        })
        .collect()
}

/// The programs that ask, most used first.
pub(crate) const AGENTS: [&str; 20] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Mobile Safari/537.36",
    "ExampleShop/8.4.1 (Android 14)",
    "ExampleShop/8.4.0 (iOS 18.1)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Safari/605.1.15",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36",
    "ExampleShop/8.3.7 (Android 13)",
    "ExampleBot/2.1 (+https://bot.example.com/about)",
    "kube-probe/1.31",
    "Mozilla/5.0 (iPad; CPU OS 17_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.6 Mobile/15E148 Safari/604.1",
    "curl/8.5.0",
    "ExamplePartner-Sync/1.12",
    "python-requests/2.32.3",
    "Go-http-client/2.0",
    "okhttp/4.12.0",
    "ExampleShop/7.9.2 (Android 11)",
    "CrawlerOfExample/0.9 (crawler@example.org)",
];

/// Where a browser came from; the empty ones are logged as `-`.
pub(crate) const REFERERS: [&str; 8] = [
    "",
    "https://www.example.com/",
    "https://www.example.com/search",
    "",
    "https://www.example.com/cart",
    "https://search.example.net/",
    "https://news.example.org/offers",
    "",
];
