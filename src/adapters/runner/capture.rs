//! What a worker prints, as lines: bounded in length, in number, and in the memory they cost whatever is printed.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::time::Instant;
use windlass_actors::ports::runner::{HostEvent, HostSink};

use super::message::MAX_TEXT;

const LINES_PER_SECOND: f64 = 200.0;
const BURST: f64 = 1000.0;
const CHUNK: usize = 64 << 10;

/// Reads a stream to its end and tells each line to the sink. Never stops reading: a full pipe would stop the worker.
pub(super) async fn capture(mut pipe: impl AsyncRead + Unpin, stream: Stream<'_>) {
    let (mut lines, mut limit) = (Lines::default(), Limit::new(Instant::now()));
    let mut chunk = vec![0; CHUNK];
    while let Ok(length @ 1..) = pipe.read(&mut chunk).await {
        let now = Instant::now();
        lines.feed(&chunk[..length], |line, lost| stream.tell(&mut limit, now, line, lost));
    }
    lines.end(|line, lost| stream.tell(&mut limit, Instant::now(), line, lost));
    stream.tell_dropped(limit.take_dropped());
}

/// Which stream it is, and who hears of it.
pub(super) struct Stream<'a> {
    pub name: &'static str,
    pub level: &'static str,
    pub sink: &'a HostSink,
    /// Keeps the last lines, for the story of the host's end.
    pub tail: Option<&'a Tail>,
}

impl Stream<'_> {
    fn tell(&self, limit: &mut Limit, now: Instant, line: &[u8], lost: usize) {
        let mut text = String::from_utf8_lossy(line).into_owned();
        if lost > 0 {
            text.push_str(&format!(" … [{lost} bytes cut]"));
        }
        if let Some(tail) = self.tail {
            tail.push(&text);
        }
        if limit.allows(now) {
            self.tell_dropped(limit.take_dropped());
            self.say(self.level, text);
        }
    }

    fn tell_dropped(&self, dropped: u64) {
        if dropped > 0 {
            self.say("warning", format!("… [{dropped} lines dropped: more than {LINES_PER_SECOND} a second]"));
        }
    }

    fn say(&self, level: &str, text: String) {
        (self.sink)(HostEvent::Log { level: level.to_owned(), stream: self.name.to_owned(), text });
    }
}

/// Splits at line feeds and carriage returns. Keeps at most [`MAX_TEXT`] bytes of a line and counts the rest.
#[derive(Default)]
struct Lines {
    kept: Vec<u8>,
    lost: usize,
}

impl Lines {
    /// Empty lines are left out, so that `\r\n` is one end.
    fn feed(&mut self, mut bytes: &[u8], mut tell: impl FnMut(&[u8], usize)) {
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            self.keep(&bytes[..end]);
            self.end(&mut tell);
            bytes = &bytes[end + 1..];
        }
        self.keep(bytes);
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = bytes.len().min(MAX_TEXT - self.kept.len());
        self.kept.extend_from_slice(&bytes[..room]);
        self.lost += bytes.len() - room;
    }

    fn end(&mut self, mut tell: impl FnMut(&[u8], usize)) {
        if !self.kept.is_empty() {
            tell(&self.kept, self.lost);
        }
        self.kept.clear();
        self.lost = 0;
    }
}

/// A bucket of lines that fills with time.
struct Limit {
    left: f64,
    at: Instant,
    dropped: u64,
}

impl Limit {
    fn new(now: Instant) -> Self {
        Limit { left: BURST, at: now, dropped: 0 }
    }

    fn allows(&mut self, now: Instant) -> bool {
        self.left = (self.left + (now - self.at).as_secs_f64() * LINES_PER_SECOND).min(BURST);
        self.at = now;
        let allowed = self.left >= 1.0;
        if allowed {
            self.left -= 1.0;
        } else {
            self.dropped += 1;
        }
        allowed
    }

    fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }
}

const TAIL_LINES: usize = 20;
const TAIL_BYTES: usize = 4 << 10;

/// The last lines of standard error.
#[derive(Default)]
pub(super) struct Tail(Mutex<VecDeque<String>>);

impl Tail {
    pub(super) fn push(&self, line: &str) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.push_back(super::message::cut(line, TAIL_BYTES).to_owned());
        while lines.len() > TAIL_LINES || lines.iter().map(|l| l.len() + 1).sum::<usize>() > TAIL_BYTES + 1 {
            lines.pop_front();
        }
    }

    /// Forgets them: what comes next is another run's.
    pub(super) fn clear(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// The lines as one text, empty if nothing was said.
    pub(super) fn text(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn split(pieces: &[&[u8]]) -> Vec<(String, usize)> {
        let (mut lines, mut told) = (Lines::default(), Vec::new());
        let mut tell = |line: &[u8], lost| told.push((String::from_utf8_lossy(line).into_owned(), lost));
        for piece in pieces {
            lines.feed(piece, &mut tell);
        }
        lines.end(&mut tell);
        told
    }

    #[test]
    fn lines_end_at_line_feeds_and_carriage_returns_wherever_the_chunks_end() {
        let told = split(&[b"a\r\nb", b"c\r10%\r20%", b"\n\nlast"]);
        let texts: Vec<&str> = told.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["a", "bc", "10%", "20%", "last"]);
    }

    #[test]
    fn of_a_long_line_the_beginning_is_kept_and_the_rest_counted() {
        let told = split(&[&[b'x'; 5000], &[b'y'; 5000], b"\nnext\n"]);
        assert_eq!(told[0].0.len(), MAX_TEXT);
        assert_eq!(told[0].1, 10_000 - MAX_TEXT);
        assert_eq!(told[1], ("next".to_owned(), 0));
    }

    #[test]
    fn a_flood_is_thinned_and_the_thinning_is_counted() {
        let now = Instant::now();
        let mut limit = Limit::new(now);
        let allowed = (0..5000).filter(|_| limit.allows(now)).count();
        assert_eq!((allowed, limit.take_dropped()), (1000, 4000));
        assert!(limit.allows(now + Duration::from_secs(1)));
    }

    #[test]
    fn the_tail_is_bounded_in_lines_and_bytes() {
        let tail = Tail::default();
        for number in 0..100 {
            tail.push(&format!("line {number}"));
        }
        assert!(tail.text().starts_with("line 80\n") && tail.text().ends_with("line 99"));
        tail.push(&"x".repeat(100_000));
        assert_eq!(tail.text().len(), TAIL_BYTES);
    }
}
