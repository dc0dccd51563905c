//! Hosts as processes of this machine.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio_util::bytes::Bytes;
use windlass_actors::ports::runner::{Host, HostSink, HostSpec, Runner};

use super::environment::{self, Environment, HOST_MARK};
use super::host::{self, Plan};
use super::spawn::{Launch, Spawner};

/// What all hosts of a node have in common.
#[derive(Clone, Debug)]
pub struct ProcessOptions {
    /// The interpreter of types that name none.
    pub python: PathBuf,
    /// The folder that holds the package `windlass` of the Python SDK.
    pub sdk_dir: PathBuf,
    /// Names this node in the environment of its processes: the same in all its lives, another for each node.
    pub mark: String,
    /// Each attempt's files go to `artifacts/{task}/{epoch}` below it.
    pub data: PathBuf,
    /// Texts (passwords, tokens) no variable with which is passed on to plugins.
    pub secrets: Vec<String>,
    /// The program that becomes a shim; it calls [`super::shim::run_if_asked`] first thing in its `main`.
    pub shim: PathBuf,
}

impl ProcessOptions {
    /// With this program itself as the shim, and no secrets.
    pub fn new(python: PathBuf, sdk_dir: PathBuf, mark: String, data: PathBuf) -> Self {
        ProcessOptions { python, sdk_dir, mark, data, secrets: Vec::new(), shim: "/proc/self/exe".into() }
    }
}

/// Launches workers under shims. To be used within a Tokio runtime.
pub struct ProcessRunner {
    options: ProcessOptions,
    artifacts: Arc<Path>,
    environment: Environment,
    spawner: Spawner,
    launched: AtomicU64,
}

impl ProcessRunner {
    /// Starts the thread that starts processes.
    pub fn new(options: ProcessOptions) -> io::Result<Self> {
        Ok(ProcessRunner {
            artifacts: options.data.join("artifacts").into(),
            environment: environment::inherited(&options.secrets),
            spawner: Spawner::start(options.shim.clone())?,
            launched: AtomicU64::new(0),
            options,
        })
    }

    /// A Python process of ours with those arguments, and the mark of its own as `NAME=value`.
    fn python(&self, python: Option<&str>, arguments: &[&str]) -> (Launch, String) {
        let number = self.launched.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}/{}/{number}", self.options.mark, std::process::id());
        let environment = environment::python(&self.environment, &self.options.sdk_dir, &self.options.mark, &mark);
        let python = python.map_or_else(|| self.options.python.clone(), PathBuf::from);
        let arguments = arguments.iter().map(Into::into).collect();
        (Launch { python: python.into(), arguments, environment }, format!("{HOST_MARK}={mark}"))
    }
}

impl ProcessRunner {
    /// Begins a process that describes plugins into that slot.
    pub(super) fn begin_describing(
        &self,
        python: Option<&str>,
        arguments: &[&str],
        sink: HostSink,
        slot: Arc<OnceLock<Bytes>>,
    ) -> impl Host + use<> {
        let arguments = [&["-u", "-m", "windlass.describe"], arguments].concat();
        let (launch, mark) = self.python(python, &arguments);
        let artifacts = self.artifacts.clone();
        host::begin(
            Plan { launch, sink, artifacts, memory_mb: None, mark, described: Some(slot) },
            self.spawner.clone(),
        )
    }
}

impl Runner for ProcessRunner {
    fn launch(&self, spec: &HostSpec, sink: HostSink) -> Box<dyn Host> {
        let python = spec.types.iter().find_map(|t| t.python.as_deref());
        let (mut launch, mark) = self.python(python, &["-u", "-m", "windlass.worker"]);
        launch.environment.push(("WINDLASS_HOST".into(), environment::plan(spec).into()));
        let memory_mb = spec.types.iter().filter_map(|t| t.memory_mb).max();
        let plan = Plan { launch, sink, artifacts: self.artifacts.clone(), memory_mb, mark, described: None };
        Box::new(host::begin(plan, self.spawner.clone()))
    }
}
