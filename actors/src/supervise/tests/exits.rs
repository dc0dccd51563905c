use super::nursery::Parent;
use super::*;
use crate::supervise::roster::KillMode;

async fn exit_after(end: impl FnOnce(&ActorRef<Do>)) -> Exit {
    let mut parent = Parent::start().await;
    let child = parent.spawn("c", Probe::new("c", &Log::default())).await;
    end(&child);
    parent.next_end().await.exit
}

#[tokio::test(start_paused = true)]
async fn an_actor_that_stops_itself_is_done() {
    assert_eq!(exit_after(|actor| actor.cast(Do::Finish).unwrap()).await, Exit::Done);
}

#[tokio::test(start_paused = true)]
async fn a_panic_is_told_from_an_error() {
    assert_eq!(exit_after(|actor| actor.cast(Do::Panic).unwrap()).await, Exit::Panicked("boom".into()));
    assert_eq!(exit_after(|actor| actor.cast(Do::Fail).unwrap()).await, Exit::Failed("bad".into()));
}

#[tokio::test(start_paused = true)]
async fn a_kill_is_told_from_a_drain_and_from_an_end_of_its_own() {
    assert_eq!(exit_after(|actor| actor.kill()).await, Exit::Killed);
    assert_eq!(exit_after(|actor| actor.drain().unwrap()).await, Exit::Drained);
    assert_eq!(exit_after(|actor| actor.stop(None)).await, Exit::Done);
}

#[tokio::test(start_paused = true)]
async fn an_actor_asked_by_its_supervisor_is_stopped() {
    let mut parent = Parent::start().await;
    parent.spawn("c", Probe::new("c", &Log::default())).await;
    parent.stop("c");
    assert_eq!(parent.next_end().await.exit, Exit::Stopped);
}

#[tokio::test(start_paused = true)]
async fn the_causes_of_an_error_are_told_with_it() {
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] std::fmt::Error);
    let marked = crate::supervise::exit::Failure::mark(Box::new(Outer(std::fmt::Error)));
    assert_eq!(marked.to_string(), format!("outer: {}", std::fmt::Error));
}

#[tokio::test(start_paused = true)]
async fn only_ends_that_nobody_wished_for_are_crashes() {
    assert!([Exit::Killed, Exit::Panicked(String::new()), Exit::Failed(String::new())].iter().all(Exit::is_crash));
    assert!(![Exit::Done, Exit::Stopped, Exit::Drained].iter().any(Exit::is_crash));
}

#[tokio::test(start_paused = true)]
async fn an_actor_is_killed_by_its_path() {
    let address = Address::new();
    let root = one_for_one(vec![plain("a", &address)]).await;
    root.roster().kill("a", KillMode::Kill).unwrap();
    until(|| root.roster().restarts_total() == 1).await;
    assert_eq!(root.roster().row("a").unwrap().last_error.as_deref(), Some("killed"));
}

#[tokio::test(start_paused = true)]
async fn an_idle_actor_panics_on_order_by_its_path() {
    let address = Address::new();
    let root = one_for_one(vec![plain("a", &address)]).await;
    root.roster().kill("a", KillMode::Panic).unwrap();
    until(|| root.roster().restarts_total() == 1).await;
    assert_eq!(root.roster().row("a").unwrap().last_error.as_deref(), Some("panicked: panicked on order"));
    until(|| address.is_up()).await;
    assert_eq!(ask(&address).await, Some(2));
    assert_eq!(paths(&root), ["node", "a"], "the messenger is no part of the tree");
}

#[tokio::test(start_paused = true)]
async fn a_nested_supervisor_panics_on_order_too() {
    let address = Address::new();
    let group = SupervisorSpec::new(Strategy::OneForOne, vec![plain("b", &address)]);
    let root = one_for_one(vec![Child::supervisor("group", group)]).await;
    root.roster().kill("group", KillMode::Panic).unwrap();
    until(|| root.roster().restarts_total() == 1 && address.is_up()).await;
    assert_eq!(ask(&address).await, Some(2));
}

#[tokio::test(start_paused = true)]
async fn an_actor_stopped_by_its_path_runs_its_post_stop_and_comes_back() {
    let (log, address) = (Log::default(), Address::new());
    let root = one_for_one(vec![Probe::new("a", &log).child(Restart::Permanent, &address)]).await;
    root.roster().kill("a", KillMode::Stop).unwrap();
    until(|| root.roster().restarts_total() == 1 && address.is_up()).await;
    assert_eq!(log.take(), ["a started", "a stopped", "a started"]);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_killed_where_nobody_lives() {
    let root = one_for_one(vec![]).await;
    assert_eq!(root.roster().kill("a", KillMode::Kill), Err(NoSuchActor("a".into())));
}
