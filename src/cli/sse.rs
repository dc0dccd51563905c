//! A parser of server-sent events (the WHATWG's event stream format), fed with pieces as they come.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    pub id: Option<String>,
    pub event: String,
    pub data: String,
}

/// Gathers pieces into frames. Pieces may be cut anywhere, within a character too.
#[derive(Debug, Default)]
pub struct Parser {
    /// Bytes of a line that is not whole yet.
    line: Vec<u8>,
    /// The last byte was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
    begun: bool,
    frame: Frame,
    has_data: bool,
}

impl Parser {
    /// The frames that `piece` completes.
    pub fn push(&mut self, piece: &[u8]) -> Vec<Frame> {
        let mut frames = Vec::new();
        for &byte in piece {
            let follows_return = std::mem::replace(&mut self.after_return, byte == b'\r');
            match byte {
                b'\n' if follows_return => {}
                b'\n' | b'\r' => frames.extend(self.end_line()),
                byte => self.line.push(byte),
            }
        }
        frames
    }

    fn end_line(&mut self) -> Option<Frame> {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let text = if self.begun { &text } else { text.trim_start_matches('\u{feff}') };
        self.begun = true;
        if text.is_empty() {
            return self.end_frame();
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        self.take_field(field, value.strip_prefix(' ').unwrap_or(value));
        None
    }

    /// A comment is a line with an empty field name; it and unknown fields are passed over.
    fn take_field(&mut self, field: &str, value: &str) {
        match field {
            "id" if !value.contains('\0') => self.frame.id = Some(value.into()),
            "event" => self.frame.event = value.into(),
            "data" => {
                if self.has_data {
                    self.frame.data.push('\n');
                }
                self.frame.data.push_str(value);
                self.has_data = true;
            }
            _ => {}
        }
    }

    fn end_frame(&mut self) -> Option<Frame> {
        let frame = std::mem::take(&mut self.frame);
        std::mem::take(&mut self.has_data).then_some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(id: Option<&str>, event: &str, data: &str) -> Frame {
        Frame { id: id.map(str::to_owned), event: event.into(), data: data.into() }
    }

    #[test]
    fn a_frame_has_id_event_and_data() {
        let frames = Parser::default().push(b"id: 3\nevent: stage\ndata: {\"a\":1}\n\n");
        assert_eq!(frames, [frame(Some("3"), "stage", "{\"a\":1}")]);
    }

    #[test]
    fn comments_and_unknown_fields_are_passed_over() {
        let frames = Parser::default().push(b": keep alive\n\nretry: 5\nfoo\ndata:x\n\n:\n\n");
        assert_eq!(frames, [frame(None, "", "x")]);
    }

    #[test]
    fn lines_of_data_are_joined_and_one_blank_is_dropped() {
        assert_eq!(Parser::default().push(b"data: a\ndata:  b\ndata\n\n"), [frame(None, "", "a\n b\n")]);
    }

    #[test]
    fn all_three_line_ends_are_understood() {
        let frames = Parser::default().push(b"data: a\r\n\r\ndata: b\r\rdata: c\n\n");
        assert_eq!(frames.iter().map(|it| it.data.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    #[test]
    fn a_frame_without_its_empty_line_is_not_given_out() {
        assert_eq!(Parser::default().push(b"id: 4\ndata: half\n"), []);
    }

    proptest::proptest! {
        #[test]
        fn it_does_not_matter_where_the_pieces_are_cut(cuts in proptest::collection::vec(0usize..70, 0..6)) {
            let stream = "\u{feff}id: 1\r\nevent: log\ndata: größe ✓\n\n: hi\n\nid: 2\rdata: b\r\rdata: c\r\n\r\n".as_bytes();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(stream.len())).collect();
            cuts.sort_unstable();
            let (mut parser, mut frames, mut from) = (Parser::default(), Vec::new(), 0);
            for cut in cuts.into_iter().chain([stream.len()]) {
                frames.extend(parser.push(&stream[from..cut]));
                from = cut;
            }
            proptest::prop_assert_eq!(frames, Parser::default().push(stream));
        }
    }
}
