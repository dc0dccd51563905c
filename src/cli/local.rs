//! The commands that need no gateway: each is set up here and done in its own file.

use super::args::{LocalCommand, PluginsCommand};
use super::exit::{CliError, Exit};
use super::output::Output;
use super::{audit, demo, doctor, migrate, plugins_check, up};
use crate::config::Config;
use crate::telemetry;

/// Runs one of them on a runtime of its own.
pub fn run(command: LocalCommand, config: Config, out: &mut Output) -> Result<Exit, CliError> {
    let config = quiet_unless_asked(&command, config);
    telemetry::init_logs(&config.log).map_err(|error| CliError::Misconfigured(error.to_string()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().thread_name("windlass").enable_all().build()?;
    let done = runtime.block_on(async {
        match command {
            LocalCommand::Up(args) => up::run(&args, &config).await,
            LocalCommand::Demo(args) => demo::run(&args, config, out).await,
            LocalCommand::Plugins(PluginsCommand::Check(args)) => plugins_check::run(&args, config, out).await,
            LocalCommand::Migrate(args) => migrate::run(&args, &config, out).await,
            LocalCommand::Audit(args) => audit::run(args.json, &config, out).await,
            LocalCommand::Doctor(args) => doctor::run(args.json, &config, out).await,
        }
    });
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    done
}

/// Commands that print an answer say nothing but warnings beside it, unless somebody set what is to be logged.
fn quiet_unless_asked(command: &LocalCommand, mut config: Config) -> Config {
    let set =
        crate::config::entries(&config).iter().any(|entry| entry.key == "log.filter" && entry.source != "default");
    if !matches!(command, LocalCommand::Up(_)) && !set {
        config.log.filter = "warn".to_owned();
    }
    config
}
