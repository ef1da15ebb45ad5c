//! The stream of events: JSON on lines of its own.

use crate::surfaces::present::Page;
use crate::surfaces::present::harmless;
use crate::verbs::events::Batch;
use crate::verbs::events::VERSION;
use serde::Serialize;
use std::io::ErrorKind;
use std::io::Write;

impl Page {
    /// The lines of one look, and where they leave the reader.
    pub fn events(batch: &Batch) -> Page {
        let mut text: String = batch.lines.iter().map(one).collect();
        text.push_str(&one(&Cursor { v: VERSION, kind: "cursor", cursor: &batch.cursor }));
        Page { raw: text.into_bytes(), ..Page::text(String::new()) }
    }

    /// A page in JSON as the last line of a stream.
    pub fn into_event(self) -> Page {
        let Ok(serde_json::Value::Object(mut told)) = serde_json::from_str(&self.out) else { return self };
        told.remove("schema");
        told.insert("v".into(), VERSION.into());
        told.insert("kind".into(), "result".into());
        told.insert("exit".into(), self.exit.code().into());
        Page { out: String::new(), raw: one(&told).into_bytes(), ..self }
    }

    /// Writes records to a reader who may stop reading at any time; false if it has gone away.
    pub fn stream(&self) -> std::io::Result<bool> {
        let mut out = std::io::stdout().lock();
        match out.write_all(&self.raw).and_then(|()| out.flush()) {
            Ok(()) => Ok(true),
            Err(e) if e.kind() == ErrorKind::BrokenPipe => Ok(false),
            Err(e) => Err(e),
        }
    }
}

#[derive(Serialize)]
struct Cursor<'b> {
    v: u32,
    kind: &'static str,
    cursor: &'b str,
}

fn one<T: Serialize>(line: &T) -> String {
    harmless(&serde_json::to_string(line).unwrap_or_default()) + "\n"
}
