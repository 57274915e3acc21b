//! Programs as files: which are some, and who may exchange them.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

use windows_sys::Win32::{
    Foundation::{GENERIC_ALL, GENERIC_WRITE},
    Storage::FileSystem::{
        DELETE, FILE_APPEND_DATA, FILE_DELETE_CHILD, FILE_WRITE_DATA, WRITE_DAC, WRITE_OWNER,
    },
};

use super::calls::lets_everybody;

/// Variables of the environment that programs of this system need besides those that all get.
pub const VARIABLES: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMMONPROGRAMW6432",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROCESSOR_IDENTIFIER",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "PSMODULEPATH",
    "PUBLIC",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Ends of names of programs, as the system has them where nobody says otherwise.
const USUAL_ENDS: &str = ".COM;.EXE;.BAT;.CMD";

/// The path of the program of this process.
///
/// # Errors
/// If the system does not tell.
pub fn own() -> io::Result<PathBuf> {
    env::current_exe()
}

/// Whether this is a file that can be run; it is not run.
#[must_use]
pub fn is_program(file: &Path) -> bool {
    let end = file.extension().unwrap_or_default().to_string_lossy();
    let is_end = ends().any(|known| known[1..].eq_ignore_ascii_case(&end));
    is_end && fs::metadata(file).is_ok_and(|about| about.is_file())
}

/// The names of files that a program of this name may have in a folder, in the order in which they are looked for.
#[must_use]
pub fn file_names(program: &OsStr) -> Vec<OsString> {
    let with = |end: String| {
        let mut name = program.to_owned();
        name.push(end.to_lowercase());
        name
    };
    let own = Path::new(program).extension().is_some();
    let own = own.then(|| program.to_owned());
    own.into_iter().chain(ends().map(with)).collect()
}

/// The ends of names of programs that the system itself starts. Others, such as scripts, need a program that is not
/// named.
fn ends() -> impl Iterator<Item = String> {
    let named = env::var("PATHEXT").unwrap_or_else(|_| USUAL_ENDS.to_owned());
    let named: Vec<String> = named.split(';').map(str::to_owned).collect();
    named.into_iter().filter(|end| {
        let mut known = USUAL_ENDS.split(';');
        known.any(|known| known.eq_ignore_ascii_case(end))
    })
}

/// The program by which the system starts one of this name. It finds only those whose names end as those of programs do,
/// and looks into the present folder first, so it is looked for here: in the absolute folders of `PATH`.
#[must_use]
pub fn started_as(program: &OsStr, folder: &Path, path: &OsStr) -> OsString {
    let found = |file: &PathBuf| is_program(file);
    let named = folder.join(program);
    let itself = file_names(named.as_os_str()).into_iter().map(Into::into);
    let file = match is_path(program) {
        true => itself.into_iter().find(found),
        false => env::split_paths(path)
            .filter(|at| at.is_absolute())
            .flat_map(|at| {
                file_names(program)
                    .into_iter()
                    .map(move |name| at.join(name))
            })
            .find(found),
    };
    // What is not found is an error of the start, by a name that lies in no folder.
    file.map_or_else(|| named.join("not found").into(), Into::into)
}

/// Whether a program is named by a path, and not looked for in the folders of `PATH`.
#[must_use]
pub fn is_path(program: &OsStr) -> bool {
    let is_part = |byte: &u8| matches!(byte, b'/' | b'\\' | b':');
    program.as_encoded_bytes().iter().any(is_part)
}

/// Whether every user of the machine may change what lies at a real path, or put something else in its place. True also
/// where that cannot be told.
#[must_use]
pub fn is_everybodys(real: &Path) -> bool {
    let (all, owning) = (GENERIC_ALL | GENERIC_WRITE, WRITE_DAC | WRITE_OWNER);
    let itself = FILE_WRITE_DATA | FILE_APPEND_DATA | DELETE | all | owning;
    let through = FILE_DELETE_CHILD | GENERIC_ALL | DELETE | owning;
    let lets = |path: &Path, wanted| lets_everybody(path, wanted).unwrap_or(true);
    let mut above = real.ancestors().skip(1);
    lets(real, itself) || above.any(|folder| lets(folder, through))
}
