//! The composition root: joins adapters, tree and gateway into a running node.

mod chance;
mod data_folder;
mod meter;

pub use chance::Chance;
pub use data_folder::{DataFolder, FolderError};
pub use meter::{Meter, label};
