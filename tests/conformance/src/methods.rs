//! The protocol's table of methods, as `editors/methods.json` has it.

use std::sync::LazyLock;

use serde::Deserialize;

/// A method of the protocol.
#[derive(Clone, Debug, Deserialize)]
pub struct MethodEntry {
    /// Its name on the wire.
    pub method: String,
    /// `request` or `notification`.
    pub kind: String,
    /// Who receives it: `client` or `server`.
    pub to: String,
}

static TABLE: LazyLock<Vec<MethodEntry>> = LazyLock::new(|| {
    let text = include_str!("../../../editors/methods.json");
    serde_json::from_str(text).expect("the table is JSON")
});

/// The method of this name, if it is one of the protocol's.
pub fn row(method: &str) -> Option<&'static MethodEntry> {
    TABLE.iter().find(|row| row.method == method)
}
