//! SHA-256 in hex: what files, blobs and approvals are known by.

use std::io::{self, Read};

use sha2::{Digest, Sha256};

/// The SHA-256 of some bytes, as 64 lower-case hex digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The SHA-256 of all that can be read.
///
/// # Errors
/// As reading.
pub fn of_reader(mut reader: impl Read) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hex(&hasher.finalize())),
            Ok(read) => hasher.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// One SHA-256 of several parts. Each goes in with its length, so that no two lists of parts share one.
#[must_use]
pub fn of_parts(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hex(&hasher.finalize())
}

/// Whether a text is such a digest.
#[must_use]
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
    bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_the_known_digest() {
        let digest = sha256(b"abc");
        assert_eq!(
            digest,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert!(is_sha256(&digest));
        assert!(!is_sha256(&digest.to_uppercase()));
        assert!(!is_sha256("../../etc/passwd"));
    }

    #[test]
    fn parts_do_not_run_into_each_other() {
        assert_ne!(of_parts(&["ab", "c"]), of_parts(&["a", "bc"]));
        assert_ne!(of_parts(&["a"]), of_parts(&["a", ""]));
    }
}
