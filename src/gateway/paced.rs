//! A socket whose peer must take what we write within a time: a reader that is stuck is dropped, not waited for.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// Fails a write that makes no progress for `within`.
pub struct Paced<S> {
    socket: S,
    within: Duration,
    /// Since when a write waits.
    stuck: Option<Pin<Box<Sleep>>>,
}

impl<S> Paced<S> {
    pub fn new(socket: S, within: Duration) -> Self {
        Paced { socket, within, stuck: None }
    }

    fn judge<T>(&mut self, context: &mut Context<'_>, progress: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.stuck = None;
            return progress;
        }
        let within = self.within;
        let stuck = self.stuck.get_or_insert_with(|| Box::pin(sleep(within)));
        ready!(stuck.as_mut().poll(context));
        // Should the connection be polled again, it is told the same.
        stuck.as_mut().reset(Instant::now());
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the reader takes nothing")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Paced<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, into)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Paced<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.socket).poll_write(context, bytes);
        self.judge(context, progress)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let progress = Pin::new(&mut self.socket).poll_flush(context);
        self.judge(context, progress)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let progress = Pin::new(&mut self.socket).poll_write_vectored(context, slices);
        self.judge(context, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    #[tokio::test]
    async fn a_reader_that_takes_nothing_ends_the_write() {
        let (ours, mut theirs) = tokio::io::duplex(16);
        let mut paced = Paced::new(ours, Duration::from_millis(50));
        let mut taken = [0; 16];
        paced.write_all(&[1; 16]).await.unwrap();
        theirs.read_exact(&mut taken).await.unwrap();
        assert_eq!(paced.write_all(&[1; 17]).await.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
