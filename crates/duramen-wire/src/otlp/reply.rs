//! Replies to OTLP requests: nothing, or what was rejected.

use crate::decoded::Rejected;
use crate::protobuf::Writer;

/// `ExportLogsServiceResponse` in protobuf: empty, or `partial_success = 1 (rejected_log_records = 1,
/// error_message = 2)`. Clients do not send rejected records again.
pub fn reply_protobuf(rejected: &Rejected) -> Vec<u8> {
    let mut writer = Writer::default();
    if rejected.count > 0 {
        let partial = writer.begin(1);
        writer.varint(1, rejected.count);
        writer.bytes(2, rejected.to_string().as_bytes());
        writer.end(partial);
    }
    writer.out
}

/// The same in JSON.
pub fn reply_json(rejected: &Rejected) -> String {
    if rejected.count == 0 {
        return "{}".to_owned();
    }
    let message = serde_json::Value::from(rejected.to_string());
    // A 64-bit number is a text in protobuf's JSON.
    format!(
        "{{\"partialSuccess\":{{\"rejectedLogRecords\":\"{}\",\"errorMessage\":{message}}}}}",
        rejected.count
    )
}

/// What an error is answered with: `google.rpc.Status` in protobuf, `code = 1`, `message = 2`, and where trying again
/// can help, [`retry_info`] among its `details = 3` (`Any`: `type_url = 1`, `value = 2`).
pub fn status_protobuf(code: u32, message: &str, retry_after_s: Option<u64>) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.varint(1, u64::from(code));
    writer.bytes(2, message.as_bytes());
    if let Some(seconds) = retry_after_s {
        let any = writer.begin(3);
        writer.bytes(1, b"type.googleapis.com/google.rpc.RetryInfo");
        writer.bytes(2, &retry_info(seconds));
        writer.end(any);
    }
    writer.out
}

/// `google.rpc.RetryInfo` in protobuf, `retry_delay = 1` (`Duration`: `seconds = 1`): when to send the same again.
pub fn retry_info(seconds: u64) -> Vec<u8> {
    let mut writer = Writer::default();
    let delay = writer.begin(1);
    writer.varint(1, seconds);
    writer.end(delay);
    writer.out
}

/// The same in JSON.
pub fn status_json(code: u32, message: &str) -> String {
    format!("{{\"code\":{code},\"message\":{}}}", serde_json::Value::from(message))
}
