//! Frames of the worker protocol: two big-endian `u32` lengths, a JSON header, an opaque body.

use std::io;

use tokio_util::bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

/// Longest header in bytes.
pub const MAX_HEADER: usize = 256 << 10;
/// Longest body in bytes.
pub const MAX_BODY: usize = 64 << 20;

const LENGTHS: usize = 8;
/// How much is reserved ahead for a frame that has not come yet: a peer that announces much gets memory as it sends.
const RESERVE: usize = 256 << 10;

/// One message as it was on the wire.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame {
    /// UTF-8 JSON, unchecked.
    pub header: Bytes,
    /// Whatever the header says it is.
    pub body: Bytes,
}

/// Why a stream of bytes is not the worker protocol.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("a header of {0} bytes is longer than {MAX_HEADER}")]
    HeaderTooLong(usize),
    #[error("a body of {0} bytes is longer than {MAX_BODY}")]
    BodyTooLong(usize),
    #[error("the stream ended within a message")]
    Truncated,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Reads and writes frames.
#[derive(Default, Debug)]
pub struct FrameCodec;

impl Decoder for FrameCodec {
    type Item = Frame;
    type Error = FrameError;

    fn decode(&mut self, bytes: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        let Some((header, body)) = lengths(bytes)? else {
            return Ok(None);
        };
        let whole = LENGTHS + header + body;
        if bytes.len() < whole {
            bytes.reserve((whole - bytes.len()).min(RESERVE));
            return Ok(None);
        }
        bytes.advance(LENGTHS);
        Ok(Some(Frame { header: bytes.split_to(header).freeze(), body: bytes.split_to(body).freeze() }))
    }

    fn decode_eof(&mut self, bytes: &mut BytesMut) -> Result<Option<Frame>, FrameError> {
        match self.decode(bytes)? {
            None if !bytes.is_empty() => Err(FrameError::Truncated),
            frame => Ok(frame),
        }
    }
}

impl Encoder<Frame> for FrameCodec {
    type Error = FrameError;

    fn encode(&mut self, frame: Frame, bytes: &mut BytesMut) -> Result<(), FrameError> {
        put_head(bytes, &frame.header, frame.body.len())?;
        bytes.extend_from_slice(&frame.body);
        Ok(())
    }
}

/// Writes a frame but for its body, which the caller sends next.
pub fn put_head(bytes: &mut BytesMut, header: &[u8], body: usize) -> Result<(), FrameError> {
    check(header.len(), body)?;
    bytes.reserve(LENGTHS + header.len());
    bytes.put_u32(header.len() as u32);
    bytes.put_u32(body as u32);
    bytes.extend_from_slice(header);
    Ok(())
}

fn lengths(bytes: &[u8]) -> Result<Option<(usize, usize)>, FrameError> {
    let Some((mut lengths, _)) = bytes.split_at_checked(LENGTHS) else {
        return Ok(None);
    };
    let header = lengths.get_u32() as usize;
    let body = lengths.get_u32() as usize;
    check(header, body)?;
    Ok(Some((header, body)))
}

fn check(header: usize, body: usize) -> Result<(), FrameError> {
    if header > MAX_HEADER {
        return Err(FrameError::HeaderTooLong(header));
    }
    if body > MAX_BODY {
        return Err(FrameError::BodyTooLong(body));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode_all(codec: &mut FrameCodec, bytes: &mut BytesMut) -> Vec<Frame> {
        std::iter::from_fn(|| codec.decode(bytes).unwrap()).collect()
    }

    #[test]
    fn lengths_beyond_the_bounds_are_refused_before_anything_is_read() {
        for (header, body) in [(MAX_HEADER as u32 + 1, 0), (0, MAX_BODY as u32 + 1), (u32::MAX, u32::MAX)] {
            let mut bytes = BytesMut::new();
            bytes.put_u32(header);
            bytes.put_u32(body);
            assert!(FrameCodec.decode(&mut bytes).is_err());
            assert!(bytes.capacity() < 1024);
        }
    }

    #[test]
    fn a_stream_that_ends_within_a_frame_is_truncated() {
        let mut bytes = BytesMut::from(&[0, 0, 0, 2, 0, 0, 0, 1, b'{', b'}'][..]);
        assert!(matches!(FrameCodec.decode_eof(&mut bytes), Err(FrameError::Truncated)));
    }

    #[test]
    fn an_announced_body_gets_its_memory_as_it_comes() {
        let mut bytes = BytesMut::new();
        bytes.put_u32(0);
        bytes.put_u32(MAX_BODY as u32);
        assert!(FrameCodec.decode(&mut bytes).unwrap().is_none());
        assert!(bytes.capacity() <= 2 * RESERVE);
    }

    proptest! {
        #[test]
        fn frames_come_out_as_they_went_in_however_the_stream_is_cut(
            frames in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..80), prop::collection::vec(any::<u8>(), 0..400)), 0..8),
            cut in 1usize..50,
        ) {
            let frames: Vec<Frame> = frames.into_iter().map(|(h, b)| Frame { header: h.into(), body: b.into() }).collect();
            let mut wire = BytesMut::new();
            for frame in &frames {
                FrameCodec.encode(frame.clone(), &mut wire).unwrap();
            }
            let (mut got, mut bytes) = (Vec::new(), BytesMut::new());
            for piece in wire.chunks(cut) {
                bytes.extend_from_slice(piece);
                got.extend(decode_all(&mut FrameCodec, &mut bytes));
            }
            prop_assert_eq!(got, frames);
            prop_assert!(bytes.is_empty());
        }

        #[test]
        fn garbage_never_panics(garbage in prop::collection::vec(any::<u8>(), 0..600)) {
            let mut bytes = BytesMut::from(&garbage[..]);
            while let Ok(Some(frame)) = FrameCodec.decode_eof(&mut bytes) {
                let _ = crate::adapters::runner::message::read(&frame);
            }
        }
    }
}
