//! JSON texts inside JSON, and moments as text.

use chrono::{DateTime, SecondsFormat};
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use windlass_actors::domain::{Json, Timestamp};

/// Any JSON value, passed on as it was given.
#[derive(Clone, PartialEq, Debug, ToSchema)]
#[schema(value_type = Value)]
pub struct Raw(pub Json);

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match serde_json::from_str::<&RawValue>(self.0.as_str()) {
            Ok(raw) => raw.serialize(serializer),
            // No adapter stores such a text; should one, its task can still be read.
            Err(_) => serializer.serialize_str(self.0.as_str()),
        }
    }
}

/// RFC 3339 in UTC with milliseconds.
pub fn time(at: Timestamp) -> String {
    let at = DateTime::from_timestamp_millis(at.0).unwrap_or(if at.0 < 0 {
        DateTime::<chrono::Utc>::MIN_UTC
    } else {
        DateTime::<chrono::Utc>::MAX_UTC
    });
    at.to_rfc3339_opts(SecondsFormat::Millis, true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_embedded_as_it_is() {
        let raw = Raw(Json::trusted("{\"b\":1.50, \"a\":12345678901234567890123}"));
        assert_eq!(serde_json::to_string(&[raw]).unwrap(), "[{\"b\":1.50, \"a\":12345678901234567890123}]");
    }

    #[test]
    fn times_are_utc_with_milliseconds() {
        assert_eq!(time(Timestamp(1_700_000_000_007)), "2023-11-14T22:13:20.007Z");
    }
}
