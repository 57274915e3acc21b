//! What providers said of their models when they were last asked: `models.json` in the state directory. It is a
//! cache: without it, less is known of models, and nothing else changes.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read, Write},
    os::unix::fs::DirBuilderExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

use crate::provider::abilities::StatedAbilities;

const FILE: &str = "models.json";
/// Bytes of the file, at the most.
const MOST: u64 = 16 * 1024 * 1024;

/// The lists of providers, by their names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Lists(BTreeMap<String, List>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct List {
    /// Where it was asked for: the list of another place says nothing.
    base: String,
    models: BTreeMap<String, StatedAbilities>,
}

impl Lists {
    /// What is kept in the state directory; nothing where that is missing, too large or broken.
    #[must_use]
    pub fn read(state_dir: &Path) -> Self {
        let read = || -> io::Result<Self> {
            let mut text = Vec::new();
            File::open(state_dir.join(FILE))?
                .take(MOST)
                .read_to_end(&mut text)?;
            Ok(serde_json::from_slice(&text)?)
        };
        read().unwrap_or_default()
    }

    /// What a provider at this place said of a model.
    #[must_use]
    pub fn get(&self, provider: &str, base: &str, model: &str) -> Option<&StatedAbilities> {
        let list = self.0.get(provider).filter(|list| list.base == base)?;
        list.models.get(model)
    }

    /// All that a provider at this place said; none where it was not asked there.
    #[must_use]
    pub fn all(&self, provider: &str, base: &str) -> Option<&BTreeMap<String, StatedAbilities>> {
        let list = self.0.get(provider).filter(|list| list.base == base)?;
        Some(&list.models)
    }

    /// Takes in a provider's list, in place of an earlier one.
    pub fn set(&mut self, provider: &str, base: &str, models: &[(String, StatedAbilities)]) {
        let list = List {
            base: base.to_owned(),
            models: models.iter().cloned().collect(),
        };
        self.0.insert(provider.to_owned(), list);
    }

    /// Keeps them.
    ///
    /// # Errors
    /// Where the state directory cannot be written.
    pub fn write(&self, state_dir: &Path) -> io::Result<()> {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(state_dir)?;
        let mut file = tempfile::NamedTempFile::new_in(state_dir)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.persist(state_dir.join(FILE))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_listed_is_found_again_at_the_same_place() {
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
    fn a_broken_file_says_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for text in ["", "{", "[]", r#"{"mine":{"base":1}}"#] {
            fs::write(folder.path().join(FILE), text).unwrap();
            assert_eq!(Lists::read(folder.path()), Lists::default(), "{text}");
        }
    }
}
