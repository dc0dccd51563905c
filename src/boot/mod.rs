//! The composition root: joins adapters, tree and gateway into a running node.

mod chance;
mod data_folder;
mod embedded;
mod error;
mod meter;
mod plugins;
pub mod settings;
mod signals;

pub use chance::Chance;
pub use data_folder::{DataFolder, FolderError, FolderState};
pub use embedded::{Embedded, Ended};
pub use error::{BootError, BootFault};
pub use meter::{Meter, label};
pub use plugins::Plugins;
pub use signals::Signals;
