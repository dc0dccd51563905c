//! The binary. A worker's shim is this same program; it is told apart before anything else is set up.

fn main() {
    windlass::adapters::runner::shim::run_if_asked();
}
