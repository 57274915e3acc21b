//! The file by which a program is started, and its environment.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
    path::Path,
};

use aside_base::{
    environment, open_places,
    system::{
        environment::is_same,
        programs::{is_path, started_as},
    },
};

/// A variable of the environment.
type Variable = (OsString, OsString);

/// Folders in which a program, and the programs that it starts, are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundIn {
    /// Every absolute folder of `PATH`: for what runs inside the sandbox, or where there is none.
    Everywhere,
    /// Folders of `PATH` that no program inside the sandbox may write.
    SafeFolders,
    /// The same for its name and for its own programs; a path to it is taken as it is, since a person approved what lies
    /// there.
    Approved,
}

/// A program as it is started in a folder with these variables besides the usual ones, and its environment.
///
/// # Errors
/// Fails if the program is to be found in safe folders, and is in none.
pub(super) fn surroundings(
    program: &OsStr,
    folder: &Path,
    own: &[Variable],
    found_in: FoundIn,
) -> io::Result<(OsString, Vec<Variable>)> {
    let mut all = environment::for_children(env::vars_os());
    all.retain(|(name, _)| !own.iter().any(|(other, _)| is_same(other, name)));
    let mut both = own.iter().chain(&all);
    let path = both.find(|(name, _)| environment::is_path(name));
    let path = path.map_or_else(OsString::new, |(_, path)| path.clone());
    if found_in == FoundIn::Everywhere {
        all.extend(own.iter().cloned());
        return Ok((started_as(program, folder, &path), all));
    }
    let places = open_places::known();
    let program = match found_in == FoundIn::Approved && is_path(program) {
        true => folder.join(program),
        false => places.program(program, folder, &path)?,
    };
    let mut all = environment::for_outside(all, &places);
    all.extend(
        own.iter()
            .map(|(name, value)| match environment::is_path(name) {
                true => (name.clone(), places.safe_path(value)),
                false => (name.clone(), value.clone()),
            }),
    );
    Ok((program.into(), all))
}
