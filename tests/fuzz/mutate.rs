//! A small mutator: it spoils bytes as files are spoiled, and as somebody spoils them on purpose.

use git_skein::fuzz::Dice;

/// Numbers that lengths, counts and offsets break at.
const NUMBERS: &[u64] =
    &[0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff, u64::MAX];

/// What readers stop at, or should.
const TOKENS: &[&[u8]] = &[
    b"\0",
    b"\n",
    b"\r\n",
    b"\r",
    b" ",
    b"\t",
    b"\xfe",
    b"\xff",
    b"\xc3\x28",
    b"\xe2\x80\xa8",
    b"\xef\xbb\xbf",
    b"/",
    b"..",
    b"\"",
    b"'",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"=",
    b"#",
    b"-",
    b"---\n",
    b"```\n",
    b"~~~\n",
    b"> ",
    b"- [ ] ",
    b"<!--",
    b"-->",
    b"<!-- agent:status -->",
    b"<!-- /agent:status -->",
    b"<!-- patch:status -->",
    b"<!-- /patch:status -->",
    b"\x1b[",
    b"refs/heads/",
    b"18446744073709551615",
    b"-1",
    b"1e999",
    b"null",
    b"true",
    b"\"v\":1",
    b"&a [*a]",
    b"|\n",
    b"0000000000000000000000000000000000000000",
    b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Longer inputs only take longer.
const MOST: usize = 64 << 10;

/// `bytes` spoiled, with `other` as something to splice in.
pub fn mutated(bytes: &[u8], other: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..1 + dice.roll(4) {
        once(&mut bytes, other, dice);
        bytes.truncate(MOST);
    }
    bytes
}

fn once(bytes: &mut Vec<u8>, other: &[u8], dice: &mut Dice) {
    let at = dice.roll(bytes.len() + 1);
    let end = at + dice.roll((bytes.len() - at).min(64) + 1);
    match dice.roll(12) {
        0 if at < bytes.len() => bytes[at] ^= 1 << dice.roll(8),
        1 if at < bytes.len() => bytes[at] = dice.roll(256) as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let twice = bytes[at..end].to_vec();
            bytes.splice(at..at, twice);
        }
        5 => {
            let from = dice.roll(other.len() + 1);
            let upto = from + dice.roll((other.len() - from).min(200) + 1);
            bytes.splice(at..end, other[from..upto].iter().copied());
        }
        6 => {
            let number = dice.pick(NUMBERS);
            let wide = dice.pick(&[1, 2, 4, 8]);
            let raw = if dice.roll(2) == 0 {
                number.to_le_bytes()[..wide].to_vec()
            } else {
                number.to_be_bytes()[8 - wide..].to_vec()
            };
            let end = (at + wide).min(bytes.len());
            bytes.splice(at..end, raw);
        }
        7 => swap_lines(bytes, dice),
        8 => {
            let block = bytes[at..end].to_vec();
            let many = dice.pick(&[2, 10, 100]);
            bytes.splice(at..at, block.repeat(many));
        }
        9 => {
            let bad = bytes[at..end].to_vec();
            bytes.drain(at..end);
            let to = dice.roll(bytes.len() + 1);
            bytes.splice(to..to, bad);
        }
        _ => {
            let token = dice.pick(TOKENS);
            let end = if dice.roll(2) == 0 { at } else { end };
            bytes.splice(at..end, token.iter().copied());
        }
    }
}

fn swap_lines(bytes: &mut Vec<u8>, dice: &mut Dice) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
    if lines.len() > 1 {
        let (one, other) = (dice.roll(lines.len()), dice.roll(lines.len()));
        lines.swap(one, other);
        *bytes = lines.concat();
    }
}
