//! What a sender wants done with each entry that was made of its body: `decolorize_fields`, and `debug`.

use duramen::{EntryBuf, EntryRef, Value};
use duramen_formats::{NameFilter, decolorize};

/// The name of the message among fields.
const MESSAGE: &str = "_msg";

/// What is done with each entry of a body. The default is nothing.
#[derive(Clone, Debug, Default)]
pub struct Treatment {
    /// Fields whose texts lose the escape sequences that colour them; `_msg` is the message.
    pub decolorized: NameFilter,
    /// Who is shown each entry in the store's place: `debug`.
    pub shown_to: Option<fn(&EntryRef<'_>)>,
}

impl Treatment {
    /// Writes what `bytes` hold, which are an entry, without colours into `plain`; says whether it has any where they are to go.
    pub(crate) fn decolorize(&self, bytes: &[u8], plain: &mut EntryBuf) -> bool {
        if self.decolorized.is_empty() || memchr::memchr(b'\x1b', bytes).is_none() {
            return false;
        }
        let Ok(entry) = EntryRef::decode(bytes) else { return false };
        let labels: Vec<String> = entry.stream().map(|(name, _)| name.to_owned()).collect();
        plain.set_stream_fields(&labels).start(entry.time).level(entry.level).raw_len(entry.raw_len as usize);
        let mut text = String::new();
        match self.decolorized.has(MESSAGE) {
            true => {
                decolorize(entry.message, &mut text);
                plain.message(&text)
            }
            false => plain.message(entry.message),
        };
        for (name, value) in entry.stream().chain(entry.fields()) {
            match value {
                Value::Str(coloured) if self.decolorized.has(name) => {
                    decolorize(coloured, &mut text);
                    plain.field(name, text.as_str());
                }
                value => _ = plain.field(name, value),
            }
        }
        true
    }
}
