//! What the embedded node does beside what its database would allow, measured in one run.
//!
//! `cargo bench --bench embedded [-- --json] [--rounds 5] [--tasks 20000]`
//!
//! The ceiling is a bare loop that writes the same rows in the same batches to the same database, once in plain SQL and
//! once through the store's own calls. Rounds take turns, so that a neighbour's load falls on all of them.
#![expect(clippy::disallowed_methods, clippy::disallowed_macros, reason = "it measures spans and prints them")]

#[path = "embedded/ceiling.rs"]
mod ceiling;
#[path = "embedded/node.rs"]
mod node;
#[path = "embedded/report.rs"]
mod report;
#[path = "embedded/rig.rs"]
mod rig;

use report::{Report, Row, Unit};
use windlass::adapters::runner::shim;

/// What is asked for on the command line.
struct Asked {
    rounds: usize,
    tasks: u32,
    json: bool,
}

impl Asked {
    /// Cargo passes `--bench`, which means nothing to us.
    fn read() -> Asked {
        let given: Vec<String> = std::env::args().collect();
        let number = |name: &str| {
            let at = given.iter().position(|word| word == name)?;
            given.get(at + 1)?.parse::<u32>().ok()
        };
        Asked {
            rounds: number("--rounds").unwrap_or(5) as usize,
            tasks: number("--tasks").unwrap_or(20_000),
            json: given.iter().any(|word| word == "--json"),
        }
    }
}

fn main() {
    // a worker's shim is this same program
    shim::run_if_asked();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    let report = runtime.block_on(measure(&Asked::read()));
    println!("{report}");
}

async fn measure(asked: &Asked) -> Report {
    let memory = node::memory(1000).await;
    let mut rows = vec![
        Row::new("bare loop, plain SQL", Unit::PerSecond),
        Row::new("bare loop, the store's calls", Unit::PerSecond),
        Row::new("through the whole tree", Unit::PerSecond),
        Row::new("create to end, bare, p50", Unit::Millis),
        Row::new("create to end, bare, p99", Unit::Millis),
        Row::new("create to end, tree, p50", Unit::Millis),
        Row::new("create to end, tree, p99", Unit::Millis),
        Row::new("Python, raw echo of one process", Unit::PerSecond),
        Row::new("Python `hello`, one host, 8 slots", Unit::PerSecond),
    ];
    for round in 0..asked.rounds {
        eprintln!("round {} of {}", round + 1, asked.rounds);
        let (bare, through) = (ceiling::latencies(500).await, node::latencies(500).await);
        let figures = [
            ceiling::plain_sql(asked.tasks).await,
            ceiling::store(asked.tasks).await,
            node::throughput(asked.tasks).await,
            bare.0,
            bare.1,
            through.0,
            through.1,
            ceiling::echo(),
            node::hello(asked.tasks / 4).await,
        ];
        rows.iter_mut().zip(figures).for_each(|(row, figure)| row.add(figure));
    }
    rows.extend(memory);
    Report { rows, json: asked.json }
}
