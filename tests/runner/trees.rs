//! Process trees: nothing outlives its host, and no host its node.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use windlass::adapters::runner::{ProcessRunner, sweep};
use windlass_actors::domain::{Kind, TaskType, TypeName};
use windlass_actors::ports::runner::{ExitCause, HostCommand};

use crate::rig::{Hosted, PATIENCE, Rig, describe, launch, marked, options};

/// A worker above a child, a child in a session of its own, and an orphan forked twice; all of them ignore SIGTERM.
const TREE: &str = "
sleeper = \"import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(1000)\"
import subprocess
def start(**more):
    subprocess.Popen([sys.executable, '-c', sleeper], stdout=subprocess.PIPE, **more).stdout.readline()
start()
start(start_new_session=True)
up, is_up = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        start()
        os.write(is_up, b'x')
        time.sleep(1000)
    os._exit(0)
os.wait()
os.read(up, 1)
ready()
";

/// The shim, the worker, three sleepers, and the twice forked process.
const MEMBERS: usize = 6;

async fn tree(deed: &str) -> (Rig, Hosted) {
    let (rig, mut host) = Rig::with_worker(&format!("{TREE}\n{deed}"));
    host.ready().await;
    assert_eq!(rig.marked().len(), MEMBERS, "{:?}", describe(&rig.marked()));
    (rig, host)
}

#[tokio::test]
async fn a_kill_takes_the_whole_tree_with_it() {
    let (rig, mut host) = tree("time.sleep(1000)").await;
    let gone = host.host.gone();
    host.host.kill();
    tokio::time::timeout(PATIENCE, gone.cancelled()).await.unwrap();
    assert_eq!(living(&rig.mark), Vec::<u32>::new());
    assert_eq!(host.exit().await.cause, ExitCause::Killed);
    rig.nothing_is_left(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn dropping_the_handle_kills_the_tree() {
    let (rig, host) = tree("time.sleep(1000)").await;
    let gone = host.host.gone();
    drop(host);
    tokio::time::timeout(PATIENCE, gone.cancelled()).await.unwrap();
    rig.nothing_is_left(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn what_a_worker_leaves_behind_ends_with_it() {
    let (rig, mut host) = tree("read()\nos._exit(0)").await;
    host.host.send(HostCommand::Shutdown);
    assert_eq!(host.exit().await.cause, ExitCause::Ordered);
    rig.nothing_is_left(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn orphans_are_reaped_while_the_worker_lives() {
    let source = "
for _ in range(50):
    if os.fork() == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.wait()
ready()
read()
";
    let (rig, mut host) = Rig::with_worker(source);
    let worker = host.ready().await;
    let started = Instant::now();
    while zombies() > 0 {
        assert!(started.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(rig.marked().contains(&worker));
}

#[tokio::test]
async fn a_node_that_is_killed_leaves_nothing_within_two_seconds() {
    let mark = uuid::Uuid::new_v4().to_string();
    let mut node = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "trees::a_node_of_its_own", "--ignored", "--nocapture"])
        .env("TEST_MARK", &mark)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(node.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("all is up")));
    assert_eq!(marked(&mark).len(), MEMBERS);
    node.kill().unwrap();
    node.wait().unwrap();
    let killed = Instant::now();
    while !marked(&mark).is_empty() {
        assert!(killed.elapsed() < Duration::from_secs(2), "left: {:?}", describe(&marked(&mark)));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
#[ignore = "a process of its own for another test"]
async fn a_node_of_its_own() {
    let Ok(mark) = std::env::var("TEST_MARK") else { return };
    let (rig, _) = Rig::with_worker(&format!("{TREE}\ntime.sleep(1000)"));
    let runner = ProcessRunner::new(options(rig.folder.path(), &mark, rig.folder.path().join("raw"))).unwrap();
    let mut host = launch(&runner, &[TaskType::new(TypeName::new("raw").unwrap(), Kind::Python)]);
    host.ready().await;
    println!("all is up");
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn what_a_killed_shim_leaves_is_swept_before_the_host_is_gone() {
    let (rig, mut host) = tree("time.sleep(1000)").await;
    let shim = parent(host.host.pid().unwrap());
    kill(shim, "KILL");
    let exit = host.exit().await;
    assert_eq!(exit.cause, ExitCause::Signal(9), "{exit:?}");
    assert_eq!(living(&rig.mark), Vec::<u32>::new());
}

#[tokio::test]
async fn a_shim_that_is_stopped_is_killed_with_all_that_is_below_it() {
    let (rig, mut host) = tree("time.sleep(1000)").await;
    kill(parent(host.host.pid().unwrap()), "STOP");
    host.host.kill();
    let exit = host.exit().await;
    assert_eq!(exit.cause, ExitCause::Killed, "{exit:?}");
    assert_eq!(living(&rig.mark), Vec::<u32>::new());
}

#[tokio::test]
async fn a_sweep_kills_its_own_marks_only() {
    let (rig, _host) = tree("time.sleep(1000)").await;
    let (other, mut neighbour) = Rig::with_worker("ready()\ntime.sleep(1000)");
    neighbour.ready().await;
    let mark = rig.mark.clone();
    let swept = tokio::task::spawn_blocking(move || sweep(&mark)).await.unwrap();
    assert!(swept.killed >= 1 && swept.left.is_empty(), "{swept:?}");
    assert_eq!(living(&rig.mark), Vec::<u32>::new());
    assert_eq!(other.marked().len(), 2);
    assert_eq!(sweep("no-such-mark").killed, 0);
}

#[tokio::test]
async fn a_shim_outlives_the_signals_of_a_service_manager() {
    let (rig, mut host) =
        Rig::with_worker("signal.signal(signal.SIGTERM, lambda *_: None)\nready()\nread()\nos._exit(0)");
    let worker = host.ready().await;
    for pid in [parent(worker), worker] {
        for signal in ["TERM", "INT", "HUP"].into_iter().take(if pid == worker { 1 } else { 3 }) {
            kill(pid, signal);
        }
    }
    host.host.send(HostCommand::Shutdown);
    assert_eq!(host.exit().await.cause, ExitCause::Ordered);
    drop(rig);
}

fn kill(pid: u32, signal: &str) {
    assert!(Command::new("kill").args([format!("-{signal}"), pid.to_string()]).status().unwrap().success());
}

fn stat(pid: u32) -> Option<(char, u32)> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_ascii_whitespace();
    Some((fields.next()?.chars().next()?, fields.next()?.parse().ok()?))
}

fn parent(pid: u32) -> u32 {
    stat(pid).unwrap().1
}

/// Marked processes but the shims, which end just after they have told that nothing is left.
fn living(mark: &str) -> Vec<u32> {
    let is_shim = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.starts_with(b"windlass\0"));
    marked(mark).into_iter().filter(|pid| !is_shim(pid)).collect()
}

/// Zombies below shims.
pub fn zombies() -> usize {
    let all = std::fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok());
    let below_shim = |ppid| std::fs::read(format!("/proc/{ppid}/cmdline")).is_ok_and(|c| c.starts_with(b"windlass\0"));
    all.filter(|pid: &u32| stat(*pid).is_some_and(|(state, ppid)| state == 'Z' && below_shim(ppid))).count()
}
