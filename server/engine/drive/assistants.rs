//! The assistants of their own that answer a turn's inquiries.

use std::{collections::HashMap, sync::Arc};

use crate::provider::{Head, Provider};

/// An assistant of its own for inquiries.
#[derive(Clone)]
pub struct InquiryAssistant {
    /// The model that answers.
    pub provider: Arc<dyn Provider>,
    /// Its system text. It has no tools.
    pub head: Arc<Head>,
}

/// Finds the assistant of this name; see [`aside_turn::rules::Assistant`].
pub type FindAssistant = Arc<dyn Fn(&str) -> Result<InquiryAssistant, String> + Send + Sync>;

/// The assistants that a turn has asked so far. Each is looked for once a turn.
pub struct Assistants {
    find: FindAssistant,
    found: HashMap<String, InquiryAssistant>,
}

impl Assistants {
    /// Looks for assistants in this way.
    #[must_use]
    pub fn new(find: FindAssistant) -> Self {
        Self {
            find,
            found: HashMap::new(),
        }
    }

    /// The assistant of this name.
    ///
    /// # Errors
    /// A sentence that says why it cannot be used.
    pub(super) fn get(&mut self, name: &str) -> Result<InquiryAssistant, String> {
        if let Some(found) = self.found.get(name) {
            return Ok(found.clone());
        }
        let found = (self.find)(name)?;
        self.found.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}
