use super::*;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }
}

fn group(strategy: Strategy, log: &Log, addresses: &mut Vec<Address<Do>>) -> SupervisorSpec {
    let mut child = |name| {
        let address = Address::new();
        addresses.push(address.clone());
        Probe { stop_takes: Duration::from_millis(7), ..Probe::new(name, log) }.child(Restart::Permanent, &address)
    };
    let children = vec![child("a"), child("b"), child("c").parks(S, S)];
    SupervisorSpec::new(strategy, children).budget(20, S).backoff(Duration::from_millis(10), S)
}

async fn is_whole_again_after_many_kills(strategy: Strategy) {
    let (log, mut addresses) = (Log::default(), Vec::new());
    let mut top = group(strategy, &log, &mut addresses);
    for name in ["one", "two"] {
        top.children.push(Child::supervisor(name, group(strategy, &log, &mut addresses)));
    }
    let root = tree(top.budget(10_000, S)).await;
    let before = paths(&root);
    let mut dice = Dice(7);
    for _ in 0..500 {
        let path = &before[1 + dice.below(before.len() - 1)];
        let mode = [KillMode::Panic, KillMode::Kill, KillMode::Stop][dice.below(3)];
        // nobody may be there at the moment
        drop(root.roster().kill(path, mode));
        tokio::time::sleep(Duration::from_millis(dice.below(40) as u64)).await;
    }
    tokio::time::sleep(10 * S).await;
    assert_eq!(paths(&root), before, "{strategy:?}");
    assert!(root.roster().snapshot().iter().all(|row| row.state == "running"));
    assert!(addresses.iter().all(Address::is_up));
    assert!(root.stop(60 * S).await.is_empty());
    assert!(root.roster().is_empty());
    let log = log.take();
    let count = |what: &str| log.iter().filter(|line| line.ends_with(what)).count();
    assert!(count("started") > count("stopped"), "some were killed");
}

#[tokio::test(start_paused = true)]
async fn a_tree_is_whole_again_after_many_kills() {
    for strategy in [Strategy::OneForOne, Strategy::RestForOne, Strategy::OneForAll] {
        is_whole_again_after_many_kills(strategy).await;
    }
}
