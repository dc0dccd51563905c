//! Random commands to the store in memory and to the one on a file.

use std::sync::Arc;

use windlass::adapters::sqlite::{Options, Synchronous};
use windlass_actors::testkit::conformance::Harness;
use windlass_actors::testkit::model;

use crate::file::OnFile;

#[test]
fn the_sqlite_store_answers_as_the_model_does() {
    model::check(|| async {
        let options = Options { synchronous: Synchronous::Normal, ..Options::default() };
        Arc::new(OnFile::open(options).await) as Arc<dyn Harness>
    });
}
