//! Tells the same submission from another one under the same idempotency key, whatever the order of its keys or its
//! blank space.

use serde_json::Value;
use sha2::{Digest, Sha256};

/// A hash over the meaning of JSON values and texts. Each part is tagged and closed, so that none runs into the next.
#[derive(Clone, Default)]
pub struct Fingerprint(Sha256);

impl Fingerprint {
    pub fn value(&mut self, value: &Value) -> &mut Self {
        // The depth is that of a value that `serde_json` parsed: 128 at most.
        match value {
            Value::Null => self.0.update(b"n"),
            Value::Bool(true) => self.0.update(b"t"),
            Value::Bool(false) => self.0.update(b"f"),
            Value::Number(number) => self.tagged(b'#', number.to_string().as_bytes()),
            Value::String(text) => self.tagged(b'"', text.as_bytes()),
            Value::Array(items) => {
                self.open(b'[', items.len());
                items.iter().for_each(|item| {
                    self.value(item);
                });
            }
            Value::Object(fields) => {
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_unstable_by_key(|(key, _)| key.as_str());
                self.open(b'{', sorted.len());
                for (key, value) in sorted {
                    self.tagged(b'"', key.as_bytes());
                    self.value(value);
                }
            }
        }
        self
    }

    pub fn text(&mut self, text: &str) -> &mut Self {
        self.tagged(b'"', text.as_bytes());
        self
    }

    /// In hexadecimal digits.
    pub fn finish(&self) -> String {
        self.0.clone().finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn open(&mut self, tag: u8, len: usize) {
        self.0.update([tag]);
        self.0.update((len as u64).to_be_bytes());
    }

    fn tagged(&mut self, tag: u8, bytes: &[u8]) {
        self.open(tag, bytes.len());
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> String {
        Fingerprint::default().value(&serde_json::from_str(json).unwrap()).finish()
    }

    #[test]
    fn order_and_blank_space_do_not_matter() {
        assert_eq!(of(r#"{"a":1,"b":[true,null]}"#), of("{ \"b\" : [true, null],\n\"a\":1 }"));
        assert_eq!(of(r#"{"a":"A"}"#), of(r#"{"a":"\u0041"}"#));
    }

    #[test]
    fn every_difference_in_meaning_does() {
        let all = [
            "{}",
            "[]",
            "null",
            "\"\"",
            "0",
            "[[]]",
            "[{}]",
            r#"["a","b"]"#,
            r#"["ab",""]"#,
            r#"["b","a"]"#,
            "[1,2]",
            "[12]",
            r#"{"a":{"b":1}}"#,
            r#"{"a":{},"b":1}"#,
            "true",
            "false",
            "\"true\"",
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().map(|json| of(json)).collect();
        assert_eq!(distinct.len(), all.len());
    }
}
