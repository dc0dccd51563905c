//! What decisions and frames cost: `cargo bench --bench pure`.

use std::hint::black_box;
use std::time::Duration;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tokio_util::bytes::{Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};
use windlass::adapters::runner::frame::{Frame, FrameCodec};
use windlass_actors::decide::admission::{Room, most, suspects};
use windlass_actors::decide::ending::{RunOver, ending};
use windlass_actors::decide::retry::RetryPolicy;
use windlass_actors::decide::verdict::{Circumstances, verdict};
use windlass_actors::domain::{Command, Json, NodeId, Standing, TaskError, Timestamp, Verdict, apply};

const NOW: Timestamp = Timestamp(1_750_000_000_000);

fn moves(c: &mut Criterion) {
    let queued = Standing::fresh(3, NOW, None);
    let claim = || Command::Claim { node: NodeId("n".to_owned()) };
    let running = apply(&queued, claim(), NOW).expect("a fresh task is claimed").next;
    let complete = || Command::Settle(Verdict::Complete { result: Json::null() });
    let lose = || Command::Lose { backoff: Duration::from_secs(2) };
    c.bench_function("apply: claim", |b| b.iter(|| apply(black_box(&queued), claim(), NOW)));
    c.bench_function("apply: complete", |b| b.iter(|| apply(black_box(&running), complete(), NOW)));
    c.bench_function("apply: lose", |b| b.iter(|| apply(black_box(&running), lose(), NOW)));
}

fn decisions(c: &mut Criterion) {
    let room = Room { slots: 64, seats: 64, leases: 17, suspects: 1, suspect_on_node: false };
    c.bench_function("admission", |b| b.iter(|| (most(black_box(&room)), suspects(black_box(&room)))));
    let retry = RetryPolicy { base: Duration::from_secs(2), cap: Duration::from_secs(300) };
    let now = Circumstances { attempt: 1, max_attempts: 3, retry, dice: 0.5 };
    let failed = || RunOver::Failed { error: TaskError::new("X", "y"), permanent: false, retry_after: None };
    c.bench_function("ending and verdict", |b| b.iter(|| verdict(ending(None, failed(), None), black_box(&now))));
}

fn frames(c: &mut Criterion) {
    for size in [200, 64 << 10] {
        let frame = Frame { header: Bytes::from_static(br#"{"t":"done","run":17}"#), body: vec![b'x'; size].into() };
        let mut group = c.benchmark_group("frame");
        group.throughput(Throughput::Bytes(size as u64));
        group.bench_function(format!("written and read, {size} bytes"), |b| {
            let mut bytes = BytesMut::new();
            b.iter(|| {
                FrameCodec.encode(frame.clone(), &mut bytes).expect("it fits");
                FrameCodec.decode(&mut bytes).expect("it is one").expect("all of it is there")
            });
        });
        group.finish();
    }
}

criterion_group!(benches, moves, decisions, frames);
criterion_main!(benches);
