//! `windlass up`: everything in one process, until a signal.

use tokio_util::sync::CancellationToken;

use super::args::UpArgs;
use super::exit::{CliError, Exit};
use super::output::tell;
use crate::boot::{Embedded, Ended, Signals};
use crate::config::Config;

pub async fn run(args: &UpArgs, config: &Config) -> Result<Exit, CliError> {
    if args.chaos {
        tell("windlass: chaos is on: whoever reaches the API can kill actors of this node");
    }
    // before the start, so that a signal during it ends in order as well
    let signals = Signals::listen()?;
    let (stop, hurry) = (CancellationToken::new(), CancellationToken::new());
    let passing = signals.pass_on(stop.clone(), hurry.clone());
    let serving = async {
        let embedded = tokio::select! {
            started = Embedded::start(config, args.chaos) => started?,
            () = stop.cancelled() => return Ok(Exit::Done),
        };
        tell(&format!("windlass: listening on http://{} (data in {})", embedded.address(), config.node.data.display()));
        ended(embedded.run(stop.clone(), hurry.clone()).await)
    };
    tokio::select! {
        () = passing => Ok(Exit::Done),
        done = serving => done,
    }
}

/// Says what the end cost.
pub fn ended(ended: Ended) -> Result<Exit, CliError> {
    match ended {
        Ended::Drained(report) => {
            tell(&format!(
                "windlass: drained: {} ran when it began, {} were cut short and released",
                report.held,
                report.cut.len()
            ));
            for key in &report.cut {
                tell(&format!("windlass: released {} (not charged, its last checkpoint kept)", key.task));
            }
            for key in &report.left {
                tell(&format!("windlass: the end of {} could not be written; the next start takes it back", key.task));
            }
            Ok(Exit::Done)
        }
        Ended::Broke(exit) => Err(CliError::Failed(format!("the supervision tree ended: {exit:?}"))),
    }
}
