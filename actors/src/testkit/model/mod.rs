//! The model: random commands given to a store and to the one in memory must be answered alike and leave the same.

mod command;
mod compare;
mod run;

use std::future::Future;
use std::sync::Arc;

use proptest::collection::vec;
use proptest::test_runner::{Config, TestCaseError, TestRunner};

use super::conformance::Harness;
use command::command;
use run::Run;

/// Commands a case.
const LENGTH: usize = 50;

/// Checks a store against the model; `make` makes an empty one. Cases: an eighth of `PROPTEST_CASES` (256).
pub fn check<F, M>(make: M)
where
    M: Fn() -> F,
    F: Future<Output = Arc<dyn Harness>>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let default = Config::default();
    let mut runner = TestRunner::new(Config {
        cases: default.cases / 8,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..default
    });
    let outcome = runner.run(&vec(command(), 1..LENGTH), |commands| {
        runtime.block_on(async { Run::new(make().await).all(&commands).await.map_err(TestCaseError::fail) })
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
