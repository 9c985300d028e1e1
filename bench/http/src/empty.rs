//! The empty server: reads each request to its end, answers 202, and does nothing. What HTTP itself costs.

use crate::Result;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

/// Serves until it is killed; its address is the first line that it prints.
pub(crate) async fn serve() -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        tokio::spawn(async {
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service_fn(answer));
            if let Err(e) = served.await {
                eprintln!("the empty server: {e}");
            }
        });
    }
}

async fn answer(request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    let mut response = Response::new(Full::new(Bytes::from_static(br#"{"status":"accepted"}"#)));
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}
