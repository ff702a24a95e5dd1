//! Whole `.zst` files: all frames, one after the other, each checked.
//!
//! `ruzstd` decodes one frame and leaves three things to its caller: files of several frames (as parallel
//! compressors write them), frames to be skipped, and comparing the checksum at the end of a frame.

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Decompresses a stream of Zstandard frames.
pub(super) struct ZstdReader<R> {
    input: R,
    frame: Option<FrameDecoder>,
    any_frame_seen: bool,
}

impl<R: BufRead> ZstdReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, frame: None, any_frame_seen: false }
    }

    /// Begins the next frame that holds data; false at the end of the file.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            // A file without a single frame is cut short, not empty: even nothing compresses to a frame.
            if self.any_frame_seen && self.input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            let mut frame = FrameDecoder::new();
            match frame.init(&mut self.input) {
                Ok(()) => {
                    self.frame = Some(frame);
                    self.any_frame_seen = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    if io::copy(&mut self.input.by_ref().take(length), &mut io::sink())? < length {
                        return Err(damaged("the file ends within a frame"));
                    }
                    self.any_frame_seen = true;
                }
                Err(error) => return Err(damaged(error)),
            }
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            let Some(frame) = &mut self.frame else {
                if self.next_frame()? {
                    continue;
                }
                return Ok(0);
            };
            while frame.can_collect() == 0 && !frame.is_finished() {
                frame
                    .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(damaged)?;
            }
            let n_read = frame.read(buffer)?;
            if n_read > 0 {
                return Ok(n_read);
            }
            if let Some(expected) = frame.get_checksum_from_data()
                && frame.get_calculated_checksum() != Some(expected)
            {
                return Err(damaged("the checksum of a frame does not match its content"));
            }
            self.frame = None;
        }
    }
}

fn damaged(problem: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged zstd data: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    fn decode(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut decoded = Vec::new();
        ZstdReader::new(bytes).read_to_end(&mut decoded)?;
        Ok(decoded)
    }

    fn frame(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    #[test]
    fn all_frames_are_read_and_skippable_ones_skipped() {
        let skippable = [&0x184D_2A53_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
        let file = [skippable.clone(), frame(b"one "), skippable, frame(b""), frame(b"two")].concat();
        assert_eq!(decode(&file).unwrap(), b"one two");
    }

    #[test]
    fn damage_is_an_error() {
        let long = b"locus ".repeat(1000);
        let good = frame(&long);
        assert_eq!(decode(&good).unwrap(), long);
        for cut in 0..good.len() {
            assert!(decode(&good[..cut]).is_err(), "cut at {cut}");
        }
        assert!(decode(b"plain text").is_err());
        let skippable = [&0x184D_2A53_u32.to_le_bytes()[..], &9_u32.to_le_bytes(), b"abc"].concat();
        assert!(decode(&skippable).is_err());
    }

    #[test]
    fn an_altered_checksum_is_an_error() {
        let mut file = frame(b"words that were once something else");
        // The encoder writes a checksum, of which this is the last byte.
        *file.last_mut().unwrap() ^= 1;
        let message = decode(&file).unwrap_err().to_string();
        assert!(message.contains("checksum"), "{message}");
    }
}
