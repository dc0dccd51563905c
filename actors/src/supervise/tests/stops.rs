use super::*;

#[tokio::test(start_paused = true)]
async fn children_stop_in_reverse_order_each_after_the_one_before_has_ended() {
    let log = Log::default();
    let child = |name| {
        let probe = Probe { stop_takes: S, ..Probe::new(name, &log) };
        probe.child(Restart::Permanent, &Address::new())
    };
    let group = SupervisorSpec::new(Strategy::OneForOne, vec![child("b"), child("c")]);
    let root = one_for_one(vec![child("a"), Child::supervisor("group", group), child("d")]).await;
    log.take();
    assert!(root.stop(60 * S).await.is_empty());
    assert_eq!(log.take(), ["d stopped", "c stopped", "b stopped", "a stopped"]);
    assert!(root.roster().is_empty());
    assert_eq!(root.ended().await, Exit::Stopped);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_does_not_stop_in_time_is_killed_and_named_and_the_others_still_stop() {
    let (log, hanging) = (Log::default(), Address::new());
    let first = Probe::new("first", &log).child(Restart::Permanent, &Address::new());
    let root = one_for_one(vec![first, plain("hanging", &hanging).stop_within(2 * S)]).await;
    hanging.cast(Do::Hang).unwrap();
    settle().await;
    let asked = tokio::time::Instant::now();
    assert_eq!(root.stop(60 * S).await, ["hanging"]);
    assert_eq!(asked.elapsed().as_secs(), 2);
    assert_eq!(log.take(), ["first started", "first stopped"]);
}

#[tokio::test(start_paused = true)]
async fn a_tree_that_does_not_stop_in_time_is_killed_and_what_was_left_is_named() {
    let hanging = Address::new();
    let root = one_for_one(vec![plain("hanging", &hanging).stop_within(60 * S)]).await;
    hanging.cast(Do::Hang).unwrap();
    settle().await;
    assert_eq!(root.stop(S).await, ["node", "hanging"]);
    assert!(root.roster().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_second_stop_does_not_hang() {
    let root = one_for_one(vec![plain("a", &Address::new())]).await;
    let (first, second) = tokio::join!(root.stop(60 * S), root.stop(60 * S));
    assert!(first.is_empty() && second.is_empty());
    let asked = tokio::time::Instant::now();
    root.stop(60 * S).await;
    assert_eq!(asked.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_child_in_its_start_does_not_hold_up_the_stop() {
    let probe = Probe { on_start: |_| Go::Hang, ..Probe::new("a", &Log::default()) };
    let address = Address::<SupervisorMsg>::new();
    let group = SupervisorSpec::new(Strategy::OneForOne, vec![]);
    let root = one_for_one(vec![Child::supervisor_at("group", address.clone(), group)]).await;
    let child = probe.child(Restart::Permanent, &Address::new()).stop_within(S);
    address.cast(SupervisorMsg::StartChild(child)).unwrap();
    until(|| root.roster().len() == 3).await;
    assert_eq!(root.stop(60 * S).await, ["group/a"]);
    assert!(root.roster().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_child_that_drains_handles_what_is_queued_before_it_ends() {
    let (drained, stopped) = (Address::new(), Address::new());
    let root = one_for_one(vec![plain("drained", &drained).drains(), plain("stopped", &stopped)]).await;
    let answers = [(&stopped, S), (&drained, 3 * S)].map(|(address, time)| {
        let (reply, answer) = oneshot::channel();
        address.cast(Do::Work(time)).unwrap();
        address.cast(Do::Answer(reply)).unwrap();
        answer
    });
    root.stop(60 * S).await;
    let [stopped, drained] = answers;
    assert!(stopped.await.is_err(), "a stop overtakes the queue");
    assert_eq!(drained.await, Ok(1));
}

#[tokio::test(start_paused = true)]
async fn a_tree_that_is_dropped_is_killed() {
    let address = Address::new();
    let root = one_for_one(vec![plain("a", &address)]).await;
    let roster = root.roster().clone();
    drop(root);
    until(|| roster.is_empty()).await;
    assert!(address.cast(Do::Finish).is_err());
}

#[tokio::test(start_paused = true)]
async fn two_trees_in_one_process_do_not_collide() {
    let (one, two) = (Address::new(), Address::new());
    let first = one_for_one(vec![plain("a", &one)]).await;
    let second = one_for_one(vec![plain("a", &two)]).await;
    assert_eq!(paths(&first), paths(&second));
    one.cast(Do::Panic).unwrap();
    until(|| first.roster().restarts_total() == 1 && one.is_up()).await;
    first.stop(S).await;
    assert_eq!(ask(&two).await, Some(1));
    assert_eq!(second.roster().restarts_total(), 0);
}
