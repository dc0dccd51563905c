use serde_json::json;

use super::*;

/// Hands out its place.
struct Teller(Place, Arc<Mutex<Option<Place>>>);

impl Actor for Teller {
    type Msg = Do;
    type State = ();
    type Arguments = ();

    async fn pre_start(&self, _: ActorRef<Do>, (): ()) -> Result<(), ActorProcessingErr> {
        self.0.state("waiting for work");
        *lock(&self.1) = Some(self.0.clone());
        Ok(())
    }

    async fn handle(&self, _: ActorRef<Do>, _: Do, (): &mut ()) -> Result<(), ActorProcessingErr> {
        panic!("boom")
    }
}

async fn teller() -> (Root, Address<Do>, Arc<Mutex<Option<Place>>>) {
    let (address, handed) = (Address::new(), Arc::<Mutex<Option<Place>>>::default());
    let shared = Arc::clone(&handed);
    let child =
        Child::actor("a", Restart::Permanent, address.clone(), move |place| (Teller(place, shared.clone()), ()));
    (one_for_one(vec![child]).await, address, handed)
}

#[tokio::test(start_paused = true)]
async fn what_an_actor_tells_of_itself_is_in_its_row() {
    let (root, _address, handed) = teller().await;
    let place = lock(&handed).clone().unwrap();
    place.detail("epoch", json!(3));
    tokio::time::sleep(2 * S).await;
    let row = serde_json::to_value(root.roster().row("a").unwrap()).unwrap();
    let age = row["age_seconds"].as_f64().unwrap();
    assert!((2.0..2.1).contains(&age));
    let told = json!({"path": "a", "state": "waiting for work", "restarts": 0, "age_seconds": age, "last_error": null, "details": {"epoch": 3}});
    assert_eq!(row, told);
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_incarnation_writes_is_dropped_and_its_details_go() {
    let (root, address, handed) = teller().await;
    let old = lock(&handed).clone().unwrap();
    old.detail("epoch", json!(3));
    address.cast(Do::Panic).unwrap();
    until(|| root.roster().restarts_total() == 1 && address.is_up()).await;
    old.state("I am dead");
    old.detail("stage", json!("ghost"));
    let row = root.roster().row("a").unwrap();
    assert_eq!((row.state.as_str(), row.details.len()), ("waiting for work", 0));
}

/// Ticks every second; the first turn stalls for ten.
struct Clock(Log);

impl Actor for Clock {
    type Msg = ();
    type State = (u32, Tick);
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<()>, (): ()) -> Result<Self::State, ActorProcessingErr> {
        Ok((0, Tick::after(&myself, S, || ())))
    }

    async fn handle(
        &self,
        myself: ActorRef<()>,
        (): (),
        (turns, tick): &mut Self::State,
    ) -> Result<(), ActorProcessingErr> {
        *turns += 1;
        self.0.add(format!("turn {turns}"));
        if *turns == 1 {
            tokio::time::sleep(10 * S).await;
        }
        *tick = Tick::after(&myself, S, || ());
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_tick_does_not_burst_after_a_stall_and_ends_with_its_owner() {
    let (log, address) = (Log::default(), Address::new());
    let shared = log.clone();
    let child = Child::actor("clock", Restart::Transient, address, move |_| (Clock(shared.clone()), ()));
    let root = one_for_one(vec![child]).await;
    tokio::time::sleep(Duration::from_millis(12_500)).await;
    assert_eq!(log.take(), ["turn 1", "turn 2"], "one at 1 s, stalled until 11 s, one at 12 s");
    root.stop(S).await;
    tokio::time::sleep(5 * S).await;
    assert!(log.take().is_empty());
}

/// Arms a tick and arms it anew.
struct Rearmed(Log);

impl Actor for Rearmed {
    type Msg = &'static str;
    type State = Tick;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<Tick, ActorProcessingErr> {
        drop(Tick::after(&myself, S, || "first"));
        Ok(Tick::after(&myself, S, || "second"))
    }

    async fn handle(&self, _: ActorRef<Self::Msg>, words: Self::Msg, _: &mut Tick) -> Result<(), ActorProcessingErr> {
        self.0.add(words.to_owned());
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_tick_that_is_armed_anew_comes_once() {
    let log = Log::default();
    let shared = log.clone();
    let make = move |_| (Rearmed(shared.clone()), ());
    let _root = one_for_one(vec![Child::actor("a", Restart::Permanent, Address::new(), make)]).await;
    tokio::time::sleep(5 * S).await;
    assert_eq!(log.take(), ["second"]);
}

/// Owns a task, and logs what it hears of it.
struct Owner(Log, fn() -> u32);

impl Actor for Owner {
    type Msg = Result<u32, TaskPanicked>;
    type State = OwnedTask;
    type Arguments = ();

    async fn pre_start(&self, myself: ActorRef<Self::Msg>, (): ()) -> Result<OwnedTask, ActorProcessingErr> {
        let work = self.1;
        let work = async move {
            tokio::time::sleep(S).await;
            work()
        };
        Ok(OwnedTask::spawn(&myself, work, |result| result))
    }

    async fn handle(
        &self,
        _: ActorRef<Self::Msg>,
        told: Self::Msg,
        _: &mut OwnedTask,
    ) -> Result<(), ActorProcessingErr> {
        self.0.add(format!("{told:?}"));
        Ok(())
    }
}

async fn owner(work: fn() -> u32) -> (Root, Log) {
    let log = Log::default();
    let shared = log.clone();
    let make = move |_| (Owner(shared.clone(), work), ());
    (one_for_one(vec![Child::actor("owner", Restart::Permanent, Address::new(), make)]).await, log)
}

#[tokio::test(start_paused = true)]
async fn the_end_of_an_owned_task_is_a_message_and_its_panic_too() {
    let (_root, log) = owner(|| 3).await;
    tokio::time::sleep(2 * S).await;
    assert_eq!(log.take(), ["Ok(3)"]);
    let (_root, log) = owner(|| panic!("boom")).await;
    tokio::time::sleep(2 * S).await;
    assert_eq!(log.take(), [r#"Err(TaskPanicked("boom"))"#]);
}

#[tokio::test(start_paused = true)]
async fn an_owned_task_ends_with_its_owner() {
    static RAN: AtomicU32 = AtomicU32::new(0);
    let (root, _log) = owner(|| RAN.fetch_add(1, Ordering::Relaxed)).await;
    root.stop(S).await;
    tokio::time::sleep(5 * S).await;
    assert_eq!(RAN.load(Ordering::Relaxed), 0);
}
