//! The progress bar of a followed task: on standard error, only where a person looks.

use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};

use super::event::Event;

const PARTS: u64 = 1000;

/// A bar, or nothing in a pipe.
pub struct Bar {
    bar: Option<ProgressBar>,
    stage: String,
}

impl Bar {
    /// A bar where both standard output and standard error are terminals.
    pub fn on_terminal(output_is_terminal: bool) -> Bar {
        let wanted = output_is_terminal && std::io::stderr().is_terminal();
        let style = ProgressStyle::with_template("{spinner} {bar:32} {percent:>3}%  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        Bar { bar: wanted.then(|| ProgressBar::new(PARTS).with_style(style)), stage: String::new() }
    }

    /// Moves the bar by an event.
    pub fn show(&mut self, event: &Event) {
        let Some(bar) = &self.bar else { return };
        match (event.kind.as_str(), event.progress()) {
            (_, Some(fraction)) => {
                bar.set_position((fraction * PARTS as f64) as u64);
                let message = event.data.get("message").and_then(|it| it.as_str()).unwrap_or_default();
                bar.set_message(format!("{} {}", self.stage, super::output::harmless(message)));
            }
            ("stage", _) => {
                self.stage = event.says();
                bar.set_message(self.stage.clone());
            }
            _ => bar.tick(),
        }
        if event.ending().is_some() {
            bar.finish_and_clear();
        }
    }

    /// Does the bar itself say what the event says?
    pub fn tells(&self, event: &Event) -> bool {
        self.bar.is_some() && event.progress().is_some()
    }

    /// Prints something else without tearing the bar.
    pub fn beside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
