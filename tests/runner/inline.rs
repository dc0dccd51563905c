//! Async handlers in this process keep the same contract as workers.

use std::sync::Arc;

use windlass::adapters::runner::{InlineError, InlineRunner, Runners};
use windlass_actors::domain::{EndReason, Json, Kind, TaskType, TypeName};
use windlass_actors::ports::runner::{ExitCause, HostCommand, HostEvent, RunEvent, RunFailure};

use crate::rig::{Hosted, launch};

fn name(text: &str) -> TypeName {
    TypeName::new(text).unwrap()
}

async fn host() -> Hosted {
    let mut runner = InlineRunner::new();
    runner
        .register(name("echo"), |ctx| async move { Ok(ctx.payload().clone()) })
        .register(name("panics"), |_| async { panic!("at the disco") })
        .register(name("waits"), |ctx| async move {
            ctx.stage("waiting");
            ctx.cancelled().cancelled().await;
            Err(InlineError::retryable("CLOSED", "the connection closed"))
        })
        .register(name("saves"), |ctx| async move {
            ctx.checkpoint(Json::trusted("1")).await?;
            for number in 0..100 {
                ctx.emit(Json::trusted(number.to_string())).await?;
            }
            Ok(Json::null())
        });
    let types: Vec<TaskType> =
        ["echo", "panics", "waits", "saves"].map(|t| TaskType::new(name(t), Kind::Inline)).into();
    let runners = Runners::new(vec![(Kind::Inline, Arc::new(runner))]);
    let mut host = launch(&runners, &types);
    host.until(|event| matches!(event, HostEvent::Ready { pid: None }).then_some(())).await;
    host
}

#[tokio::test]
async fn a_handler_runs_and_a_shutdown_is_in_order() {
    let mut host = host().await;
    host.run(1, "echo", "[1]");
    assert_eq!(host.ended(1).await.unwrap(), "[1]");
    host.run(2, "waits", "{}");
    host.host.send(HostCommand::Shutdown);
    host.run(3, "echo", "{}");
    assert!(matches!(host.ended(3).await, Err(RunEvent::Failed { error, .. }) if error.code == "HOST_STOPPING"));
    host.host.send(HostCommand::Cancel { run: 2, reason: EndReason::Drain });
    assert!(matches!(host.ended(2).await, Err(RunEvent::Failed { failure: RunFailure::Cancelled, .. })));
    assert_eq!(host.exit().await.cause, ExitCause::Ordered);
}

#[tokio::test]
async fn a_panic_costs_its_run_only() {
    let mut host = host().await;
    host.run(1, "panics", "{}");
    match host.ended(1).await {
        Err(RunEvent::Failed { failure: RunFailure::Retryable, error, .. }) => {
            assert_eq!(error.code, "PANIC");
            assert!(error.detail.contains("at the disco"));
        }
        other => panic!("{other:?}"),
    }
    host.run(2, "echo", "2");
    assert_eq!(host.ended(2).await.unwrap(), "2");
}

#[tokio::test]
async fn a_kill_ends_all_runs_before_the_host_is_gone() {
    let mut host = host().await;
    host.run(1, "waits", "{}");
    host.until(|event| matches!(event, HostEvent::Run { event: RunEvent::Stage { .. }, .. }).then_some(())).await;
    host.host.kill();
    assert_eq!(host.exit().await.cause, ExitCause::Killed);
}

#[tokio::test]
async fn checkpoints_and_outputs_wait_for_their_acks() {
    let mut host = host().await;
    host.run(1, "saves", "{}");
    let mut outputs = 0;
    while outputs < 100 {
        let reference = host
            .until(|event| match event {
                HostEvent::Run { event: RunEvent::Checkpoint { reference, .. }, .. } => Some((*reference, 0)),
                HostEvent::Run { event: RunEvent::Output { reference, .. }, .. } => Some((*reference, 1)),
                _ => None,
            })
            .await;
        outputs += reference.1;
        host.host.send(HostCommand::Ack { run: 1, reference: reference.0, fenced: false });
    }
    assert_eq!(host.ended(1).await.unwrap(), "null");
    host.run(2, "saves", "{}");
    host.until(|event| matches!(event, HostEvent::Run { run: 2, event: RunEvent::Checkpoint { .. } }).then_some(()))
        .await;
    host.host.send(HostCommand::Ack { run: 2, reference: 1, fenced: true });
    assert!(matches!(host.ended(2).await, Err(RunEvent::Failed { failure: RunFailure::Cancelled, .. })));
}

#[tokio::test]
async fn a_kind_that_nobody_serves_is_not_launched() {
    let mut host = launch(&Runners::new(Vec::new()), &[TaskType::new(name("echo"), Kind::Python)]);
    assert_eq!(host.exit().await.cause, ExitCause::NotLaunched);
}

/// The node's own cost of a task that does nothing is bounded by this, far above what benches show.
#[tokio::test]
async fn a_thousand_runs_take_well_under_a_second() {
    let mut host = host().await;
    let started = std::time::Instant::now();
    for run in 0..1000 {
        host.run(run, "echo", "{}");
    }
    let done = |event: &HostEvent| matches!(event, HostEvent::Run { event: RunEvent::Done { .. }, .. }).then_some(());
    for _ in 0..1000 {
        host.until(done).await;
    }
    assert!(started.elapsed() < std::time::Duration::from_secs(1), "{:?}", started.elapsed());
}
