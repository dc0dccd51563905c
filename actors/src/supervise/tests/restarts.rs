use std::sync::Barrier;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_childs_clean_exit_takes_nobody_along() {
    let (a, b) = (Address::new(), Address::new());
    let transient = Probe::new("a", &Log::default()).child(Restart::Transient, &a);
    let root = one_for_one(vec![transient, plain("b", &b)]).await;
    a.cast(Do::Finish).unwrap();
    until(|| !a.is_up() && root.roster().row("a").is_none()).await;
    assert_eq!(ask(&b).await, Some(1));
    assert_eq!(state_of(&root, "node"), "running");
}

#[tokio::test(start_paused = true)]
async fn an_address_reaches_the_successor_and_gives_back_what_comes_in_between() {
    let address = Address::new();
    let root = one_for_one(vec![plain("a", &address)]).await;
    for _ in 0..2 {
        address.cast(Do::Panic).unwrap();
        settle().await;
    }
    assert_eq!(state_of(&root, "a"), "restarting in 100 ms");
    assert!(address.current().is_none(), "nobody keeps the dead actor");
    let (reply, _answer) = oneshot::channel();
    let Err(Unreachable(Do::Answer(_))) = address.cast(Do::Answer(reply)) else { panic!("the message is given back") };
    until(|| address.is_up()).await;
    assert_eq!(ask(&address).await, Some(3));
}

#[tokio::test(start_paused = true)]
async fn a_restart_keeps_the_count_and_the_last_error_of_its_path() {
    let address = Address::new();
    let root = one_for_one(vec![plain("a", &address)]).await;
    let seen = Log::default();
    let hook = seen.clone();
    root.roster().on_restart(move |path, exit| hook.add(format!("{path} {exit}")));
    address.cast(Do::Panic).unwrap();
    until(|| root.roster().restarts_total() == 1 && address.is_up()).await;
    address.cast(Do::Fail).unwrap();
    until(|| root.roster().restarts_total() == 2 && address.is_up()).await;
    let row = root.roster().row("a").unwrap();
    assert_eq!((row.restarts, row.last_error.as_deref(), row.state.as_str()), (2, Some("failed: bad"), "running"));
    assert_eq!(seen.take(), ["a panicked: boom", "a failed: bad"]);
}

#[tokio::test(start_paused = true)]
async fn pauses_grow_while_a_child_keeps_crashing_and_start_over_when_it_has_recovered() {
    let address = Address::new();
    let spec =
        SupervisorSpec::new(Strategy::OneForOne, vec![plain("a", &address)]).budget(10, 30 * S).backoff(S, 3 * S);
    let root = tree(spec).await;
    let mut pauses = Vec::new();
    for round in 0..5 {
        if round == 4 {
            tokio::time::sleep(30 * S).await;
        }
        address.cast(Do::Panic).unwrap();
        settle().await;
        let crashed = tokio::time::Instant::now();
        while !address.is_up() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        pauses.push(crashed.elapsed().as_secs());
    }
    assert_eq!(pauses, [0, 1, 2, 3, 0]);
    assert_eq!(root.roster().restarts_total(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_spent_budget_stops_the_children_in_order_and_fails_upward() {
    let (log, a, b) = (Log::default(), Address::new(), Address::new());
    let children = vec![Probe::new("a", &log).child(Restart::Permanent, &a), plain("b", &b)];
    let root = tree(SupervisorSpec::new(Strategy::OneForOne, children).budget(2, 30 * S)).await;
    for _ in 0..3 {
        until(|| b.is_up()).await;
        b.cast(Do::Panic).unwrap();
        settle().await;
    }
    let exit = root.ended().await;
    let words = "restart budget spent: more than 2 in 30 s: `b` panicked: boom; `b` panicked: boom; `b` panicked: boom";
    assert_eq!(exit, Exit::Failed(words.into()));
    assert_eq!(log.take(), ["a started", "a stopped"]);
    until(|| root.roster().is_empty()).await;
}

#[tokio::test(start_paused = true)]
async fn a_permanent_child_that_is_done_too_often_spends_the_budget_too() {
    let address = Address::new();
    let root = tree(SupervisorSpec::new(Strategy::OneForOne, vec![plain("a", &address)]).budget(0, S)).await;
    address.cast(Do::Finish).unwrap();
    let words = "restart budget spent: more than 0 in 1 s: `a` done";
    assert_eq!(root.ended().await, Exit::Failed(words.into()));
}

#[tokio::test(start_paused = true)]
async fn a_nested_supervisors_spent_budget_restarts_it_with_fresh_rows() {
    let (a, b) = (Address::new(), Address::new());
    let group = SupervisorSpec::new(Strategy::OneForOne, vec![plain("a", &a), plain("b", &b)]).budget(0, S);
    let root = one_for_one(vec![Child::supervisor("group", group)]).await;
    b.cast(Do::Panic).unwrap();
    until(|| root.roster().restarts_total() == 1 && b.is_up()).await;
    assert_eq!(ask(&a).await, Some(2), "the whole group is new");
    assert_eq!(paths(&root), ["node", "group", "group/a", "group/b"]);
    let (group, fresh) = (root.roster().row("group").unwrap(), root.roster().row("group/b").unwrap());
    assert_eq!((group.restarts, fresh.restarts), (1, 0));
    assert_eq!(fresh.last_error, None);
    assert!(group.last_error.unwrap().contains("`group/b` panicked: boom"));
}

#[tokio::test(start_paused = true)]
async fn a_parked_child_leaves_its_siblings_alone_and_is_tried_again_after_growing_pauses() {
    let (bad, good) = (Address::new(), Address::new());
    let children = vec![plain("bad", &bad).parks(10 * S, 15 * S), plain("good", &good)];
    let root = tree(SupervisorSpec::new(Strategy::OneForOne, children).budget(1, 30 * S)).await;
    bad.cast(Do::Panic).unwrap();
    settle().await;
    until(|| bad.is_up()).await;
    for pause in [10, 15, 15] {
        bad.cast(Do::Panic).unwrap();
        settle().await;
        assert_eq!(state_of(&root, "bad"), format!("parked (restart budget spent; tried again in {pause} s)"));
        tokio::time::sleep(pause * S - Duration::from_millis(1)).await;
        assert!(!bad.is_up());
        until(|| bad.is_up()).await;
    }
    assert_eq!(ask(&good).await, Some(1));
    assert_eq!(state_of(&root, "bad"), "running");
}

#[tokio::test(start_paused = true)]
async fn a_parked_child_that_recovers_has_its_budget_back() {
    let address = Address::new();
    let spec = SupervisorSpec::new(Strategy::OneForOne, vec![plain("a", &address).parks(10 * S, 15 * S)]);
    let root = tree(spec.budget(0, 30 * S)).await;
    for _ in 0..2 {
        address.cast(Do::Panic).unwrap();
        settle().await;
        assert_eq!(state_of(&root, "a"), "parked (restart budget spent; tried again in 10 s)");
        tokio::time::sleep(41 * S).await;
    }
}

/// On real threads: only what blocks one can outlive its kill.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_restart_waits_until_nothing_is_left_of_the_subtree_before_it() {
    let (log, address) = (Log::default(), Address::new());
    let release = Arc::new(Barrier::new(2));
    let stubborn = Stubborn { log: log.clone(), release: Arc::clone(&release) };
    let make = move |_| (stubborn.clone(), ());
    let children = vec![Child::actor("stubborn", Restart::Permanent, address.clone(), make)];
    let group = Child::supervisor("group", SupervisorSpec::new(Strategy::OneForOne, children));
    let root = one_for_one(vec![group]).await;
    address.cast(()).unwrap();
    yield_until(|| log.len() == 2).await;
    root.roster().kill("group", KillMode::Kill).unwrap();
    yield_until(|| state_of(&root, "group") != "running").await;
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    release.wait();
    yield_until(|| log.len() == 4).await;
    assert_eq!(log.take(), ["started", "blocked", "gone", "started"]);
}

async fn yield_until(it_is_so: impl Fn() -> bool) {
    while !it_is_so() {
        tokio::task::yield_now().await;
    }
}

/// Blocks its thread until it is released.
#[derive(Clone)]
struct Stubborn {
    log: Log,
    release: Arc<Barrier>,
}

impl Actor for Stubborn {
    type Msg = ();
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<(), ActorProcessingErr> {
        self.log.add("started".to_owned());
        Ok(())
    }

    async fn handle(&self, _: ActorRef<()>, (): (), (): &mut ()) -> Result<(), ActorProcessingErr> {
        self.log.add("blocked".to_owned());
        self.release.wait();
        self.log.add("gone".to_owned());
        Ok(())
    }
}
