use tokio::sync::mpsc;

use super::*;

pub type Ending = Ended<String>;

/// A child as one that takes [`Do`], and as one that takes `()`.
type Found = (Option<ActorRef<Do>>, Option<ActorRef<()>>);

/// A parent with a nursery, driven from outside.
pub struct Parent {
    pub root: Root,
    pub address: Address<Ask>,
    ends: mpsc::UnboundedReceiver<Ending>,
}

pub enum Ask {
    Spawn(&'static str, Probe, oneshot::Sender<Result<ActorRef<Do>, NotSpawned>>),
    SpawnMany(u32, oneshot::Sender<()>),
    Stop(&'static str),
    Kill(&'static str),
    Find(&'static str, oneshot::Sender<Found>),
    Panic,
    Count(oneshot::Sender<usize>),
}

struct Pool {
    place: Place,
    ends: mpsc::UnboundedSender<Ending>,
}

impl Actor for Pool {
    type Msg = Ask;
    type State = Nursery<String>;
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Ask>, (): ()) -> Result<Self::State, ActorProcessingErr> {
        Ok(Nursery::new())
    }

    async fn handle(
        &self,
        myself: ActorRef<Ask>,
        ask: Ask,
        nursery: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        match ask {
            Ask::Spawn(key, probe, reply) => {
                let spawned = nursery.spawn(myself.get_cell(), key.to_owned(), self.place.child(key), probe, ()).await;
                drop(reply.send(spawned));
            }
            Ask::SpawnMany(count, reply) => {
                for number in 0..count {
                    let key = format!("lease/{number}");
                    let (place, probe) = (self.place.child(&key), Probe::new("lease", &Log::default()));
                    let lease = nursery.spawn(myself.get_cell(), key, place, probe, ()).await?;
                    lease.cast(Do::Finish)?;
                }
                let _ = reply.send(());
            }
            Ask::Stop(key) => drop(nursery.stop(&key.to_owned())),
            Ask::Kill(key) => assert!(nursery.kill(&key.to_owned())),
            Ask::Find(key, reply) => drop(reply.send((nursery.get(&key.to_owned()), nursery.get(&key.to_owned())))),
            Ask::Panic => panic!("pool"),
            Ask::Count(reply) => drop(reply.send(nursery.len())),
        }
        Ok(())
    }

    async fn handle_supervisor_evt(
        &self,
        _: ActorRef<Ask>,
        event: SupervisionEvent,
        nursery: &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        if let Some(ended) = nursery.on_event(event) {
            drop(self.ends.send(ended));
        }
        Ok(())
    }

    async fn post_stop(&self, _: ActorRef<Ask>, nursery: &mut Self::State) -> Result<(), ActorProcessingErr> {
        for key in nursery.stop_all(S).await {
            drop(self.ends.send(Ended { key, exit: Exit::Killed }));
        }
        Ok(())
    }
}

impl Parent {
    pub async fn start() -> Self {
        let (told, ends) = mpsc::unbounded_channel();
        let address = Address::new();
        let make = move |place| (Pool { place, ends: told.clone() }, ());
        let pool = Child::actor("pool", Restart::Permanent, address.clone(), make);
        Self { root: one_for_one(vec![pool]).await, address, ends }
    }

    pub async fn try_spawn(&self, key: &'static str, probe: Probe) -> Result<ActorRef<Do>, NotSpawned> {
        let (reply, answer) = oneshot::channel();
        self.address.cast(Ask::Spawn(key, probe, reply)).unwrap();
        answer.await.unwrap()
    }

    pub async fn spawn(&self, key: &'static str, probe: Probe) -> ActorRef<Do> {
        self.try_spawn(key, probe).await.unwrap()
    }

    pub fn stop(&self, key: &'static str) {
        self.address.cast(Ask::Stop(key)).unwrap();
    }

    pub async fn next_end(&mut self) -> Ending {
        self.ends.recv().await.unwrap()
    }

    async fn count(&self) -> usize {
        let (reply, answer) = oneshot::channel();
        self.address.cast(Ask::Count(reply)).unwrap();
        answer.await.unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_childs_end_ends_neither_its_parent_nor_its_siblings() {
    let mut parent = Parent::start().await;
    let first = parent.spawn("first", Probe::new("first", &Log::default())).await;
    let second = parent.spawn("second", Probe::new("second", &Log::default())).await;
    first.cast(Do::Finish).unwrap();
    assert_eq!(parent.next_end().await, Ended { key: "first".to_owned(), exit: Exit::Done });
    second.cast(Do::Panic).unwrap();
    assert_eq!(parent.next_end().await.key, "second");
    assert_eq!(parent.count().await, 0);
    assert_eq!(parent.root.roster().restarts_total(), 0);
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_temporary_children_leave_no_rows() {
    let parent = Parent::start().await;
    let (reply, done) = oneshot::channel();
    parent.address.cast(Ask::SpawnMany(10_000, reply)).unwrap();
    done.await.unwrap();
    until(|| parent.root.roster().len() == 2).await;
    assert_eq!(paths(&parent.root), ["node", "pool"]);
    assert_eq!(parent.count().await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_taken_once() {
    let parent = Parent::start().await;
    parent.spawn("first", Probe::new("first", &Log::default())).await;
    let again = parent.try_spawn("first", Probe::new("first", &Log::default())).await;
    assert_eq!(again.unwrap_err(), NotSpawned::Taken);
}

#[tokio::test(start_paused = true)]
async fn a_child_that_does_not_start_is_told_to_the_spawner_and_leaves_no_row() {
    let parent = Parent::start().await;
    let probe = |on_start| Probe { on_start, ..Probe::new("c", &Log::default()) };
    let err = parent.try_spawn("c", probe(|_| Go::Err)).await.unwrap_err();
    assert_eq!(err, NotSpawned::Start(Exit::Failed("no luck".into())));
    let err = parent.try_spawn("c", probe(|_| Go::Panic)).await.unwrap_err();
    assert_eq!(err, NotSpawned::Start(Exit::Panicked("no luck at all".into())));
    let err = parent.try_spawn("c", probe(|_| Go::Hang)).await.unwrap_err();
    assert_eq!(err, NotSpawned::Start(Exit::Failed("did not start within 1s".into())));
    assert_eq!(paths(&parent.root), ["node", "pool"]);
}

#[tokio::test(start_paused = true)]
async fn children_are_stopped_with_their_parent_the_last_first_and_who_hangs_is_killed_and_named() {
    let mut parent = Parent::start().await;
    let log = Log::default();
    for name in ["a", "b", "c"] {
        parent.spawn(name, Probe::new(name, &log)).await;
    }
    let hanging = parent.spawn("hanging", Probe::new("hanging", &log)).await;
    hanging.cast(Do::Hang).unwrap();
    settle().await;
    log.take();
    assert_eq!(parent.root.stop(10 * S).await, ["pool/hanging"]);
    assert_eq!(log.take(), ["c stopped", "b stopped", "a stopped"]);
    assert_eq!(parent.next_end().await.key, "hanging");
    assert!(parent.root.roster().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_parent_that_panics_takes_its_children_along_and_comes_back_without_them() {
    let parent = Parent::start().await;
    let child = parent.spawn("c", Probe::new("c", &Log::default())).await;
    parent.address.cast(Ask::Panic).unwrap();
    until(|| parent.root.roster().restarts_total() == 1 && parent.address.is_up()).await;
    assert!(child.cast(Do::Finish).is_err());
    assert_eq!(paths(&parent.root), ["node", "pool"]);
    assert_eq!(parent.count().await, 0);
    parent.spawn("c", Probe::new("c", &Log::default())).await;
}

#[tokio::test(start_paused = true)]
async fn a_child_is_found_by_key_and_the_type_of_its_messages_until_it_is_killed() {
    let mut parent = Parent::start().await;
    let child = parent.spawn("c", Probe::new("c", &Log::default())).await;
    let (reply, answer) = oneshot::channel();
    parent.address.cast(Ask::Find("c", reply)).unwrap();
    assert_eq!(answer.await.unwrap(), (Some(child), None));
    parent.address.cast(Ask::Kill("c")).unwrap();
    assert_eq!(parent.next_end().await, Ended { key: "c".to_owned(), exit: Exit::Killed });
    let (reply, answer) = oneshot::channel();
    parent.address.cast(Ask::Find("c", reply)).unwrap();
    assert_eq!(answer.await.unwrap(), (None, None));
}
