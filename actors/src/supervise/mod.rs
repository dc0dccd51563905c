//! Our small OTP on ractor.

mod address;
mod child;
mod exit;
mod life;
pub(crate) mod lock;
mod nursery;
mod owned;
mod place;
mod root;
mod roster;
mod row;
mod run;
mod siblings;
mod slot;
mod strategy;
mod supervised;
mod supervisor;
mod timer;

pub use address::{Address, Unreachable};
pub use child::Child;
pub use exit::Exit;
pub use nursery::{Ended, NotSpawned, Nursery};
pub use owned::{OwnedTask, TaskPanicked};
pub use place::Place;
pub use root::{Root, RootFailed, start_root};
pub use roster::{KillMode, NoSuchActor, Roster};
pub use row::ActorRow;
pub use strategy::{Backoff, Budget, Exhausted, Intensity, Restart, Strategy, Verdict};
pub use supervisor::{SupervisorMsg, SupervisorSpec};
pub use timer::Tick;

pub use ractor::{Actor, ActorCell, ActorProcessingErr, ActorRef, Message, SupervisionEvent};

#[cfg(test)]
mod tests;
