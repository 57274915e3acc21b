//! Separate assistants that answer a turn's inquiries.

use std::{collections::HashMap, sync::Arc};

use aside_provider::{Head, Provider};

/// A separate assistant for inquiries.
#[derive(Clone)]
pub struct InquiryAssistant {
    /// The assistant's model.
    pub provider: Arc<dyn Provider>,
    /// The assistant's system text. It has no tools.
    pub head: Arc<Head>,
}

/// Finds an assistant by its name; see [`aside_turn::rules::Assistant`].
pub type FindAssistant = Arc<dyn Fn(&str) -> Result<InquiryAssistant, String> + Send + Sync>;

/// The assistants that a turn has asked so far. Each is opened once per turn.
pub struct Assistants {
    find: FindAssistant,
    found: HashMap<String, InquiryAssistant>,
}

impl Assistants {
    /// Starts without assistants; `find` opens them.
    #[must_use]
    pub fn new(find: FindAssistant) -> Self {
        Self {
            find,
            found: HashMap::new(),
        }
    }

    /// Returns the assistant with this name.
    ///
    /// # Errors
    /// A sentence with the reason why it cannot be used.
    pub(super) fn get(&mut self, name: &str) -> Result<InquiryAssistant, String> {
        if let Some(found) = self.found.get(name) {
            return Ok(found.clone());
        }
        let found = (self.find)(name)?;
        self.found.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}
