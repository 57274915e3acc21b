//! Home folders of the user.
//!
//! A program finds its files by `HOME` or by the user database. Where the two differ, the secrets and settings of both
//! are the user's.

use std::{env, ffi::OsString, path::PathBuf};

use crate::system::users;

/// The home folder, in which the user's files are looked for: what `HOME` names, else what the user database has. None
/// where neither is an absolute path.
#[must_use]
pub fn home() -> Option<PathBuf> {
    homes().into_iter().next()
}

/// All folders in which programs may look for the user's files, the one of `HOME` first.
#[must_use]
pub fn homes() -> Vec<PathBuf> {
    all(env::var_os("HOME"), users::own_home())
}

fn all(variable: Option<OsString>, database: Option<PathBuf>) -> Vec<PathBuf> {
    let named = variable.map(PathBuf::from);
    let found = named.into_iter().chain(database);
    let mut homes: Vec<PathBuf> = found.filter(|home| home.is_absolute()).collect();
    homes.dedup();
    homes
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn a_home_is_known_by_the_variable_and_by_the_user_database() {
        let check = |variable: Option<&str>, database: Option<&str>, expected: &[&str]| {
            let found = all(variable.map(Into::into), database.map(Into::into));
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(found, expected, "{variable:?} {database:?}");
        };
        check(Some("/home/u"), Some("/home/u"), &["/home/u"]);
        check(
            Some("/elsewhere"),
            Some("/home/u"),
            &["/elsewhere", "/home/u"],
        );
        check(None, Some("/home/u"), &["/home/u"]);
        check(Some(""), Some("/home/u"), &["/home/u"]);
        check(Some("relative"), Some("/home/u"), &["/home/u"]);
        check(Some("/elsewhere"), None, &["/elsewhere"]);
        check(None, Some(""), &[]);
        check(None, None, &[]);
    }
}
