//! A table as text: comments, a legend of single letters, and rows `cell cell …: outcome`.

use std::collections::BTreeMap;

/// A table, parsed.
pub(crate) struct Table {
    /// What letters stand for.
    pub(crate) legend: BTreeMap<String, String>,
    /// Cells and outcome of each row.
    pub(crate) rows: Vec<(Vec<&'static str>, &'static str)>,
}

impl Table {
    /// Reads a table. A row that is there twice, or a line that is none of all that, panics.
    pub(crate) fn of(text: &'static str) -> Self {
        let mut table = Self {
            legend: BTreeMap::new(),
            rows: Vec::new(),
        };
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            if let Some((letter, words)) = line.split_once(" = ").filter(|(key, _)| key.len() == 1)
            {
                table
                    .legend
                    .insert(letter.into(), words.replace("\\n", "\n"));
                continue;
            }
            let (cells, outcome) = line.split_once(": ").expect("cells and an outcome");
            let cells: Vec<_> = cells.split(' ').collect();
            assert!(
                table.rows.iter().all(|(known, _)| *known != cells),
                "twice: {line}"
            );
            table.rows.push((cells, outcome));
        }
        table
    }

    /// Checks every row, and tells of all that fail.
    pub(crate) fn check(&self, outcome: impl Fn(&[&str], &str) -> Result<(), String>) {
        let mut failures = Vec::new();
        for (cells, expected) in &self.rows {
            if let Err(why) = outcome(cells, expected) {
                failures.push(format!("{}: {expected}\n{why}", cells.join(" ")));
            }
        }
        let (count, all) = (failures.len(), self.rows.len());
        failures.truncate(5);
        assert_eq!(
            count,
            0,
            "{count} of {all} rows fail, among them\n\n{}",
            failures.join("\n\n")
        );
    }
}
