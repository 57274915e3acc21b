//! Tables of names of files and folders, in which a `*` stands for anything.

use std::collections::HashMap;

/// Rows by the name of a file or folder. A name without a `*` is found at once.
pub struct NameTable<T> {
    exact: HashMap<&'static str, Vec<T>>,
    /// Those whose names have a `*`.
    open: Vec<(&'static str, T)>,
}

impl<T> FromIterator<(&'static str, T)> for NameTable<T> {
    fn from_iter<I: IntoIterator<Item = (&'static str, T)>>(rows: I) -> Self {
        let mut table = Self {
            exact: HashMap::new(),
            open: Vec::new(),
        };
        for (name, row) in rows {
            match name.contains('*') {
                true => table.open.push((name, row)),
                false => table.exact.entry(name).or_default().push(row),
            }
        }
        table
    }
}

impl<T> NameTable<T> {
    /// The rows that a name fits.
    pub fn rows(&self, name: &str) -> impl Iterator<Item = &T> {
        let exact = self.exact.get(name).into_iter().flatten();
        let open = self.open.iter().filter(move |(part, _)| fits(name, part));
        exact.chain(open.map(|(_, row)| row))
    }

    /// All rows, in no order.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        let open = self.open.iter().map(|(_, row)| row);
        self.exact.values().flatten().chain(open)
    }
}

/// Whether a name fits the one of a row, in which a `*` stands for anything.
#[must_use]
pub fn fits(name: &str, part: &str) -> bool {
    fits_bytes(name.as_bytes(), part.as_bytes())
}

/// From both ends, byte by byte, as almost every name differs in the first one.
fn fits_bytes(name: &[u8], part: &[u8]) -> bool {
    match part {
        [] => name.is_empty(),
        [b'*'] => true,
        [start @ .., last] if *last != b'*' => name
            .strip_suffix(&[*last])
            .is_some_and(|name| fits_bytes(name, start)),
        [first, rest @ ..] if *first != b'*' => name
            .strip_prefix(&[*first])
            .is_some_and(|name| fits_bytes(name, rest)),
        [_, rest @ ..] => (0..=name.len()).any(|at| fits_bytes(&name[at..], rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything_each_time() {
        for (name, part, expected) in [
            (".vscode", ".vscode", true),
            ("x.vscode", ".vscode", false),
            ("x.run.xml", "*.run.xml", true),
            (".nvim.lua", ".nvim*", true),
            ("mise.prod.toml", "mise.*.toml", true),
            ("mise.toml", "mise.*.toml", false),
            (".dir-locals-2.el", ".dir-locals*.el", true),
            ("secrets.yaml", "*secrets.y*ml", true),
            ("secrets.yml", "*secrets.y*ml", true),
            ("secrets.y", "*secrets.y*ml", false),
            ("aba", "ab*ba", false),
            ("é", "*", true),
            ("a.tfstate.b", "*.tfstate.*", true),
            (".tfstate.", "*.tfstate.*", true),
            ("a.tfstate", "*.tfstate.*", false),
            ("secret.json", "secret*.json", true),
            ("secretjson", "secret*.json", false),
            ("aa", "a*aa", false),
            ("aaa", "a*aa", true),
            ("", "*", true),
            ("", "", true),
            ("a", "", false),
        ] {
            assert_eq!(fits(name, part), expected, "{name} {part}");
        }
    }

    #[test]
    fn a_name_has_the_rows_that_it_fits() {
        let names = ["a", "a*", "*b", "a", "c"];
        let table: NameTable<usize> = names.into_iter().zip(0..).collect();
        let rows = |name| table.rows(name).copied().collect::<Vec<_>>();
        assert_eq!(rows("a"), [0, 3, 1]);
        assert_eq!(rows("ab"), [1, 2]);
        assert!(rows("x").is_empty());
        assert_eq!(table.all().count(), names.len());
    }
}
