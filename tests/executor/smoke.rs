use super::support::{Rig, scripted};
use windlass_actors::domain::Status;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_is_claimed_run_and_settled() {
    let rig = Rig::start(vec![scripted("echo", 4)]).await;
    let id = rig
        .submit("echo", r#"{"do":[{"stage":"a"},{"output":1},{"output":2},{"checkpoint":{"x":1}},{"progress":0.5}]}"#)
        .await;
    let task = rig.ended(id).await;
    assert_eq!(task.status, Status::Succeeded, "{task:#?}");
    assert_eq!(task.partial.unwrap().as_str(), "[1,2]");
    assert_eq!((task.attempt, task.attempts.len()), (1, 1));
    let ids = futures_util::future::join_all((0..200).map(|_| rig.submit("echo", "{}"))).await;
    for id in ids {
        assert_eq!(rig.ended(id).await.status, Status::Succeeded);
    }
}
