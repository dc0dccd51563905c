use super::*;

/// Children `a`, `b`, `c`; `b` crashes. What is logged until all are up again.
async fn after_a_crash_of_b(strategy: Strategy) -> Vec<String> {
    let log = Log::default();
    let addresses = [Address::new(), Address::new(), Address::new()];
    let [a, b, c] = &addresses;
    let child = |name, address| Probe::new(name, &log).child(Restart::Permanent, address);
    let root = tree(SupervisorSpec::new(strategy, vec![child("a", a), child("b", b), child("c", c)])).await;
    log.take();
    b.cast(Do::Panic).unwrap();
    settle().await;
    until(|| state_of(&root, "node") == "running").await;
    assert!(addresses.iter().all(Address::is_up));
    log.take()
}

#[tokio::test(start_paused = true)]
async fn one_for_one_restarts_the_child_alone() {
    assert_eq!(after_a_crash_of_b(Strategy::OneForOne).await, ["b started"]);
}

#[tokio::test(start_paused = true)]
async fn rest_for_one_restarts_only_later_siblings_in_order() {
    assert_eq!(after_a_crash_of_b(Strategy::RestForOne).await, ["c stopped", "b started", "c started"]);
}

#[tokio::test(start_paused = true)]
async fn one_for_all_stops_in_reverse_and_starts_all_in_order() {
    let log = after_a_crash_of_b(Strategy::OneForAll).await;
    assert_eq!(log, ["c stopped", "a stopped", "a started", "b started", "c started"]);
}

#[tokio::test(start_paused = true)]
async fn rest_for_one_starts_later_siblings_only_when_the_culprit_is_up_again() {
    let (log, a, b) = (Log::default(), Address::new(), Address::new());
    let on_start: OnStart = |start| if start == 2 { Go::Err } else { Go::Well };
    let first = Probe { on_start, ..Probe::new("a", &log) }.child(Restart::Permanent, &a);
    let second = Probe::new("b", &log).child(Restart::Permanent, &b);
    let spec = SupervisorSpec::new(Strategy::RestForOne, vec![first, second]).backoff(S, S);
    let root = tree(spec).await;
    log.take();
    a.cast(Do::Panic).unwrap();
    settle().await;
    assert_eq!(state_of(&root, "a"), "restarting in 1 s");
    assert_eq!(state_of(&root, "b"), "waiting for a sibling to restart");
    tokio::time::sleep(S).await;
    until(|| a.is_up() && b.is_up()).await;
    assert_eq!(log.take(), ["b stopped", "a started", "b started"]);
}

#[tokio::test(start_paused = true)]
async fn a_sibling_that_crashes_while_it_waits_to_be_ended_is_restarted_once() {
    let (log, a, b, c) = (Log::default(), Address::new(), Address::new(), Address::new());
    let child = |name, address| Probe::new(name, &log).child(Restart::Permanent, address);
    let slow = Probe { stop_takes: S, ..Probe::new("c", &log) }.child(Restart::Permanent, &c);
    let root = tree(SupervisorSpec::new(Strategy::RestForOne, vec![child("a", &a), child("b", &b), slow])).await;
    log.take();
    a.cast(Do::Panic).unwrap();
    settle().await;
    b.cast(Do::Panic).unwrap();
    tokio::time::sleep(2 * S).await;
    until(|| state_of(&root, "node") == "running").await;
    assert_eq!(log.take(), ["c stopped", "a started", "b started", "c started"]);
}

#[tokio::test(start_paused = true)]
async fn a_temporary_sibling_that_is_ended_by_the_strategy_does_not_come_back() {
    let (a, b) = (Address::new(), Address::new());
    let temporary = Probe::new("b", &Log::default()).child(Restart::Temporary, &b);
    let root = tree(SupervisorSpec::new(Strategy::OneForAll, vec![plain("a", &a), temporary])).await;
    a.cast(Do::Panic).unwrap();
    settle().await;
    until(|| a.is_up()).await;
    assert_eq!(paths(&root), ["node", "a"]);
}

#[tokio::test(start_paused = true)]
async fn one_for_all_starts_nobody_before_the_culprits_pause_is_over() {
    let (log, a, b) = (Log::default(), Address::new(), Address::new());
    let child = |name, address| Probe::new(name, &log).child(Restart::Permanent, address);
    let spec = SupervisorSpec::new(Strategy::OneForAll, vec![child("a", &a), child("b", &b)]).backoff(S, S);
    let root = tree(spec).await;
    b.cast(Do::Panic).unwrap();
    settle().await;
    until(|| state_of(&root, "node") == "running").await;
    log.take();
    b.cast(Do::Panic).unwrap();
    tokio::time::sleep(S / 2).await;
    assert_eq!(log.take(), ["a stopped"]);
    tokio::time::sleep(S).await;
    assert_eq!(log.take(), ["a started", "b started"]);
}
