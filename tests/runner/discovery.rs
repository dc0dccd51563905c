//! What plugins are found, and that a broken one costs its own types only.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use windlass::adapters::runner::discover::FaultKind;
use windlass::adapters::runner::{DiscoverOptions, Discovery, TypeOverride, discover};

use crate::rig::Rig;

const HEAD: &str = "import os, time\nfrom windlass import register, CredentialMode\n";

fn write(rig: &Rig, path: &str, source: &str) -> PathBuf {
    let path = rig.folder.path().join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, format!("{HEAD}{source}\n")).unwrap();
    path.parent().unwrap().to_owned()
}

fn registers(name: &str, more: &str) -> String {
    format!("@register({name:?}{more})\ndef infer(m, payload, p): return 1")
}

async fn found(rig: &Rig, folders: &[PathBuf], overrides: &[(&str, TypeOverride)], seconds: u64) -> Discovery {
    let overrides: BTreeMap<_, _> = overrides.iter().map(|(name, o)| ((*name).to_owned(), o.clone())).collect();
    let timeout = Duration::from_secs(seconds);
    discover(&rig.runner, &DiscoverOptions { folders: folders.to_vec(), overrides, max_attempts: 7, timeout }).await
}

fn names(found: &Discovery) -> Vec<&str> {
    found.types.iter().map(|t| t.name.as_str()).collect()
}

#[tokio::test]
async fn what_a_plugin_says_and_the_configuration_overrides_makes_a_type() {
    let rig = Rig::new();
    let more = ", worker_threads=2, processes=3, timeout_seconds=1.5, memory_mb=64, description='d', payload_schema={'type': 'object'}";
    let folder = write(&rig, "plugins/one.py", &registers("one", more));
    let set = TypeOverride { processes: Some(5), max_running: Some(9), ..TypeOverride::default() };
    let found = found(&rig, &[folder], &[("one", set)], 20).await;
    assert_eq!(found.faults, []);
    let one = &found.types[0];
    assert_eq!((one.worker_threads, one.processes, one.max_running), (2, 5, Some(9)));
    assert_eq!(one.max_attempts, 7, "the node's default: neither says how many");
    assert_eq!((one.timeout, one.memory_mb), (Some(Duration::from_millis(1500)), Some(64)));
    assert!(one.payload_schema.as_ref().unwrap().as_str().contains("object"));
    assert!(one.plugin.as_ref().unwrap().ends_with("/plugins/one.py"));
    assert_eq!(one.plugin_sha256.as_ref().unwrap().len(), 64);
    assert!(found.python.unwrap().1.starts_with("3."));
}

#[tokio::test]
async fn a_broken_file_costs_its_own_types_only() {
    let rig = Rig::new();
    let folder = write(&rig, "plugins/good.py", &registers("good", ""));
    write(&rig, "plugins/broken.py", "import nothing_of_that_name");
    write(&rig, "plugins/greedy.py", &registers("greedy", ", gpu={'memory_mb': 1, 'count': 1}"));
    write(&rig, "plugins/many.py", &registers("many", ", processes=1000000"));
    write(&rig, "plugins/paid.py", &registers("paid", ", credential_mode=CredentialMode.CALLER_REQUIRED"));
    let found = found(&rig, &[folder, "/nowhere".into()], &[("typo", TypeOverride::default())], 20).await;
    assert_eq!(names(&found), ["good"]);
    let faults: Vec<_> = found.faults.iter().map(|f| (f.kind.clone(), f.file.rsplit('/').next().unwrap())).collect();
    let expected = [
        (FaultKind::Unreadable, "nowhere"),
        (FaultKind::Raised("ModuleNotFoundError".into()), "broken.py"),
        (FaultKind::Unsupported, "greedy.py"),
        (FaultKind::Invalid, "many.py"),
        (FaultKind::Unsupported, "paid.py"),
        (FaultKind::UnknownType, "typo"),
    ];
    assert_eq!(faults, expected);
    assert!(found.faults[1].traceback.as_ref().unwrap().contains("broken.py"));
    assert!(found.faults[4].message.contains("`paid`: caller credentials are not served yet"));
}

#[tokio::test]
async fn a_file_that_hangs_or_dies_costs_its_own_types_only_and_leaves_nothing() {
    let rig = Rig::new();
    let folder = write(&rig, "plugins/good.py", &registers("good", ""));
    write(&rig, "plugins/hangs.py", "time.sleep(1000)");
    write(&rig, "plugins/dies.py", "os.write(2, b'famous last words'); os._exit(7)");
    let found = found(&rig, &[folder], &[], 4).await;
    assert_eq!(names(&found), ["good"]);
    let fault = |of: &str| found.faults.iter().find(|f| f.file.ends_with(of)).unwrap();
    assert_eq!(fault("hangs.py").kind, FaultKind::Hung);
    assert_eq!(fault("dies.py").kind, FaultKind::Died);
    assert!(fault("dies.py").message.contains("famous last words"));
    assert_eq!(found.faults.len(), 2);
    rig.nothing_is_left(Duration::from_secs(1)).await;
}

#[tokio::test]
async fn a_name_registered_twice_is_nobodys() {
    let rig = Rig::new();
    let first = write(&rig, "first/a.py", &registers("same", ""));
    let second = write(&rig, "second/b.py", &registers("same", ""));
    write(&rig, "second/c.py", &registers("other", ""));
    let found = found(&rig, &[first, second], &[], 20).await;
    assert_eq!(names(&found), ["other"]);
    assert_eq!(found.faults[0].kind, FaultKind::Duplicate);
    let message = &found.faults[0].message;
    assert!(message.contains("first/a.py") && message.contains("second/b.py"), "{message}");
}

#[tokio::test]
async fn a_missing_interpreter_is_the_folders_fault_once() {
    let rig = Rig::with(|options| options.python = "/nowhere/python".into());
    let folder = write(&rig, "plugins/good.py", &registers("good", ""));
    let found = found(&rig, &[folder], &[], 20).await;
    assert_eq!(found.faults.len(), 1);
    assert!(found.faults[0].message.contains("`/nowhere/python`"), "{}", found.faults[0]);
}
