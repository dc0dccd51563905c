//! The command line as a whole: what is accepted, and the promises of its help.

use clap::{CommandFactory, Parser};

use super::args::Cli;

fn accepts(line: &str) -> bool {
    Cli::try_parse_from(line.split_whitespace()).is_ok()
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn every_command_of_the_contract_is_accepted() {
    for line in [
        "windlass up --data d --plugins a --plugins b --listen 127.0.0.1:0",
        "windlass demo a.md b.md --keep",
        "windlass migrate --check",
        "windlass submit hello --payload - --model-spec {} --params {} --idempotency-key k --priority 9 --wait --follow",
        "windlass task show x --json",
        "windlass task list --status running --type hello --owner ann",
        "windlass task events x --follow",
        "windlass task cancel a b --reason r",
        "windlass task cancel --type hello --status queued --dry-run",
        "windlass task replay x --payload {} --fresh",
        "windlass type pause hello",
        "windlass type resume hello",
        "windlass dlq list --type hello",
        "windlass dlq show x",
        "windlass dlq replay a b",
        "windlass dlq replay --type hello --dry-run",
        "windlass dlq discard --all",
        "windlass types --json",
        "windlass nodes --json",
        "windlass tree --json",
        "windlass plugins check dir --json",
        "windlass config show --json --config f",
        "windlass --config f doctor",
        "windlass audit --json",
    ] {
        assert!(accepts(line), "{line}");
    }
}

#[test]
fn what_would_act_on_everything_by_accident_is_wrong_usage() {
    for line in [
        "windlass task cancel",
        "windlass task cancel --dry-run",
        "windlass task cancel a --type hello",
        "windlass dlq replay",
        "windlass dlq discard --dry-run",
        "windlass dlq discard --all --type hello",
        "windlass submit hello --priority 10",
        "windlass task list --status odd",
    ] {
        assert!(!accepts(line), "{line}");
    }
}

#[test]
fn every_command_has_help_with_an_example() {
    fn check(command: &clap::Command, path: &str) {
        let path = format!("{path} {}", command.get_name());
        let below: Vec<_> = command.get_subcommands().filter(|it| it.get_name() != "help").collect();
        if below.is_empty() {
            let examples = command.get_after_help().unwrap_or_else(|| panic!("{path} has no examples")).to_string();
            assert!(examples.contains(path.trim_start()), "{path}: {examples}");
            assert!(command.get_about().is_some(), "{path} says nothing about itself");
        }
        below.iter().for_each(|it| check(it, &path));
    }
    check(&Cli::command(), "");
}
