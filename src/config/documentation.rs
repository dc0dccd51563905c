//! `docs/configuration.md`, made from the table of keys; a test holds the file against it.

use std::fmt::Write;

use super::keys::{KEYS, Key};
use super::value::Kind;
use super::variables::name_of;

const HEAD: &str = "\
# Configuration

This page is made from the table in `src/config/keys.rs`; a test compares them (`UPDATE_DOCS=1 cargo nextest run
configuration_page` writes it).

`windlass.toml` < environment < flags: the stronger layer wins. The file is the one of `--config`, else of
`WINDLASS_CONFIG`, else `windlass.toml` in the working directory if it is there. Every key has a variable:
`WINDLASS_` and the key in capitals with `__` for each dot (`WINDLASS_NODE__DRAIN_GRACE=30s`); some have a short name
too. An empty variable counts as not set. Relative paths are relative to the working directory. Durations are texts
such as `\"30s\"`, `\"500ms\"`, `\"20m\"`; sizes are bytes or texts such as `\"1MiB\"`.

`windlass config show` prints the effective value of each key and where it came from, secrets masked. A configuration
that is not allowed ends the program with status 78, all faults listed at once.
";

/// The whole page.
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    let mut table = "";
    for key in KEYS {
        let (of, _) = key.name.rsplit_once('.').unwrap_or(("", key.name));
        if of != table {
            table = of;
            let _ = write!(page, "\n## {}\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n", heading(of));
        }
        let _ = writeln!(page, "{}", row(key));
    }
    page
}

fn heading(table: &str) -> String {
    match table {
        "gateway.keys.#" => "`[[gateway.keys]]`".into(),
        "types.*" => "`[types.NAME]`, over what the plugin registered".into(),
        table => format!("`[{table}]`"),
    }
}

fn row(key: &Key) -> String {
    let default = key.default.map_or("–".into(), |it| format!("`{it}`"));
    let allowed = match key.kind {
        Kind::Unsupported(_) => "not in this build".into(),
        kind => kind.allowed(),
    };
    let variable = key.variable.map(|name| format!(" Also `{name}`.")).unwrap_or_default();
    let long = if key.name.contains(['*', '#']) { String::new() } else { format!("<br>`{}`", name_of(key.name)) };
    format!("| `{}`{long} | {default} | {allowed} | {}{variable} |", key.leaf(), key.doc)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a switch of the test itself")]
    fn the_configuration_page_says_what_the_table_of_keys_says() {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&page, super::markdown()).unwrap();
        }
        assert_eq!(std::fs::read_to_string(page).unwrap(), super::markdown(), "run with UPDATE_DOCS=1");
    }
}
