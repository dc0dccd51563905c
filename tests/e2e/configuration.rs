//! Configurations that cannot work: told at once, a line a fault, with an exit code of their own (S40).

use std::time::{Duration, Instant};

use crate::rig::{PATIENCE, Rig, Said, said, windlass};

/// Tries to start a node with that configuration; it must give up by itself within five seconds.
async fn refused(configuration: &str, more: &[&str]) -> Said {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("windlass.toml"), configuration).unwrap();
    let mut command = windlass(folder.path(), &["up"]);
    if !more.contains(&"--listen") {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command.args(more);
    given_up(command).await
}

async fn given_up(mut command: std::process::Command) -> Said {
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let at = Instant::now();
    let ended = said(command).await;
    assert!(at.elapsed() < Duration::from_secs(5), "after {:?}: {ended:?}", at.elapsed());
    assert_eq!(ended.code, 78, "{ended:?}");
    assert!(!ended.err.contains("panicked"), "{ended:?}");
    ended
}

#[tokio::test]
async fn each_value_that_cannot_work_is_one_line_with_key_value_and_rule() {
    let faults = [
        ("[types.hello]\nworker_threads = 0\n", "types.hello.worker_threads", "0"),
        ("[types.hello]\nworker_threads = -1\n", "types.hello.worker_threads", "-1"),
        ("[types.hello]\nprocesses = 'ten'\n", "types.hello.processes", "ten"),
        ("[types.hello]\nworker_threads = 1000000000\n", "types.hello.worker_threads", "1000000000"),
        ("[node]\nlease = '3s'\nrenew = '3s'\n", "node.renew", "3s"),
        ("[node]\ndrain_grace = '0s'\n", "node.drain_grace", "0s"),
        ("[node]\nleese = '3s'\n", "node.leese", "node.lease"),
        ("[broker]\nurl = 'amqp://ann:sesame@host/'\n", "broker.url", "broker"),
    ];
    for (configuration, key, says) in faults {
        let ended = refused(configuration, &[]).await;
        let lines: Vec<_> = ended.err.lines().collect();
        assert_eq!(lines.len(), 1, "{configuration}: {ended:?}");
        assert!(lines[0].contains(key) && lines[0].contains(says), "{configuration}: {ended:?}");
        assert!(!ended.err.contains("sesame"), "a password is shown: {ended:?}");
    }
}

#[tokio::test]
async fn all_faults_of_file_and_environment_are_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("windlass.toml"), "[retry]\nbase = 'soon'\n[node]\nreap = 7\n").unwrap();
    let mut command = windlass(folder.path(), &["up", "--listen", "127.0.0.1:0"]);
    command.env("WINDLASS_NODE__LEESE", "3s").env("WINDLASS_PORT", "tcp://10.0.0.1:80");
    let ended = given_up(command).await;
    let lines: Vec<_> = ended.err.lines().collect();
    assert_eq!(lines.len(), 3, "{ended:?}");
    for key in ["retry.base", "node.reap", "WINDLASS_NODE__LEESE"] {
        assert_eq!(lines.iter().filter(|line| line.contains(key)).count(), 1, "{key}: {ended:?}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_toml_or_not_there_is_told() {
    let ended = refused("[node\n", &[]).await;
    assert!(ended.err.contains("windlass.toml"), "{ended:?}");
    let ended = refused("", &["--config", "elsewhere.toml"]).await;
    assert!(ended.err.contains("elsewhere.toml"), "{ended:?}");
}

#[tokio::test]
async fn an_address_without_keys_off_loopback_and_a_port_in_use_are_refused() {
    let ended = refused("", &["--listen", "0.0.0.0:0"]).await;
    assert!(ended.err.contains("listen") && ended.err.contains("key"), "{ended:?}");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let ended = refused("", &["--listen", &address]).await;
    assert!(ended.err.contains(&address) && ended.err.contains("--listen"), "{ended:?}");
    assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_used_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    for data in [file.clone(), file.join("below"), "/proc/windlass".into()] {
        let ended = refused("", &["--data", data.to_str().unwrap()]).await;
        assert!(ended.err.contains(data.to_str().unwrap()) && ended.err.contains("--data"), "{ended:?}");
        assert_eq!(ended.err.lines().count(), 1, "{ended:?}");
    }
    let data = folder.path().join("data");
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("lock"), "something else\n").unwrap();
    let ended = refused("", &["--data", data.to_str().unwrap()]).await;
    assert!(ended.err.contains("lock") && ended.err.contains("uuid"), "{ended:?}");
}

#[tokio::test]
async fn a_second_node_on_the_same_folder_is_refused_and_the_first_serves_on() {
    let rig = Rig::up(&["probe_sleep"]).await;
    let ended = given_up(windlass(rig.folder.path(), &["up", "--data", "data", "--listen", "127.0.0.1:0"])).await;
    assert!(ended.err.contains("in use"), "{ended:?}");
    let id = rig.submit("probe_sleep", serde_json::json!({"seconds": 0})).await;
    assert_eq!(rig.ended(&id).await["status"], "succeeded");
    assert!(!rig.hosts("probe_sleep").await.is_empty(), "the other start swept the hosts");
}

#[tokio::test]
async fn a_broken_plugin_stops_the_start_if_told_so_and_else_is_skipped() {
    let mut rig = Rig::prepared(&["probe_sleep"], "", &[]);
    std::fs::write(rig.path("plugins/broken.py"), "def (:\n").unwrap();
    rig.start().await;
    assert!(rig.said().contains("broken.py"), "{}", rig.said());
    let id = rig.submit("probe_sleep", serde_json::json!({"seconds": 0})).await;
    assert_eq!(rig.ended(&id).await["status"], "succeeded");
    rig.signal("TERM");
    assert_eq!(rig.exited(PATIENCE).await.code(), Some(0));
    let mut command = windlass(rig.folder.path(), &["up", "--data", "data", "--listen", "127.0.0.1:0"]);
    command.args(["--plugins", "plugins"]).env("WINDLASS_NODE__ON_PLUGIN_ERROR", "fail");
    let ended = given_up(command).await;
    assert!(ended.err.contains("on_plugin_error"), "{ended:?}");
}
