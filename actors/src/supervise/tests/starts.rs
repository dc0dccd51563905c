use super::*;

fn failing_first(name: &'static str, log: &Log, on_start: OnStart) -> Probe {
    Probe { on_start, ..Probe::new(name, log) }
}

#[tokio::test(start_paused = true)]
async fn children_start_in_order_and_nested_ones_before_what_comes_after() {
    let log = Log::default();
    let child = |name| Probe::new(name, &log).child(Restart::Permanent, &Address::new());
    let group = SupervisorSpec::new(Strategy::OneForOne, vec![child("b"), child("c")]);
    let root = one_for_one(vec![child("a"), Child::supervisor("group", group), child("d")]).await;
    assert_eq!(log.take(), ["a started", "b started", "c started", "d started"]);
    assert_eq!(paths(&root), ["node", "a", "group", "group/b", "group/c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn a_start_that_fails_is_tried_again_and_told() {
    let address = Address::new();
    let probe = failing_first("a", &Log::default(), |start| if start == 1 { Go::Err } else { Go::Well });
    let root = one_for_one(vec![probe.child(Restart::Permanent, &address)]).await;
    until(|| address.is_up()).await;
    let row = root.roster().row("a").unwrap();
    assert_eq!((row.restarts, row.last_error.as_deref()), (1, Some("failed: no luck")));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_panics_is_tried_again_and_told() {
    let address = Address::new();
    let probe = failing_first("a", &Log::default(), |start| if start == 1 { Go::Panic } else { Go::Well });
    let root = one_for_one(vec![probe.child(Restart::Permanent, &address)]).await;
    until(|| address.is_up()).await;
    assert_eq!(root.roster().row("a").unwrap().last_error.as_deref(), Some("panicked: no luck at all"));
}

#[tokio::test(start_paused = true)]
async fn a_recipe_that_panics_is_a_failed_start() {
    let address = Address::<Do>::new();
    let starts = AtomicU32::new(0);
    let child = Child::actor("a", Restart::Permanent, address.clone(), move |_| {
        assert!(starts.fetch_add(1, Ordering::Relaxed) > 0, "no recipe");
        (Probe::new("a", &Log::default()), ())
    });
    let root = one_for_one(vec![child]).await;
    until(|| address.is_up()).await;
    assert_eq!(root.roster().row("a").unwrap().last_error.as_deref(), Some("panicked: no recipe"));
}

#[tokio::test(start_paused = true)]
async fn a_start_that_hangs_is_cut_off_and_holds_up_no_siblings_restart() {
    let (hanging, sibling) = (Address::new(), Address::new());
    let probe = failing_first("hanging", &Log::default(), |start| if start == 2 { Go::Hang } else { Go::Well });
    let root = one_for_one(vec![probe.child(Restart::Permanent, &hanging), plain("sibling", &sibling)]).await;
    hanging.cast(Do::Panic).unwrap();
    settle().await;
    sibling.cast(Do::Panic).unwrap();
    settle().await;
    until(|| sibling.is_up()).await;
    assert_eq!(ask(&sibling).await, Some(2));
    assert_eq!(state_of(&root, "hanging"), "starting");
    tokio::time::sleep(11 * S).await;
    until(|| hanging.is_up()).await;
    assert_eq!(root.roster().row("hanging").unwrap().last_error.as_deref(), Some("failed: did not start within 10 s"));
}

#[tokio::test(start_paused = true)]
async fn a_tree_whose_budget_is_spent_in_its_start_ends_with_the_reason() {
    let probe = failing_first("a", &Log::default(), |_| Go::Err);
    let spec = SupervisorSpec::new(Strategy::OneForOne, vec![probe.child(Restart::Permanent, &Address::new())]);
    let failed = start_root("node", Roster::new(), spec.budget(0, S)).await.unwrap_err();
    let words = "restart budget spent: more than 0 in 1 s: `a` failed: no luck";
    assert_eq!(failed, RootFailed(Exit::Failed(words.into())));
}

#[tokio::test(start_paused = true)]
async fn a_child_can_be_added_and_a_temporary_one_leaves_nothing() {
    let (a, b) = (Address::new(), Address::new());
    let root = one_for_one(vec![plain("a", &a)]).await;
    root.start_child(Probe::new("b", &Log::default()).child(Restart::Temporary, &b)).unwrap();
    until(|| b.is_up()).await;
    assert_eq!(paths(&root), ["node", "a", "b"]);
    b.cast(Do::Panic).unwrap();
    until(|| root.roster().len() == 2).await;
    root.start_child(Probe::new("b", &Log::default()).child(Restart::Temporary, &b)).unwrap();
    until(|| b.is_up()).await;
}

#[tokio::test(start_paused = true)]
async fn a_second_child_of_the_same_name_is_refused() {
    let (first, second) = (Address::new(), Address::new());
    let root = one_for_one(vec![plain("a", &first)]).await;
    root.start_child(plain("a", &second)).unwrap();
    settle().await;
    assert_eq!(ask(&first).await, Some(1));
    assert!(!second.is_up());
    assert_eq!(paths(&root), ["node", "a"]);
}
