//! Fluent's forward protocol over TCP.

use super::{Patience, READ_BYTES, Resting, broken, hold, no_memory, persist, read};
use crate::app::Shared;
use crate::intake::Intake;
use duramen_wire::Params;
use duramen_wire::fluent::Forward;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};

/// Entries of so many bytes, which the store takes at once, are counted nowhere.
const QUICK_BYTES: usize = 1 << 20;

/// Messages of a connection. Chunks are acknowledged when their entries are as safe as the durability setting says.
pub(super) async fn stream(
    mut stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    app: &Shared,
) -> std::io::Result<()> {
    let now_ns = app.env.clock.now_unix_ns();
    let mut forward = Forward::new(&Params::default(), now_ns, app.limits.max_body_bytes);
    let mut intake = Intake::new(app, app.tenants.own(), "fluent");
    let (mut buffer, mut acks) = (vec![0; READ_BYTES], Vec::new());
    let mut share = app.bodies.share(app.tenants.own());
    let (mut rest, mut patience) = (Resting::default(), Patience::default());
    loop {
        let Some(len) = read(&mut stream, &mut buffer, app, &mut rest, &mut patience).await? else {
            patience.check(&mut intake, app)?;
            forward.rest(app.env.clock.now_unix_ns());
            intake.decoded.rest();
            continue;
        };
        if len == 0 {
            return Ok(());
        }
        intake.received(len);
        let before = forward.buffered_bytes();
        let fed = forward.feed(&buffer[..len], app.env.clock.now_unix_ns(), &mut intake.decoded, &mut acks);
        if let Err(e) = &fed {
            intake.refuse(e.to_string());
        }
        // Whole messages before a broken one are kept. Entries that are many, or have to wait, count as those of a body do.
        let bytes = intake.decoded.entries_bytes();
        if bytes > QUICK_BYTES || !intake.append_at_once() {
            if let Err(e) = hold(&mut share, forward.buffered_bytes().saturating_add(bytes), app).await {
                let lines = intake.give_up();
                tracing::warn!(lines, protocol = "fluent", error = %e.message, "a sender is hung up on: there is no memory for what it sends");
                return Ok(());
            }
            if !persist(&mut intake, app).await {
                return Ok(());
            }
        }
        for ack in acks.drain(..) {
            stream.write_all(&ack).await?;
        }
        fed.map_err(broken)?;
        // A message that is not whole counts as a body does.
        hold(&mut share, forward.buffered_bytes(), app).await.map_err(no_memory)?;
        patience.holds(share.bytes(), forward.buffered_bytes() < before + len, app);
        patience.check(&mut intake, app)?;
    }
}
