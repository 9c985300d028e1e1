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

/// What an error is answered with: `google.rpc.Status` in protobuf, `code = 1`, `message = 2`.
pub fn status_protobuf(code: u32, message: &str) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.varint(1, u64::from(code));
    writer.bytes(2, message.as_bytes());
    writer.out
}

/// The same in JSON.
pub fn status_json(code: u32, message: &str) -> String {
    format!("{{\"code\":{code},\"message\":{}}}", serde_json::Value::from(message))
}
