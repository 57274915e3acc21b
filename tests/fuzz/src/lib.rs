//! Inputs damaged at random, with a budget that is the same each time. `ASIDE_FUZZ=100 cargo test -- fuzzed` takes a
//! hundred times as many, others each time. An input that once broke something is kept as a sample or a row of its own
//! test.

use std::{
    fs,
    path::{Path, PathBuf},
};

use fastrand::Rng;

/// The root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Bytes that mean something in what is read here.
const TELLING: &[u8] = b"\r\n:{}[]\"\\0 -,.e9\x00\xff";

/// Makes `count` damaged inputs of this one, or a multiple of `count` where `ASIDE_FUZZ` says so.
///
/// # Panics
/// If `ASIDE_FUZZ` is not a number.
pub fn damaged(bytes: &[u8], count: usize) -> impl Iterator<Item = Vec<u8>> + use<> {
    let times: Option<usize> = std::env::var("ASIDE_FUZZ")
        .ok()
        .map(|times| times.parse().expect("a number"));
    let mut random = times.map_or_else(|| Rng::with_seed(bytes.len() as u64), |_| Rng::new());
    let bytes = bytes.to_vec();
    (0..count * times.unwrap_or(1)).map(move |_| {
        let mut now = bytes.clone();
        for _ in 0..random.usize(1..4) {
            change(&mut now, &mut random);
        }
        now
    })
}

fn change(bytes: &mut Vec<u8>, random: &mut Rng) {
    if bytes.is_empty() {
        return bytes.push(random.u8(..));
    }
    let at = random.usize(..bytes.len());
    let until = random.usize(at..bytes.len().min(at + 64)) + 1;
    let part = at..until.min(bytes.len());
    match random.u8(..6) {
        0 => bytes[at] = random.u8(..),
        1 => bytes[at] = TELLING[random.usize(..TELLING.len())],
        2 => bytes.insert(at, TELLING[random.usize(..TELLING.len())]),
        3 => drop(bytes.drain(part)),
        4 => {
            let copy = bytes[part].to_vec();
            let place = random.usize(..=bytes.len());
            bytes.splice(place..place, copy);
        }
        _ => bytes.truncate(at),
    }
}

/// The corpus: files below a folder of the repository whose names have one of these ends, in order.
///
/// # Panics
/// If a file cannot be read, or no file has such a name.
pub fn corpus(folder: &str, ends: &[&str]) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(ROOT).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("the corpus") {
            let path = entry.expect("an entry").path();
            let name = path.to_string_lossy();
            if path.is_dir() {
                folders.push(path);
            } else if ends.iter().any(|end| name.ends_with(end)) {
                let bytes = fs::read(&path).expect("a file");
                found.push((path, bytes));
            }
        }
    }
    found.sort();
    assert!(!found.is_empty(), "{folder} has no {ends:?}");
    found
}
