//! JSON given on the command line: as it is, from a file (`@FILE`), or from standard input (`-`).

use std::io::Read;

use serde_json::value::RawValue;

use super::exit::CliError;

/// What must come out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Any,
    Object,
}

/// Reads the argument of `flag`. The text is passed on as it is, so no number loses a digit on the way.
pub fn read(flag: &str, argument: &str, shape: Shape, input: impl Read) -> Result<Box<RawValue>, CliError> {
    let text = text(flag, argument, input)?;
    let value: Box<RawValue> = serde_json::from_str(text.trim()).map_err(|error| {
        CliError::Usage(format!("`{flag}` is no JSON ({error}); give JSON, @FILE, or - for standard input"))
    })?;
    if shape == Shape::Object && !value.get().starts_with('{') {
        return Err(CliError::Usage(format!("`{flag}` must be a JSON object, such as `{{\"model\":\"small\"}}`")));
    }
    Ok(value)
}

fn text(flag: &str, argument: &str, mut input: impl Read) -> Result<String, CliError> {
    let unreadable = |error: std::io::Error| CliError::Usage(format!("`{flag} {argument}` cannot be read: {error}"));
    match argument.strip_prefix('@') {
        Some(file) => std::fs::read_to_string(file).map_err(unreadable),
        None if argument == "-" => {
            let mut text = String::new();
            input.read_to_string(&mut text).map_err(unreadable)?;
            Ok(text)
        }
        None => Ok(argument.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::empty;

    use super::*;

    #[test]
    fn json_comes_as_it_is_from_a_file_or_from_standard_input() {
        assert_eq!(read("--payload", "{\"n\": 1.10}", Shape::Any, empty()).unwrap().get(), "{\"n\": 1.10}");
        assert_eq!(read("--payload", "-", Shape::Any, &b" [1]\n"[..]).unwrap().get(), "[1]");
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("p.json");
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(read("--payload", &format!("@{}", file.display()), Shape::Object, empty()).unwrap().get(), "{}");
    }

    #[test]
    fn what_is_no_json_or_no_object_is_wrong_usage() {
        assert!(matches!(read("--payload", "{oops", Shape::Any, empty()), Err(CliError::Usage(_))));
        assert!(matches!(read("--params", "[]", Shape::Object, empty()), Err(CliError::Usage(_))));
        assert!(matches!(read("--payload", "@/no/such/file", Shape::Any, empty()), Err(CliError::Usage(_))));
    }
}
