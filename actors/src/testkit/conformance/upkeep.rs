//! Upkeep, counts, lists, the registry.

use std::time::Duration;

use uuid::Uuid;

use super::Scene;
use crate::domain::{Json, Kind, NewTask, Owner, Status, TaskType};
use crate::ports::records::{Filter, Page};
use crate::ports::registry::{NodeReport, NodeState};
use crate::testkit::tasks::{self, new_task};

pub async fn overdue_tasks_expire(s: Scene) {
    let deadline_in = Some(Duration::from_secs(10));
    let late = s.submit(NewTask { deadline_in, ..new_task("hello") }).await;
    let running = s.submit(NewTask { deadline_in, ..new_task("hello") }).await;
    s.claim(1, running).await;
    s.hello().await;
    assert_eq!(s.store.expire(100).await.expect("expire"), []);
    s.advance(11).await;
    assert_eq!(s.store.expire(100).await.expect("expire"), [late]);
    assert_eq!((s.status(late).await, s.status(running).await), (Status::Failed, Status::Running));
}

pub async fn ended_tasks_are_pruned_but_dead_letters_stay(s: Scene) {
    let keep = Duration::from_secs(100);
    let mut ids = Vec::new();
    for verdict in [tasks::complete(), tasks::fail(), tasks::dead_letter()] {
        let key = s.running().await;
        s.end(key, verdict).await;
        ids.push(key.task);
    }
    let queued = s.hello().await;
    s.store.post(report(&s.owner(1), &["hello"], 1)).await.expect("post");
    assert_eq!(s.store.prune(keep, 10).await.expect("prune"), Default::default());
    s.advance(101).await;
    assert_eq!(s.store.prune(keep, 1).await.expect("prune").tasks, 1);
    assert_eq!(s.store.prune(keep, 10).await.expect("prune").tasks, 1);
    let left: Vec<_> = s.store.tasks(&Filter::default(), page(10)).await.expect("tasks").iter().map(|t| t.id).collect();
    assert_eq!(left, [queued, ids[2]]);
    assert_eq!(s.store.events(ids[0], 0, 10).await.expect("events"), None);
    assert_eq!(s.store.nodes().await.expect("nodes"), []);
    s.store.discard(vec![ids[2]]).await.expect("discard");
    assert_eq!(s.store.prune(keep, 10).await.expect("prune").tasks, 1);
}

fn page(limit: u32) -> Page {
    Page { before: None, limit }
}

pub async fn stats_count_what_waits_and_runs(s: Scene) {
    for _ in 0..3 {
        s.hello().await;
    }
    s.submit(new_task("other")).await;
    s.advance(10).await;
    let key = s.next(1, tasks::claim_next("hello", 1)).await.claimed[0].key;
    let dead = s.running().await;
    s.end(dead, tasks::dead_letter()).await;
    let stats = s.store.stats().await.expect("stats");
    let counts: Vec<_> = stats.depths.iter().map(|d| (d.task_type.as_str(), d.status, d.count)).collect();
    assert_eq!(counts, [("hello", Status::Queued, 2), ("hello", Status::Running, 1), ("other", Status::Queued, 1)]);
    assert!(
        stats.depths[0].oldest_age >= Duration::from_secs(10) && stats.depths[1].oldest_age < Duration::from_secs(9)
    );
    assert_eq!(stats.dead_letters, [(tasks::type_name("hello"), 1)]);
    s.end(key, tasks::complete()).await;
}

pub async fn lists_are_filtered_and_paged(s: Scene) {
    let mut ids = Vec::new();
    for n in 0..6 {
        let owner = if n % 2 == 0 { "alice" } else { "bob" };
        ids.push(
            s.submit(NewTask { owner: owner.to_owned(), ..new_task(if n < 3 { "hello" } else { "other" }) }).await,
        );
    }
    let key = s.claim(1, ids[0]).await;
    s.end(key, tasks::dead_letter()).await;
    s.claim(1, ids[5]).await;
    let list = |filter: Filter, page: Page| {
        let store = s.store.clone();
        async move { store.tasks(&filter, page).await.expect("tasks").iter().map(|t| t.id).collect::<Vec<_>>() }
    };
    assert_eq!(list(Filter::default(), page(2)).await, [ids[5], ids[4]]);
    assert_eq!(list(Filter::default(), Page { before: Some(ids[4]), limit: 2 }).await, [ids[3], ids[2]]);
    let of = Filter { status: vec![Status::Running, Status::Failed], ..Filter::default() };
    assert_eq!(list(of, page(9)).await, [ids[5], ids[0]]);
    let of = Filter { task_type: Some(tasks::type_name("other")), owner: Some("bob".to_owned()), ..Filter::default() };
    assert_eq!(list(of, page(9)).await, [ids[5], ids[3]]);
    assert_eq!(list(Filter { dead_lettered: true, ..Filter::default() }, page(9)).await, [ids[0]]);
    let of = Filter { ids: vec![ids[1], tasks::task_id()], ..Filter::default() };
    assert_eq!(list(of, page(9)).await, [ids[1]]);
}

/// What a node that serves these types posts.
pub fn report(owner: &Owner, types: &[&str], metadata_version: i64) -> NodeReport {
    let posted = |name: &&str| TaskType { metadata_version, ..TaskType::new(tasks::type_name(name), Kind::Python) };
    NodeReport {
        node: owner.node.clone(),
        incarnation: owner.incarnation,
        data_uuid: Uuid::from_u128(7),
        lease: owner.lease,
        state: NodeState::Serving,
        types: types.iter().map(posted).collect(),
        slots: Json::empty_object(),
        tree: Json::trusted("[]"),
    }
}

pub async fn nodes_and_capabilities_are_known(s: Scene) {
    let (one, two) = (s.owner(1), s.owner(2));
    s.store.post(report(&one, &["hello", "ingest"], 3)).await.expect("post");
    s.advance(20).await;
    s.store.post(report(&two, &["hello"], 2)).await.expect("post");
    let believed = Duration::from_secs(30);
    let known = || async {
        let known = s.store.capabilities(believed).await.expect("capabilities");
        known
            .iter()
            .map(|c| (c.task_type.name.to_string(), c.task_type.metadata_version, c.instances))
            .collect::<Vec<_>>()
    };
    let row = |name: &str, version, instances| (name.to_owned(), version, instances);
    assert_eq!(known().await, [row("hello", 3, 2), row("ingest", 3, 1)], "the higher version wins");
    s.advance(15).await;
    assert_eq!(known().await, [row("hello", 3, 1), row("ingest", 3, 0)], "one is no longer believed");
    let nodes = s.store.nodes().await.expect("nodes");
    assert!(nodes[0].heartbeat_age >= Duration::from_secs(35) && nodes[1].heartbeat_age < Duration::from_secs(30));
    assert_eq!((nodes[0].types.len(), nodes[1].types.len()), (2, 1));
    s.store.withdraw(&two.node, one.incarnation).await.expect("withdraw");
    assert_eq!(s.store.nodes().await.expect("nodes")[1].state, NodeState::Serving, "not its incarnation");
    s.store.withdraw(&two.node, two.incarnation).await.expect("withdraw");
    assert_eq!(known().await, [row("hello", 3, 0), row("ingest", 3, 0)]);
    let successor = NodeReport { incarnation: two.incarnation, ..report(&one, &["ingest"], 4) };
    s.store.post(successor).await.expect("post");
    let nodes = s.store.nodes().await.expect("nodes");
    assert_eq!(nodes[0].incarnation, two.incarnation);
    assert!(nodes[0].started_age < Duration::from_secs(10), "a new life");
    assert_eq!(known().await, [row("hello", 3, 0), row("ingest", 4, 1)]);
}

pub async fn the_first_setting_stays(s: Scene) {
    assert_eq!(s.store.setting("queue", "table").await.expect("setting"), "table");
    assert_eq!(s.store.setting("queue", "rabbitmq").await.expect("setting"), "table");
    assert_eq!(s.store.setting("other", "x").await.expect("setting"), "x");
}
