//! Rust source, cut into the few tokens that paths are made of: no strings, no comments, nothing under `cfg(test)`.

/// A word, `::`, or one character of punctuation, and the line it stands in.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub text: String,
    pub line: usize,
}

impl Token {
    pub fn is(&self, text: &str) -> bool {
        self.text == text
    }

    pub fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphabetic() || c == '_')
    }
}

/// The tokens of a file, without what only tests see.
pub fn tokens(source: &str) -> Vec<Token> {
    without_tests(&Scanner { rest: source, line: 1, found: Vec::new() }.scan())
}

struct Scanner<'a> {
    rest: &'a str,
    line: usize,
    found: Vec<Token>,
}

impl Scanner<'_> {
    fn scan(mut self) -> Vec<Token> {
        while let Some(first) = self.rest.chars().next() {
            let length = match first {
                '/' if self.rest.starts_with("//") => self.rest.find('\n').unwrap_or(self.rest.len()),
                '/' if self.rest.starts_with("/*") => block_comment(self.rest),
                '"' => 1 + string(&self.rest[1..]),
                '\'' => quoted_char(self.rest).unwrap_or(1),
                c if c.is_alphanumeric() || c == '_' => self.word(),
                ':' if self.rest.starts_with("::") => self.push(2),
                c if c.is_whitespace() => c.len_utf8(),
                c => self.push(c.len_utf8()),
            };
            self.line += self.rest[..length].matches('\n').count();
            self.rest = &self.rest[length..];
        }
        self.found
    }

    fn push(&mut self, length: usize) -> usize {
        self.found.push(Token { text: self.rest[..length].to_owned(), line: self.line });
        length
    }

    /// A word, or the string that a word like `r` or `b` begins.
    fn word(&mut self) -> usize {
        let length = self.rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(self.rest.len());
        let after = &self.rest[length..];
        let hashes = after.len() - after.trim_start_matches('#').len();
        let raw = matches!(&self.rest[..length], "r" | "br" | "cr") && after[hashes..].starts_with('"');
        if raw {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = length + hashes + 1;
            return self.rest[body..].find(&end).map_or(self.rest.len(), |at| body + at + end.len());
        }
        self.push(length)
    }
}

/// The length of a string's rest, up to its closing quote.
fn string(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// The length of a character literal; none if the quote begins a lifetime.
fn quoted_char(rest: &str) -> Option<usize> {
    let mut chars = rest.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        return rest[3..].find('\'').map(|at| at + 4);
    }
    let (at, second) = chars.next()?;
    (second == '\'').then_some(at + 1)
}

fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    rest.len()
}

fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let (mut kept, mut at) = (Vec::new(), 0);
    while at < tokens.len() {
        match test_attribute(&tokens[at..]) {
            Some(length) => at += length + item(&tokens[at + length..]),
            None => {
                kept.push(tokens[at].clone());
                at += 1;
            }
        }
    }
    kept
}

/// The length of an attribute `#[cfg(…test…)]` that stands here.
fn test_attribute(tokens: &[Token]) -> Option<usize> {
    let begins = tokens.len() > 3 && tokens[0].is("#") && tokens[1].is("[") && tokens[2].is("cfg");
    if !begins {
        return None;
    }
    let length = 1 + group(&tokens[1..]);
    let inside = &tokens[..length];
    let only_tests = inside.iter().any(|t| t.is("test")) && !inside.iter().any(|t| t.is("not"));
    only_tests.then_some(length)
}

/// The length of the item that stands here: up to its `;`, or the end of its first braces.
fn item(tokens: &[Token]) -> usize {
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].text.as_str() {
            ";" => return at + 1,
            "{" => return at + group(&tokens[at..]),
            "(" | "[" => at += group(&tokens[at..]),
            _ => at += 1,
        }
    }
    at
}

/// The length of the bracketed group that stands here.
fn group(tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 1 => return at + 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

#[test]
fn strings_comments_lifetimes_and_tests_are_not_seen() {
    let source = r##"
        // tree::a
        /* tree::b /* */ tree::c */
        fn f<'a>(x: &'a str) -> char { let _ = ("tree::d\"", r#"tree::"e"#, b"tree::f", '"', '\'', '\u{41}'); 'x' }
        #[cfg(test)]
        #[expect(x)]
        mod tests { use tree::g; }
        #[cfg(any(test, feature = "x"))]
        pub mod kit;
        #[cfg(not(test))]
        use seen::h;
    "##;
    let words: Vec<_> = tokens(source).into_iter().filter(Token::is_word).map(|t| (t.text, t.line)).collect();
    assert!(words.iter().all(|(word, _)| !["tree", "kit", "tests"].contains(&word.as_str())), "{words:?}");
    assert!(words.contains(&("seen".to_owned(), 11)), "{words:?}");
}
