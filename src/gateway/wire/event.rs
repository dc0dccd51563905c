//! Events on the wire: as JSON, and as frames of a `text/event-stream`.

use std::io::Write;

use serde::Serialize;
use utoipa::ToSchema;
use windlass_actors::domain::Event;

use super::raw::{Raw, time};

/// An event of a task.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct EventItem {
    /// 1..n within the task, without a gap.
    seq: i64,
    epoch: i64,
    /// `state`, `stage`, `progress`, `output`, `log` or `checkpoint`.
    kind: &'static str,
    at: String,
    /// By kind; a `state` event has `status`.
    data: Raw,
}

/// Events of a task, oldest first.
#[derive(Clone, PartialEq, Debug, Serialize, ToSchema)]
pub struct EventPage {
    pub events: Vec<EventItem>,
}

impl From<Event> for EventItem {
    fn from(event: Event) -> Self {
        EventItem {
            seq: event.seq,
            epoch: event.epoch.0,
            kind: event.kind.as_str(),
            at: time(event.at),
            data: Raw(event.data),
        }
    }
}

impl EventItem {
    /// Appends the event as a frame.
    pub fn write_frame(&self, into: &mut Vec<u8>) {
        // Writing to a vector does not fail; a value that cannot be written cannot be built.
        let _ = write!(into, "id: {}\nevent: {}\ndata: ", self.seq, self.kind);
        let start = into.len();
        let _ = serde_json::to_writer(&mut *into, self);
        // A line break within a JSON text is blank space, as those in strings are escaped; in a frame it is an end.
        into[start..].iter_mut().filter(|c| matches!(c, b'\n' | b'\r')).for_each(|c| *c = b' ');
        into.extend_from_slice(b"\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_actors::domain::{Epoch, EventKind, Json, Timestamp};

    #[test]
    fn a_frame_is_one_data_line_even_if_the_data_has_line_breaks() {
        let data = Json::trusted("{\n  \"text\": \"a\\nb\"\r\n}");
        let event = Event { seq: 7, epoch: Epoch(2), kind: EventKind::Log, at: Timestamp(0), data };
        let mut frame = Vec::new();
        EventItem::from(event).write_frame(&mut frame);
        let expected = "id: 7\nevent: log\ndata: {\"seq\":7,\"epoch\":2,\"kind\":\"log\",\"at\":\"1970-01-01T00:00:00.000Z\",\
                        \"data\":{   \"text\": \"a\\nb\"  }}\n\n";
        assert_eq!(String::from_utf8(frame).unwrap(), expected);
    }
}
