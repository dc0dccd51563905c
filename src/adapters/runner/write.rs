//! Commands on their way to a worker.

use std::io;
use std::path::Path;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;
use tokio_util::bytes::BytesMut;
use windlass_actors::ports::runner::HostCommand;

use super::frame::put_head;
use super::message::{self, Written};

/// Below this, a copy is cheaper than a system call of its own.
const JOIN_BELOW: usize = 32 << 10;
const AT_ONCE: usize = 64;

/// Writes what is queued until the queue or the worker ends; what is queued at once goes out at once.
pub(super) async fn commands(mut to: OwnedWriteHalf, mut queue: mpsc::Receiver<HostCommand>, artifacts: &Path) {
    let (mut batch, mut bytes) = (Vec::with_capacity(AT_ONCE), BytesMut::new());
    while queue.recv_many(&mut batch, AT_ONCE).await > 0 {
        for command in batch.drain(..) {
            if put(&mut to, &mut bytes, message::write(command, artifacts)).await.is_err() {
                return;
            }
        }
        if flush(&mut to, &mut bytes).await.is_err() {
            return;
        }
    }
}

async fn put(to: &mut OwnedWriteHalf, bytes: &mut BytesMut, written: Written) -> io::Result<()> {
    put_head(bytes, &written.header, written.body_len()).map_err(io::Error::other)?;
    for piece in &written.body {
        if piece.len() < JOIN_BELOW {
            bytes.extend_from_slice(piece.as_str().as_bytes());
        } else {
            flush(to, bytes).await?;
            to.write_all(piece.as_str().as_bytes()).await?;
        }
        if bytes.len() >= JOIN_BELOW {
            flush(to, bytes).await?;
        }
    }
    Ok(())
}

async fn flush(to: &mut OwnedWriteHalf, bytes: &mut BytesMut) -> io::Result<()> {
    to.write_all_buf(bytes).await
}
