//! Cancels at every moment.

use std::time::Duration;

use serde_json::json;

use crate::rig::{Rig, outcomes};

// S15
#[tokio::test]
async fn a_cancel_at_any_moment_gives_one_truth() {
    let rig = Rig::up(&["probe_ledger", "probe_fail"]).await;
    let mut seen = (0, 0);
    for n in 0..60u64 {
        let id = rig.submit("probe_ledger", json!({"ledger": rig.text("race"), "seconds": 0.03})).await;
        tokio::time::sleep(Duration::from_millis(n * 2 % 80)).await;
        let (status, answer) = rig.cancel(&id).await;
        let (again, _) = rig.cancel(&id).await;
        let task = rig.ended(&id).await;
        match status {
            409 => assert_eq!(task["status"], "succeeded", "{task}"),
            200 | 202 => assert!(task["status"] == "cancelled" || task["status"] == "succeeded", "{answer} {task}"),
            other => panic!("{other} {answer}"),
        }
        assert!(matches!(again, 200 | 202 | 409), "{again}");
        let ends = rig.ledger("race").iter().filter(|line| line["task"] == id && line["event"] == "end").count();
        if task["status"] == "succeeded" {
            seen.0 += 1;
            assert!(ends == 1 && task["result"].is_object(), "{task}");
        } else {
            seen.1 += 1;
            assert!(task["result"].is_null(), "{task}");
        }
        let states = rig.events(&id).await;
        let terminal =
            states.iter().filter(|it| matches!(it["data"]["status"].as_str(), Some("succeeded" | "cancelled")));
        assert_eq!(terminal.count(), 1, "{states:?}");
    }
    assert!(seen.0 > 0 && seen.1 > 0, "{seen:?}");
    // between a failure and the next try
    let payload = json!({"kind": "retryable", "retry_after": 60});
    let id = rig.submit("probe_fail", payload).await;
    rig.until("the retry to wait", async || {
        let task = rig.task(&id).await;
        (task["status"] == "queued" && task["attempts"][0].is_object()).then_some(())
    })
    .await;
    assert!(matches!(rig.cancel(&id).await.0, 200 | 202));
    let task = rig.ended(&id).await;
    assert_eq!((&task["status"], outcomes(&task)), (&json!("cancelled"), vec!["failed!".to_owned()]), "{task}");
}
