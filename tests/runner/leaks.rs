//! What passes to workers that should not, and what piles up in the node.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, Instant};

use windlass_actors::ports::runner::{ExitCause, HostCommand};

use crate::rig::{PATIENCE, Rig};

#[tokio::test]
async fn a_worker_has_the_standard_descriptors_and_the_protocol_only() {
    // What a careless parent leaves open without close-on-exec must not reach a worker.
    let _stray = stray();
    let source = "
ready()
fds = []
for fd in range(1024):
    try: os.fstat(fd); fds.append(fd)
    except OSError: pass
print(fds, os.readlink('/proc/self/fd/0'))
";
    let (_rig, mut host) = Rig::with_worker(source);
    assert_eq!(host.said("[").await, "[0, 1, 2, 3] /dev/null");
}

fn stray() -> std::os::fd::OwnedFd {
    let file = std::fs::File::open("/dev/zero").unwrap();
    let stray: std::os::fd::OwnedFd = file.into();
    rustix::io::fcntl_setfd(&stray, rustix::io::FdFlags::empty()).unwrap();
    stray
}

#[tokio::test]
async fn secrets_and_settings_of_the_node_are_not_in_a_workers_environment() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "leaks::a_node_with_secrets", "--ignored", "--nocapture"])
        .env("WINDLASS_DATABASE_URL", "postgres://u:marker-one@h/db")
        .env("WINDLASS_API_TOKEN", "marker-two")
        .env("DATABASE_URL", "postgres://u:marker-three@h/db")
        .env("KEPT", "for the plugin")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("KEPT=for the plugin"), "{text}");
    assert!(!text.contains("marker-"), "{text}");
}

#[tokio::test]
#[ignore = "a process of its own for another test"]
async fn a_node_with_secrets() {
    let rig = Rig::with(|options| options.secrets = vec!["marker-three".into()]);
    let source = "
@register('tells')
def infer(model_spec, payload, inference_params):
    initial = open('/proc/self/environ').read().split('\\0')
    return {'environ': dict(os.environ), 'initial': initial, 'argv': open('/proc/self/cmdline').read()}
";
    let mut host = rig.ready("tells", source).await;
    host.run(1, "tells", "{}");
    println!("{}", host.ended(1).await.unwrap());
}

#[tokio::test]
async fn two_hundred_hosts_leave_no_descriptor_and_no_zombie() {
    let (rig, mut first) = Rig::with_worker("ready()\nread()\nos._exit(0)");
    first.ready().await;
    let task_type = windlass_actors::domain::TaskType::new(
        windlass_actors::domain::TypeName::new("raw").unwrap(),
        windlass_actors::domain::Kind::Python,
    );
    for round in 0..50 {
        let mut hosts: Vec<_> = (0..4).map(|_| rig.launch(std::slice::from_ref(&task_type))).collect();
        for (number, host) in hosts.iter_mut().enumerate() {
            if (round + number) % 2 == 0 {
                host.ready().await;
                host.host.send(HostCommand::Shutdown);
                assert_eq!(host.exit().await.cause, ExitCause::Ordered);
            } else {
                host.host.kill();
                assert_eq!(host.exit().await.cause, ExitCause::Killed);
            }
        }
    }
    let started = Instant::now();
    // The first host: its shim and its worker; a socket to each and two pipes.
    while rig.marked().len() > 2 || our_children(&rig.mark) > 1 {
        assert!(started.elapsed() < PATIENCE, "{:?}", crate::rig::describe(&rig.marked()));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(descriptors() < 150, "{}", descriptors());
}

/// Shims and zombies below this process. Other tests have shims as well: zombies of those go soon.
fn our_children(mark: &str) -> usize {
    let marked: BTreeSet<u32> = crate::rig::marked(mark).into_iter().collect();
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let listed = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("children")).ok());
    let pids: Vec<u32> = listed.flat_map(|l| l.split(' ').filter_map(|p| p.parse().ok()).collect::<Vec<_>>()).collect();
    let is_zombie = |pid: &u32| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|c| c.is_empty());
    pids.iter().filter(|pid| marked.contains(pid)).count() + pids.iter().filter(|pid| is_zombie(pid)).count()
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}
