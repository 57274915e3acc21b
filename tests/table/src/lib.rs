//! Tables of tests as text: a row is a line, its columns between bars. The last column may have bars of its own. Empty
//! lines and those that begin with `#` are no rows.

/// Reads a table of `N` columns.
///
/// # Panics
/// If a row has fewer columns, or there is no row.
#[track_caller]
pub fn rows<const N: usize>(table: &str) -> Vec<[&str; N]> {
    let lines = table.lines().map(str::trim);
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows: Vec<[&str; N]> = lines.map(row).collect();
    assert!(!rows.is_empty(), "a table without rows");
    rows
}

#[track_caller]
fn row<const N: usize>(line: &str) -> [&str; N] {
    let columns: Vec<&str> = line.splitn(N, '|').map(str::trim).collect();
    let columns = <[&str; N]>::try_from(columns);
    columns.unwrap_or_else(|found| panic!("{} columns where {N} are due: {line}", found.len()))
}

#[cfg(test)]
mod tests {
    use super::rows;

    #[test]
    fn columns_are_trimmed_and_the_last_has_bars_of_its_own() {
        let table = "
            a b |   | c | d
            # a comment

            | |";
        assert_eq!(rows(table), [["a b", "", "c | d"], ["", "", ""]]);
    }

    #[test]
    #[should_panic(expected = "2 columns where 3 are due: a | b")]
    fn a_short_row_is_a_fault() {
        rows::<3>("a | b");
    }

    #[test]
    #[should_panic(expected = "a table without rows")]
    fn an_empty_table_is_a_fault() {
        rows::<1>("\n# nothing\n");
    }
}
