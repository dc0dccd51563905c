use super::*;
use crate::supervise::life::Life;
use crate::supervise::row::Stay;

/// Places of a root and of a child below it, both begun.
fn family() -> (Roster, [Place; 2], [Life; 2]) {
    let roster = Roster::new();
    let parent = Place::root(&roster, "node");
    let above = Life::begin(parent.clone(), Stay::WithActor);
    let child = parent.child("a");
    let below = Life::begin(child.clone(), Stay::WithActor);
    (roster, [parent, child], [above, below])
}

fn paths_in(roster: &Roster) -> Vec<String> {
    roster.snapshot().into_iter().map(|row| row.path).collect()
}

#[tokio::test(start_paused = true)]
async fn a_predecessor_that_is_gone_late_does_not_take_its_successors_row() {
    let (roster, [_, child], [_above, late]) = family();
    let _successor = Life::begin(child.renewed(), Stay::WithActor);
    drop(late);
    assert_eq!(paths_in(&roster), ["node", "a"]);
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_begins_anew_has_no_rows_of_its_predecessors_children() {
    let (roster, [parent, _], [_above, _late]) = family();
    let _successor = Life::begin(parent.renewed(), Stay::WithActor);
    assert_eq!(paths_in(&roster), ["node"]);
}

#[tokio::test(start_paused = true)]
async fn a_parent_is_gone_only_when_all_below_it_is_also_below_names_where_nobody_lives() {
    let (roster, [parent, _], [above, below]) = family();
    let lease = Life::begin(parent.child("lease").child("7"), Stay::WithActor);
    assert_eq!(paths_in(&roster), ["node", "a", "lease/7"]);
    let gone = above.gone();
    drop(above);
    drop(below);
    assert!(!gone.is_cancelled());
    drop(lease);
    assert!(gone.is_cancelled());
    assert!(roster.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_actor_that_is_gone_before_it_is_entered_is_not_found() {
    let (roster, [_, child], [_above, below]) = family();
    let (actor, _) = Actor::spawn(None, Probe::new("a", &Log::default()), ()).await.unwrap();
    let life = Life::begin(child.renewed(), Stay::WithParent);
    drop(below);
    let place = life.place().clone();
    drop(life);
    place.row().set_cell(place.incarnation(), actor.get_cell());
    assert_eq!(roster.row("a").map(|row| row.path), Some("a".to_owned()));
    assert_eq!(roster.kill("a", KillMode::Kill), Err(NoSuchActor("a".into())));
}

#[tokio::test(start_paused = true)]
async fn an_address_is_not_cleared_by_a_predecessor() {
    let address = Address::new();
    let (old, _) = Actor::spawn(None, Probe::new("a", &Log::default()), ()).await.unwrap();
    let (new, _) = Actor::spawn(None, Probe::new("a", &Log::default()), ()).await.unwrap();
    address.set(new.clone());
    address.clear_if(&old);
    assert!(address.is_up());
    address.clear_if(&new);
    assert!(!address.is_up());
}

/// Logs when its state is dropped.
struct Keeper(&'static str, Log);

struct Held(&'static str, Log);

impl Drop for Held {
    fn drop(&mut self) {
        self.1.add(format!("{} dropped", self.0));
    }
}

impl Actor for Keeper {
    type Msg = ();
    type State = Held;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<()>, (): ()) -> Result<Held, ActorProcessingErr> {
        Ok(Held(self.0, self.1.clone()))
    }

    async fn post_stop(&self, _: ActorRef<()>, _: &mut Held) -> Result<(), ActorProcessingErr> {
        self.1.add(format!("{} stopped", self.0));
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn what_a_stopped_child_holds_is_dropped_before_the_next_is_stopped() {
    let log = Log::default();
    let child = |name| {
        let log = log.clone();
        Child::actor(name, Restart::Permanent, Address::new(), move |_| (Keeper(name, log.clone()), ()))
    };
    let root = one_for_one(vec![child("a"), child("b")]).await;
    root.stop(S).await;
    assert_eq!(log.take(), ["b stopped", "b dropped", "a stopped", "a dropped"]);
}
