//! Answers that are made whole before any of them is sent: where the query ran, by its leave. On a thread that serves others, one
//! large answer would keep all waiting. How they wait for their clients: [`body`].

use super::Leave;
use super::gathered::Room;
use super::waiting::{Held, body};
use crate::app::Shared;
use crate::auth::Access;
use crate::error::{ApiError, ApiResult};
use crate::json::JSON;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use duramen_query::Cancel;
use serde::Serialize;
use std::io;
use std::time::Duration;

/// Answers with the JSON that `make` makes on a thread of its own, as one of the queries that may run at once, for `timeout` at
/// most.
///
/// # Errors
/// As `make`; 429 if too many queries run already, 503 if the server stops.
pub(crate) async fn whole(
    app: &Shared,
    access: &Access,
    timeout: Duration,
    make: impl FnOnce(&Shared, &Access, &Cancel) -> ApiResult<Vec<u8>> + Send + 'static,
) -> ApiResult<Response> {
    whole_by(app, access, Leave::take(app, access, timeout).await?, make).await
}

/// The same, by leave that was taken before.
pub(super) async fn whole_by(
    app: &Shared,
    access: &Access,
    leave: Leave,
    make: impl FnOnce(&Shared, &Access, &Cancel) -> ApiResult<Vec<u8>> + Send + 'static,
) -> ApiResult<Response> {
    let Leave { permits, cancel, guard: _guard, .. } = leave;
    let of_task = (app.clone(), access.clone());
    let task = tokio::task::spawn_blocking(move || {
        let (app, access) = of_task;
        let _memory = app.working_memory.in_use();
        let text = make(&app, &access, &cancel)?;
        let held = match app.answers.share(text.capacity()) {
            Some(memory) => Held::memory(memory),
            None => Held::place(permits),
        };
        Ok::<_, ApiError>((text, held))
    });
    let made = task.await.map_err(|e| ApiError::unavailable(format!("the query broke off: {e}")))?;
    let (text, held) = made?;
    Ok(([(header::CONTENT_TYPE, JSON)], body(app, access, text, held)).into_response())
}

/// So many bytes of a text are written before it is asked whether somebody waits for it.
const ASK_EVERY_BYTES: usize = 64 << 10;

/// JSON in the making: as long as there is room for it, and somebody waits.
pub(crate) struct JsonText<'a> {
    bytes: Vec<u8>,
    room: &'a mut Room,
    cancel: &'a Cancel,
    unasked_bytes: usize,
}

impl<'a> JsonText<'a> {
    /// Nothing yet.
    pub fn new(room: &'a mut Room, cancel: &'a Cancel) -> Self {
        Self { bytes: Vec::new(), room, cancel, unasked_bytes: 0 }
    }

    /// Adds a text as it is.
    ///
    /// # Errors
    /// 422 if there is no more room, 503 if nobody waits any more.
    pub fn raw(&mut self, text: &[u8]) -> ApiResult<()> {
        self.unasked_bytes += text.len();
        if self.unasked_bytes >= ASK_EVERY_BYTES {
            self.unasked_bytes = 0;
            self.cancel.check()?;
        }
        if self.room.take(text.len()).is_break() {
            return Err(self.room.over());
        }
        self.bytes.extend_from_slice(text);
        Ok(())
    }

    /// Whether there is room for so many bytes more.
    pub fn has_room(&self, bytes: usize) -> bool {
        self.room.has(bytes)
    }

    /// Adds a value.
    ///
    /// # Errors
    /// As [`Self::raw`].
    pub fn value(&mut self, value: &impl Serialize) -> ApiResult<()> {
        let mut refused = None;
        let written = serde_json::to_writer(Refusing { text: self, refused: &mut refused }, value);
        match (written, refused) {
            (Ok(()), _) => Ok(()),
            (Err(_), Some(refused)) => Err(refused),
            (Err(e), None) => Err(ApiError::unavailable(format!("the answer cannot be written: {e}"))),
        }
    }

    /// All that was added.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Writes into a text, and keeps why it did not.
struct Refusing<'t, 'a> {
    text: &'t mut JsonText<'a>,
    refused: &'t mut Option<ApiError>,
}

impl io::Write for Refusing<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.text.raw(bytes) {
            Ok(()) => Ok(bytes.len()),
            Err(e) => {
                *self.refused = Some(e);
                Err(io::ErrorKind::Other.into())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;

    #[test]
    fn a_text_ends_when_there_is_no_room_or_nobody_waits() {
        let cancel = Cancel::new();
        let mut room = Room::new(20);
        let mut text = JsonText::new(&mut room, &cancel);
        text.raw(b"[").unwrap();
        text.value(&("x", 1)).unwrap();
        assert_eq!(text.value(&"much too long a text").unwrap_err().status, StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(text.into_bytes(), b"[[\"x\",1]\"");
        let mut room = Room::new(usize::MAX);
        let mut text = JsonText::new(&mut room, &cancel);
        cancel.cancel();
        let told = (0..).find_map(|i| text.value(&vec![i; 100]).err()).unwrap();
        assert_eq!(told.status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.into_bytes().len() < ASK_EVERY_BYTES);
    }
}
