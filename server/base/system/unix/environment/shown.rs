//! The memory that Linux shows other processes as the environment of this one.

use std::{
    ffi::OsString,
    fs::{self, File},
    io,
    os::unix::{ffi::OsStrExt, fs::FileExt},
    sync::OnceLock,
};

/// Bytes of an environment that is looked through.
const MOST: u64 = 8 << 20;

/// Finds what other processes are shown, while that can be found: later, not even this process may open its memory.
pub fn find_shown() {
    let _ = shown();
}

/// Overwrites the values of these variables where other processes see them.
///
/// # Errors
/// Where the kernel does not let a process change its own environment.
pub fn overwrite(names: &[OsString]) -> io::Result<()> {
    shown()?.overwrite(names)
}

/// Whether other processes can read this value of a variable. True also where that is not known.
#[must_use]
pub fn shows(name: &str, value: &str) -> bool {
    let entry = format!("{name}={value}").into_bytes();
    let block = shown().and_then(ShownEnvironment::read);
    let is_in = |block: Vec<u8>| block.split(|byte| *byte == 0).any(|other| other == entry);
    block.map_or(true, is_in)
}

/// The memory that the kernel shows others as our environment.
struct ShownEnvironment {
    memory: File,
    start: u64,
    length: usize,
}

/// Opened while the process may still be looked into: later, not even it itself may open its memory.
static SHOWN: OnceLock<Option<ShownEnvironment>> = OnceLock::new();

fn shown() -> io::Result<&'static ShownEnvironment> {
    let shown = SHOWN.get_or_init(|| ShownEnvironment::open().ok());
    let unknown = || io::Error::other("the environment cannot be found in memory");
    shown.as_ref().ok_or_else(unknown)
}

impl ShownEnvironment {
    fn open() -> io::Result<Self> {
        let extent = extent(&fs::read("/proc/self/stat")?);
        let length = extent.and_then(|(start, end)| end.checked_sub(start));
        let length = length.filter(|length| *length <= MOST);
        let (Some((start, _)), Some(length)) = (extent, length) else {
            return Err(io::ErrorKind::NotFound.into());
        };
        Ok(Self {
            memory: File::options()
                .read(true)
                .write(true)
                .open("/proc/self/mem")?,
            start,
            length: usize::try_from(length).map_err(io::Error::other)?,
        })
    }

    fn read(&self) -> io::Result<Vec<u8>> {
        let mut block = vec![0; self.length];
        self.memory.read_exact_at(&mut block, self.start)?;
        Ok(block)
    }

    /// Overwrites the values of these variables.
    fn overwrite(&self, names: &[OsString]) -> io::Result<()> {
        let mut at = 0;
        for entry in self.read()?.split_inclusive(|byte| *byte == 0) {
            let text = entry.strip_suffix(&[0]).unwrap_or(entry);
            if let Some(equals) = text.iter().position(|byte| *byte == b'=')
                && names.iter().any(|name| name.as_bytes() == &text[..equals])
            {
                let place = self.start + (at + equals + 1) as u64;
                let value = vec![0; text.len() - equals - 1];
                self.memory.write_all_at(&value, place)?;
            }
            at += entry.len();
        }
        Ok(())
    }
}

/// From where to where the environment lies in memory, as `/proc/self/stat` tells it: its fields 50 and 51, counted
/// from 1. The second one, the program's name, stands in parentheses and may hold anything.
fn extent(stat: &[u8]) -> Option<(u64, u64)> {
    let name = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&stat[name + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace().skip(50 - 3);
    let mut next = || fields.next()?.parse().ok().filter(|address| *address != 0);
    Some((next()?, next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_is_found_in_what_the_kernel_tells() {
        let mut fields: Vec<String> = (3..=52).map(|field| field.to_string()).collect();
        let stat = format!("7 (a) b) {}", fields.join(" "));
        assert_eq!(extent(stat.as_bytes()), Some((50, 51)));
        fields[50 - 3] = "0".into();
        let stat = format!("7 (a) {}", fields.join(" "));
        assert_eq!(extent(stat.as_bytes()), None, "it is not told");
        assert_eq!(extent(b"7 (a) S 1"), None);
        let (start, end) = extent(&fs::read("/proc/self/stat").unwrap()).unwrap();
        assert!(start < end);
    }
}
