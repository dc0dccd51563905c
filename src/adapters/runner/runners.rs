//! Picks the runner by the kind of a host's types.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use windlass_actors::domain::{Kind, TaskError};
use windlass_actors::ports::runner::{ExitCause, Host, HostCommand, HostEvent, HostExit, HostSink, HostSpec, Runner};

/// A runner for each kind that this node serves.
pub struct Runners(Vec<(Kind, Arc<dyn Runner>)>);

impl Runners {
    pub fn new(runners: Vec<(Kind, Arc<dyn Runner>)>) -> Self {
        Runners(runners)
    }

    fn of(&self, kind: Kind) -> Option<&dyn Runner> {
        self.0.iter().find(|(of, _)| *of == kind).map(|(_, runner)| runner.as_ref())
    }
}

impl Runner for Runners {
    fn launch(&self, spec: &HostSpec, sink: HostSink) -> Box<dyn Host> {
        let runner = spec.types.first().and_then(|t| self.of(t.kind));
        match runner {
            Some(runner) => runner.launch(spec, sink),
            None => Box::new(NoHost::launched(&spec.group, sink)),
        }
    }
}

/// Stands for a host that nobody could launch.
struct NoHost(CancellationToken);

impl NoHost {
    fn launched(group: &str, sink: HostSink) -> Self {
        let gone = CancellationToken::new();
        gone.cancel();
        let detail = format!("no runner serves the types of the group `{group}`");
        let cause = ExitCause::NotLaunched;
        tokio::spawn(async move {
            sink(HostEvent::StartFailed { error: TaskError::new(cause.code(), detail.clone()) });
            sink(HostEvent::Exited(HostExit { cause, detail }));
        });
        NoHost(gone)
    }
}

impl Host for NoHost {
    fn pid(&self) -> Option<u32> {
        None
    }
    fn send(&self, _: HostCommand) {}
    fn kill(&self) {}
    fn gone(&self) -> CancellationToken {
        self.0.clone()
    }
}
