//! How the end of a host is told: each way of dying has its own cause.

use windlass_actors::domain::{Kind, TaskType, TypeName};
use windlass_actors::ports::runner::{ExitCause, HostCommand, HostEvent, RunEvent};

use crate::rig::{Hosted, Rig};

/// A raw worker that is ready, then does that.
async fn after_ready(deed: &str) -> (Rig, Hosted) {
    let (rig, mut host) = Rig::with_worker(&format!("ready()\n{deed}"));
    host.ready().await;
    (rig, host)
}

#[tokio::test]
async fn a_worker_that_ends_by_itself_is_told_by_status_or_signal() {
    let cases = [
        ("os.kill(os.getpid(), signal.SIGSEGV)", ExitCause::Signal(11), "signal 11 (SIGSEGV)"),
        ("os.kill(os.getpid(), signal.SIGKILL)", ExitCause::Signal(9), "signal 9 (SIGKILL)"),
        ("os.kill(os.getpid(), signal.SIGTERM)", ExitCause::Signal(15), "signal 15 (SIGTERM)"),
        ("os._exit(0)", ExitCause::Status(0), "exit status 0"),
        ("os._exit(137)", ExitCause::Status(137), "exit status 137"),
        ("sys.exit('the last words')", ExitCause::Status(1), "the last words"),
        ("sock.sendall(b'\\0\\0\\0\\x20\\0\\0\\0\\0{half'); os._exit(0)", ExitCause::Status(0), "exit status 0"),
    ];
    for (deed, cause, detail) in cases {
        let (_rig, mut host) = after_ready(deed).await;
        let exit = host.exit().await;
        assert_eq!(exit.cause, cause, "{deed}: {exit:?}");
        assert!(exit.detail.contains(detail), "{deed}: {exit:?}");
    }
}

#[tokio::test]
async fn a_worker_that_we_kill_is_told_as_killed_also_when_it_was_shutting_down() {
    let (_rig, mut host) = after_ready("time.sleep(1000)").await;
    host.host.send(HostCommand::Shutdown);
    host.host.kill();
    host.host.kill();
    assert_eq!(host.exit().await.cause, ExitCause::Killed);
}

#[tokio::test]
async fn a_host_that_is_killed_before_it_is_ready_is_told_as_killed() {
    let rig = Rig::new();
    let mut host = rig.launch(&[rig.plugin("slow", "time.sleep(1000)")]);
    host.host.kill();
    assert_eq!(host.exit().await.cause, ExitCause::Killed);
}

#[tokio::test]
async fn a_stopped_worker_dies_when_it_is_killed() {
    let (_rig, mut host) = after_ready("os.kill(os.getpid(), signal.SIGSTOP)").await;
    host.host.kill();
    assert_eq!(host.exit().await.cause, ExitCause::Killed);
}

#[tokio::test]
async fn what_is_not_the_protocol_breaks_the_host() {
    let cases = [
        ("sock.sendall(b'\\xff' * 64); time.sleep(1000)", "longer than"),
        ("sock.sendall(b'\\xff' * 64); os._exit(0)", "longer than"),
        ("sock.sendall(struct.pack('>II', 5, 0) + b'hello'); time.sleep(1000)", "header"),
        ("send({'t': 'stage', 'run': 'seven', 'name': 'x'}); time.sleep(1000)", "header"),
        ("send({'t': 'output', 'run': 1, 'ref': 1}, b'{'); time.sleep(1000)", "not one JSON value"),
        ("sock.close(); time.sleep(1000)", "closed its protocol socket"),
    ];
    for (deed, detail) in cases {
        let (_rig, mut host) = after_ready(deed).await;
        let exit = host.exit().await;
        assert_eq!(exit.cause, ExitCause::ProtocolBroken, "{deed}: {exit:?}");
        assert!(exit.detail.contains(detail), "{deed}: {exit:?}");
        assert!(host.seen.iter().any(|event| matches!(event, HostEvent::ProtocolBroken { .. })), "{deed}");
    }
}

#[tokio::test]
async fn a_worker_of_another_protocol_is_refused() {
    let (_rig, mut host) = Rig::with_worker("send({'t': 'ready', 'protocol': 2, 'pid': 1}); time.sleep(1000)");
    let exit = host.exit().await;
    assert_eq!(exit.cause, ExitCause::ProtocolBroken);
    assert!(exit.detail.contains("speaks protocol 2"), "{exit:?}");
}

#[tokio::test]
async fn what_was_said_before_the_end_is_told_before_the_end() {
    let deed = "send({'t': 'done', 'run': 1}, b'1'); os.write(1, b'last\\n'); os._exit(3)";
    let (_rig, mut host) = after_ready(deed).await;
    assert_eq!(host.exit().await.cause, ExitCause::Status(3));
    assert!(host.seen.iter().any(|e| matches!(e, HostEvent::Run { run: 1, event: RunEvent::Done { .. } })));
    assert_eq!(host.lines("stdout"), ["last"]);
}

#[tokio::test]
async fn a_missing_interpreter_is_not_launched_with_the_remedy() {
    let rig = Rig::with(|options| options.python = "/nowhere/python".into());
    let mut host = rig.launch(&[TaskType::new(TypeName::new("any").unwrap(), Kind::Python)]);
    let exit = host.exit().await;
    assert_eq!(exit.cause, ExitCause::NotLaunched);
    assert!(exit.detail.contains("`/nowhere/python`") && exit.detail.contains("set `python`"), "{exit:?}");
    assert!(matches!(&host.seen[0], HostEvent::StartFailed { error } if error.code == "HOST_NOT_LAUNCHED"));
}

#[tokio::test]
async fn a_missing_shim_is_not_launched_either() {
    let rig = Rig::with(|options| options.shim = "/nowhere/windlass".into());
    let mut host = rig.launch(&[TaskType::new(TypeName::new("any").unwrap(), Kind::Python)]);
    assert_eq!(host.exit().await.cause, ExitCause::NotLaunched);
}

#[tokio::test]
async fn a_tree_beyond_its_memory_limit_is_killed_as_out_of_memory() {
    let rig = Rig::new();
    let source = "
@register('eats')
def infer(model_spec, payload, inference_params):
    # Not the worker itself: the limit is for the whole tree.
    eater = \"import time; b = bytearray(300 << 20); print('full', flush=True); time.sleep(1000)\"
    subprocess.run([sys.executable, '-c', eater])
";
    let mut task_type = rig.plugin("eats", source);
    task_type.memory_mb = Some(200);
    let mut host = rig.launch(&[task_type]);
    host.ready().await;
    host.run(1, "eats", "{}");
    let exit = host.exit().await;
    assert_eq!(exit.cause, ExitCause::OutOfMemory, "{exit:?}");
    assert!(exit.detail.contains("200 MiB"), "{exit:?}");
}
