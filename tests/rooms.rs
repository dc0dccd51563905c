//! The rooms of the code: who may import whom (design, section 3), and that the folders of the tree are the tree.

#[path = "rooms/check.rs"]
mod check;
#[path = "rooms/imports.rs"]
mod imports;
#[path = "rooms/rules.rs"]
mod rules;
#[path = "rooms/scan.rs"]
mod scan;
#[path = "rooms/shape.rs"]
mod shape;
