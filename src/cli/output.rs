//! Output: data to standard output, a reader that leaves taken for the end; messages to standard error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;

use super::exit::CliError;

/// Where data goes, and whether a person looks at it.
pub struct Output {
    sink: Box<dyn Write + Send>,
    pub is_terminal: bool,
}

impl Output {
    pub fn standard() -> Output {
        Output { sink: Box::new(io::stdout()), is_terminal: io::stdout().is_terminal() }
    }

    /// For tests: into any sink, as into a pipe.
    pub fn into(sink: impl Write + Send + 'static) -> Output {
        Output { sink: Box::new(sink), is_terminal: false }
    }

    /// One line, flushed: who reads sees it at once.
    pub fn line(&mut self, text: &str) -> Result<(), CliError> {
        writeln!(self.sink, "{text}")?;
        Ok(self.sink.flush()?)
    }

    /// Text that brings its own line ends.
    pub fn text(&mut self, text: &str) -> Result<(), CliError> {
        self.sink.write_all(text.as_bytes())?;
        Ok(self.sink.flush()?)
    }

    /// JSON: on a terminal spread over lines, in a pipe one line a value.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = if self.is_terminal { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        self.line(&text.map_err(io::Error::other)?)
    }
}

/// A message to the person in front of it; that nobody may read it is no reason to fail.
pub fn tell(message: &str) {
    let _ = writeln!(io::stderr(), "{message}");
}

/// Columns of equal width, two blanks between them; the last one is not padded.
pub fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.max().unwrap_or(0).max(headings[column].chars().count())
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let heading = headings.iter().map(|it| it.to_uppercase()).collect();
    let lines = std::iter::once(&heading).chain(rows).map(|row| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    });
    lines.collect()
}

/// A text of a plugin or a server for a terminal: without control characters, so that it cannot steer the terminal.
pub fn harmless(text: &str) -> String {
    let shown = |c: char| match c {
        '\n' => '↵',
        '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned_and_has_no_trailing_blanks() {
        let rows = [vec!["hello".into(), "1".into()], vec!["a".into(), String::new()]];
        assert_eq!(table(&["type", "slots"], &rows), "TYPE   SLOTS\nhello  1\na\n");
    }

    #[test]
    fn escape_sequences_do_not_reach_the_terminal() {
        assert_eq!(harmless("a\u{1b}[31mb\nc"), "a\u{fffd}[31mb↵c");
    }

    #[test]
    fn a_closed_pipe_is_the_reader_leaving() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert!(matches!(Output::into(Closed).line("x"), Err(CliError::ReaderGone)));
    }
}
