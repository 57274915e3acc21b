//! The last lists of providers' models: `models.json` in the state directory. The file is a cache: without it, less is
//! known of models.

use aside_provider::abilities::StatedAbilities;
use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::Path,
};

use aside_base::private;
use serde::{Deserialize, Serialize};

const FILE: &str = "models.json";
/// Maximum size of the file in bytes.
const MAX_FILE: u64 = 16 * 1024 * 1024;

/// The lists of providers, by name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lists(BTreeMap<String, List>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct List {
    /// The base URL of the list; a list of another address does not apply.
    base: String,
    models: BTreeMap<String, StatedAbilities>,
}

impl Lists {
    /// Reads the lists; empty if the file is missing, too large or invalid.
    #[must_use]
    pub fn read(state_dir: &Path) -> Self {
        let read = || -> io::Result<Self> {
            let mut text = Vec::new();
            File::open(state_dir.join(FILE))?
                .take(MAX_FILE)
                .read_to_end(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        read().unwrap_or_default()
    }

    /// The listed abilities of a model of the provider at this address.
    #[must_use]
    pub fn get(&self, provider: &str, base: &str, model: &str) -> Option<&StatedAbilities> {
        let list = self.0.get(provider).filter(|list| list.base == base)?;
        list.models.get(model)
    }

    /// All listed models of the provider at this address; `None` without a list.
    #[must_use]
    pub fn all(&self, provider: &str, base: &str) -> Option<&BTreeMap<String, StatedAbilities>> {
        let list = self.0.get(provider).filter(|list| list.base == base)?;
        Some(&list.models)
    }

    /// Replaces a provider's list.
    pub fn set(&mut self, provider: &str, base: &str, models: &[(String, StatedAbilities)]) {
        let list = List {
            base: base.to_owned(),
            models: models.iter().cloned().collect(),
        };
        self.0.insert(provider.to_owned(), list);
    }

    /// Writes the lists.
    ///
    /// # Errors
    /// Fails if the state directory cannot be written.
    pub fn write(&self, state_dir: &Path) -> io::Result<()> {
        private::replace(&state_dir.join(FILE), &serde_json::to_vec(self)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn lists_are_restored_for_the_same_address() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        assert_eq!(Lists::read(&state), Lists::default());
        let stated = StatedAbilities {
            context_window: Some(7),
            efforts: Some(vec!["low".into()]),
            prices: serde_json::from_str(r#"{"input":1,"output":2}"#).unwrap(),
            ..StatedAbilities::default()
        };
        let mut lists = Lists::default();
        lists.set("mine", "http://a/", &[("m".into(), stated.clone())]);
        lists.write(&state).unwrap();
        let read = Lists::read(&state);
        assert_eq!(read, lists);
        assert_eq!(read.get("mine", "http://a/", "m"), Some(&stated));
        for (provider, base, model) in [
            ("mine", "http://b/", "m"),
            ("mine", "http://a/", "n"),
            ("yours", "http://a/", "m"),
        ] {
            assert_eq!(read.get(provider, base, model), None);
        }
    }

    #[test]
    fn invalid_files_are_ignored() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "{", "[]", r#"{"mine":{"base":1}}"#] {
            fs::write(folder.path().join(FILE), text).unwrap();
            assert_eq!(Lists::read(folder.path()), Lists::default(), "{text}");
        }
    }
}
