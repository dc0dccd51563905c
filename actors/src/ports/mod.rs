//! What the tree needs of the world, a trait a file. Adapters implement them; `testkit` has one in memory of each.

pub mod clock;
pub mod dice;
pub mod intake;
pub mod ledger;
pub mod observer;
pub mod records;
pub mod registry;
pub mod rules;
pub mod runner;
pub mod signals;

pub use clock::Clock;
pub use dice::Dice;
pub use intake::Intake;
pub use ledger::Ledger;
pub use observer::Observer;
pub use records::Records;
pub use registry::Registry;
pub use runner::Runner;
pub use signals::Signals;

use std::sync::Arc;

/// Everything a database is to us. One adapter implements all of it.
pub trait Store: Ledger + Records + Registry + Signals {}
impl<T: Ledger + Records + Registry + Signals> Store for T {}

/// A shared store.
pub type SharedStore = Arc<dyn Store>;
