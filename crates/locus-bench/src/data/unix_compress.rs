//! `.Z` files, as the Unix program `compress` writes them: LZW with codes that grow from 9 bits to at most 16.
//!
//! The UCI archive keeps Statlog's data so. A file begins with `1F 9D` and a byte of flags: the widest code in its low five bits,
//! and in its highest whether code 256 empties the table. Codes lie in groups of eight, the low bit first; whenever their width
//! changes, the rest of the group is padding. There is no checksum and no length, so a truncated file looks like a shorter one:
//! callers must compare a checksum from elsewhere.

use std::io::{self, Read};

const MAGIC: [u8; 2] = [0x1F, 0x9D];
const BLOCK_MODE: u8 = 0x80;
const MAX_BITS: u8 = 0x1F;
const FIRST_WIDTH: usize = 9;
/// The least that a header may allow. With 9 bits `compress` itself writes what nothing reads back.
const LEAST_MAX_WIDTH: usize = 10;
const LAST_WIDTH: usize = 16;
/// In block mode, the code that empties the table.
const CLEAR: usize = 256;

/// Decompresses what `compress` wrote. Reads in small pieces, so give it a buffered input.
pub(super) struct CompressReader<R> {
    input: R,
    /// `None` until the header was read.
    table: Option<Table>,
    group: Group,
    /// What was decoded, of which the first `n_given` bytes were handed out.
    decoded: Vec<u8>,
    n_given: usize,
}

/// Eight codes, or fewer at the end of the file.
#[derive(Default)]
struct Group {
    bytes: [u8; LAST_WIDTH],
    n_bits: usize,
    next_bit: usize,
}

/// The strings that codes stand for: each is another string and one byte more.
struct Table {
    max_width: usize,
    is_block_mode: bool,
    width: usize,
    prefixes: Vec<u16>,
    suffixes: Vec<u8>,
    /// The code before, and the first byte of its string.
    previous: Option<(usize, u8)>,
}

impl<R: Read> CompressReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, table: None, group: Group::default(), decoded: Vec::new(), n_given: 0 }
    }

    /// Decodes one more code; false at the end of the file.
    fn decode_one(&mut self) -> io::Result<bool> {
        let table = match &mut self.table {
            Some(table) => table,
            slot => slot.insert(Table::from_header(&mut self.input)?),
        };
        if table.grow() {
            self.group = Group::default();
        }
        let Some(code) = self.group.next_code(&mut self.input, table.width)? else { return Ok(false) };
        if code == CLEAR && table.is_block_mode {
            table.clear();
            self.group = Group::default();
        } else {
            table.decode(code, &mut self.decoded)?;
        }
        Ok(true)
    }
}

impl<R: Read> Read for CompressReader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        if self.n_given == self.decoded.len() {
            self.decoded.clear();
            self.n_given = 0;
            while self.decoded.len() < buffer.len() && self.decode_one()? {}
        }
        let left = &self.decoded[self.n_given..];
        let n_read = left.len().min(buffer.len());
        buffer[..n_read].copy_from_slice(&left[..n_read]);
        self.n_given += n_read;
        Ok(n_read)
    }
}

impl Group {
    /// The next code of `width` bits; `None` at the end of the file, where fewer bits are padding.
    fn next_code(&mut self, input: &mut impl Read, width: usize) -> io::Result<Option<usize>> {
        if self.next_bit + width > self.n_bits {
            self.next_bit = 0;
            self.n_bits = 8 * read_up_to(input, &mut self.bytes[..width])?;
            if self.n_bits < width {
                self.n_bits = 0;
                return Ok(None);
            }
        }
        let bit = |place: usize| usize::from(self.bytes[place / 8] >> (place % 8) & 1);
        let code = (0..width).map(|index| bit(self.next_bit + index) << index).sum();
        self.next_bit += width;
        Ok(Some(code))
    }
}

impl Table {
    fn from_header(input: &mut impl Read) -> io::Result<Self> {
        let mut header = [0; 3];
        if read_up_to(input, &mut header)? < header.len() || header[..2] != MAGIC {
            return Err(damaged("it does not begin with 1F 9D".to_owned()));
        }
        let max_width = usize::from(header[2] & MAX_BITS);
        if !(LEAST_MAX_WIDTH..=LAST_WIDTH).contains(&max_width) {
            return Err(damaged(format!("its codes have up to {max_width} bits, expected 10 to 16")));
        }
        let mut table = Self {
            max_width,
            is_block_mode: header[2] & BLOCK_MODE != 0,
            width: FIRST_WIDTH,
            prefixes: Vec::new(),
            suffixes: Vec::new(),
            previous: None,
        };
        table.clear();
        Ok(table)
    }

    /// Goes back to the codes that stand for one byte each; in block mode 256 is taken, too.
    fn clear(&mut self) {
        let n_first = if self.is_block_mode { CLEAR + 1 } else { CLEAR };
        self.prefixes.clear();
        self.prefixes.resize(n_first, 0);
        self.suffixes.clear();
        self.suffixes.extend((0..n_first).map(|code| code as u8));
        self.width = FIRST_WIDTH;
        self.previous = None;
    }

    /// Widens the codes once the next one to be added no longer fits; true if they were widened.
    fn grow(&mut self) -> bool {
        let is_wider = self.width < self.max_width && self.prefixes.len() >= 1 << self.width;
        self.width += usize::from(is_wider);
        is_wider
    }

    /// Appends the string of `code`, and adds that of the code before with one byte more.
    fn decode(&mut self, code: usize, decoded: &mut Vec<u8>) -> io::Result<()> {
        let n_codes = self.prefixes.len();
        let begin = decoded.len();
        let first = match self.previous {
            None if code < CLEAR => {
                decoded.push(code as u8);
                code as u8
            }
            None => return Err(damaged(format!("it begins with code {code}, expected one below {CLEAR}"))),
            Some((previous, previous_first)) => {
                let mut rest = code;
                // The one code that may be used before it is known: the string before and its own first byte.
                if code == n_codes && n_codes < 1 << self.max_width {
                    decoded.push(previous_first);
                    rest = previous;
                } else if code >= n_codes {
                    return Err(damaged(format!("code {code} where {n_codes} are known")));
                }
                // A string is known by its end, so it comes out backwards; prefixes are smaller than their codes.
                while rest >= CLEAR {
                    decoded.push(self.suffixes[rest]);
                    rest = usize::from(self.prefixes[rest]);
                }
                decoded.push(rest as u8);
                decoded[begin..].reverse();
                if n_codes < 1 << self.max_width {
                    self.prefixes.push(previous as u16);
                    self.suffixes.push(rest as u8);
                }
                rest as u8
            }
        };
        self.previous = Some((code, first));
        Ok(())
    }
}

fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut n_filled = 0;
    while n_filled < buffer.len() {
        match input.read(&mut buffer[n_filled..]) {
            Ok(0) => break,
            Ok(n_read) => n_filled += n_read,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    Ok(n_filled)
}

fn damaged(problem: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged .Z data: {problem}"))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn decode(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut decoded = Vec::new();
        CompressReader::new(bytes).read_to_end(&mut decoded)?;
        Ok(decoded)
    }

    /// What `compress -b MAX_WIDTH` writes, but that the table is emptied wherever the text has reached one of `clears`.
    pub(in crate::data) fn compress(text: &[u8], max_width: usize, clears: &[usize]) -> Vec<u8> {
        encode(text, max_width, Some(clears))
    }

    /// The same; without `clears`, not in block mode, as the oldest versions wrote.
    fn encode(text: &[u8], max_width: usize, clears: Option<&[usize]>) -> Vec<u8> {
        let (mode, n_first) = if clears.is_some() { (BLOCK_MODE, 257) } else { (0, 256) };
        let mut file = vec![0x1F, 0x9D, max_width as u8 | mode];
        let (mut bits, mut n_bits) = (0_u128, 0);
        let (mut width, mut known, mut n_codes) = (9, HashMap::new(), n_first);
        let mut put = |code: usize, width: usize, ends_group: bool| {
            bits |= (code as u128) << n_bits;
            n_bits += width;
            if n_bits == 8 * width || ends_group {
                let n_bytes = if ends_group { width } else { n_bits / 8 };
                file.extend_from_slice(&bits.to_le_bytes()[..n_bytes]);
                (bits, n_bits) = (0, 0);
            }
        };
        let mut string: Option<usize> = None;
        for (place, &byte) in text.iter().enumerate() {
            let Some(prefix) = string else {
                string = Some(usize::from(byte));
                continue;
            };
            if let Some(&longer) = known.get(&(prefix, byte)) {
                string = Some(longer);
                continue;
            }
            // The reader learns of a string one code later, so it widens its codes one code later.
            let widens = n_codes == 1 << width && width < max_width;
            put(prefix, width, widens);
            width += usize::from(widens);
            if n_codes < 1 << max_width {
                known.insert((prefix, byte), n_codes);
                n_codes += 1;
            }
            string = Some(usize::from(byte));
            if clears.is_some_and(|clears| clears.contains(&place)) {
                put(CLEAR, width, true);
                (width, n_codes) = (9, n_first);
                known.clear();
            }
        }
        if let Some(code) = string {
            put(code, width, false);
        }
        let n_left = n_bits.div_ceil(8);
        file.extend_from_slice(&bits.to_le_bytes()[..n_left]);
        file
    }

    /// Letters that look random, the first `n_kinds` of the alphabet.
    fn letters(n: usize, seed: u32, n_kinds: u32) -> Vec<u8> {
        let mut state = seed;
        let letter = |_| {
            state = state.wrapping_mul(1_103_515_245).wrapping_add(12_345) & 0x7FFF_FFFF;
            b'a' + ((state >> 16) % n_kinds) as u8
        };
        (0..n).map(letter).collect()
    }

    #[test]
    fn what_compress_wrote_is_read() {
        // `printf 'locus locus locus loc' | compress -c | xxd -p`
        let small = b"\x1F\x9D\x90\x6C\xDE\x8C\xA9\x33\x07\x44\xC0\x81\x05\x0F\x12\x34\x28\x10";
        assert_eq!(decode(small).unwrap(), b"locus locus locus loc");
        // `compress -b 10` of this text. It empties its table once, within a group.
        let digits = b"0123456789".repeat(1000);
        let text = [&digits[..], &letters(2500, 7, 2), &digits[..9000], &letters(1600, 9, 26), &[b'x'; 300]]
            .concat();
        assert!(decode(include_bytes!("testdata/cleared.Z")).unwrap() == text);
    }

    #[test]
    fn all_widths_are_read() {
        let text = letters(200_000, 1, 26);
        for max_width in 10..=16 {
            // Only outside of block mode do codes widen in the midst of a group.
            for clears in [None, Some(&[][..]), Some(&[7, 8, 1000, 150_000])] {
                let file = encode(&text, max_width, clears);
                assert!(decode(&file).unwrap() == text, "{max_width}, {clears:?}");
            }
        }
        assert_eq!(decode(&compress(b"", 16, &[])).unwrap(), b"");
        // A string that is used before the reader knows it.
        assert_eq!(decode(&compress(&[b'a'; 1000], 16, &[])).unwrap(), [b'a'; 1000]);
    }

    #[test]
    fn damage_is_an_error_where_it_can_be_seen() {
        for (bytes, expected) in [
            (&b""[..], "does not begin with 1F 9D"),
            (b"\x1F\x8B\x08", "does not begin with 1F 9D"),
            (b"\x1F\x9D\x89", "up to 9 bits, expected 10 to 16"),
            (b"\x1F\x9D\x9F", "up to 31 bits, expected 10 to 16"),
            (b"\x1F\x9D\x90\xFF\xFF", "begins with code 511"),
            (b"\x1F\x9D\x90\x61\xFE\x03", "code 511 where 257 are known"),
        ] {
            let error = decode(bytes).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidData);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_comes_back(
            text in proptest::collection::vec(0_u8..4, 0..3000),
            clears in proptest::collection::vec(0_usize..3000, 0..4),
            max_width in 10_usize..=16,
        ) {
            prop_assert_eq!(decode(&compress(&text, max_width, &clears)).unwrap(), text);
        }

        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = decode(&bytes);
            for (place, byte) in [0x1F, 0x9D, 0x90].into_iter().enumerate().take(bytes.len()) {
                bytes[place] = byte;
            }
            let _ = decode(&bytes);
        }
    }
}
