//! The paths that a file names: of its `use` declarations, and written out in its code.

use super::scan::{Token, tokens};

/// A path as written, and where its root is: `crate`, `super` and `self` are resolved to the module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    pub line: usize,
    /// From the crate's root if it is `ours`; else it begins with the name of a crate, or of something local.
    pub path: Vec<String>,
    pub ours: bool,
}

/// Everything that a file at `module` (its path within the crate) names.
pub fn imports(source: &str, module: &[&str]) -> Vec<Import> {
    let tokens = tokens(source);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        at = match &tokens[at] {
            t if t.is("use") && !tokens.get(at + 1).is_some_and(|t| t.is("<")) => {
                use_tree(&tokens, at + 1, &[], &mut found)
            }
            t if t.is_word() && begins_path(&tokens, at) => written_out(&tokens, at, &mut found),
            _ => at + 1,
        };
    }
    found.into_iter().map(|(line, path)| resolve(line, path, module)).collect()
}

type Found = Vec<(usize, Vec<String>)>;

/// Reads one tree of a `use` declaration and gives where it ends.
fn use_tree(tokens: &[Token], mut at: usize, prefix: &[String], found: &mut Found) -> usize {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "{" => return use_group(tokens, at + 1, &path, found),
            "::" => at += 1,
            "as" => at += 2,
            "*" => {
                path.push("*".to_owned());
                at += 1;
            }
            _ if token.is_word() => {
                path.push(token.text.clone());
                at += 1;
            }
            _ => break,
        }
    }
    if path.len() > prefix.len() {
        found.push((tokens[at - 1].line, path));
    }
    at
}

fn use_group(tokens: &[Token], mut at: usize, prefix: &[String], found: &mut Found) -> usize {
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "}" => return at + 1,
            "," => at += 1,
            _ => at = use_tree(tokens, at, prefix, found).max(at + 1),
        }
    }
    at
}

/// A word that is followed by `::`, and is no later part of a path.
fn begins_path(tokens: &[Token], at: usize) -> bool {
    let followed = tokens.get(at + 1).is_some_and(|t| t.is("::"));
    let inside = at >= 2 && tokens[at - 1].is("::") && (tokens[at - 2].is_word() || tokens[at - 2].is(">"));
    followed && !inside
}

fn written_out(tokens: &[Token], mut at: usize, found: &mut Found) -> usize {
    let (line, mut path) = (tokens[at].line, Vec::new());
    while tokens.get(at).is_some_and(Token::is_word) {
        path.push(tokens[at].text.clone());
        at += 1;
        if !tokens.get(at).is_some_and(|t| t.is("::")) {
            break;
        }
        at += 1;
    }
    found.push((line, path));
    at
}

fn resolve(line: usize, path: Vec<String>, module: &[&str]) -> Import {
    let mut root: Vec<String> = module.iter().map(ToString::to_string).collect();
    let mut ours = false;
    let mut rest = path.as_slice();
    while let [first, after @ ..] = rest {
        match first.as_str() {
            "crate" => root.clear(),
            "super" => drop(root.pop()),
            "self" if !ours => {}
            _ => break,
        }
        (ours, rest) = (true, after);
    }
    let path = if ours { [root.as_slice(), rest].concat() } else { path };
    Import { line, path, ours }
}

#[test]
fn paths_are_found_in_groups_in_code_and_through_super() {
    let source = "use crate::{domain::{Task, TaskId as Id}, ports};\nuse super::super::tree::*;\n\
                  fn f() { sqlx::query(); let x: Vec<crate::decide::X> = Self::g::<u8>().h(); }\n\
                  pub(in crate::a) use self::own::X;";
    let found: Vec<_> =
        imports(source, &["ports", "ledger"]).into_iter().map(|i| (i.line, i.ours, i.path.join("::"))).collect();
    let expected = [
        (1, true, "domain::Task"),
        (1, true, "domain::TaskId"),
        (1, true, "ports"),
        (2, true, "tree::*"),
        (3, false, "sqlx::query"),
        (3, true, "decide::X"),
        (3, false, "Self::g"),
        (4, true, "a"),
        (4, true, "ports::ledger::own::X"),
    ];
    for (line, ours, path) in expected {
        assert!(found.contains(&(line, ours, path.to_owned())), "{line} {path} in {found:#?}");
    }
}
