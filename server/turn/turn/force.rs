//! Forced tools, and soft force by a directive for models that refuse a forced tool.

use crate::{
    effect::Sending,
    history::ForceHistory,
    record::DirectiveKind,
    rules::{Model, ToolChoice},
};

/// The forced tool choice. Its progress in the turn is in [`ForceHistory`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Force {
    /// The choice that still applies.
    pub choice: ToolChoice,
}

impl Force {
    /// Creates a force with the configured choice.
    #[must_use]
    pub fn new(choice: ToolChoice) -> Self {
        Self { choice }
    }

    /// Whether a tool is forced and the model does not support that.
    #[must_use]
    pub fn is_soft(&self, model: &Model) -> bool {
        self.forces() && !(model.forces_tools && (!model.reasoning || model.forces_while_reasoning))
    }

    /// Options of the turn's next request.
    #[must_use]
    pub fn next(&self, model: &Model, history: &ForceHistory) -> Sending {
        if self.is_soft(model) {
            let tool = self.tool();
            let asked = history.is_asked(tool.as_deref());
            let directive = (!asked).then_some(DirectiveKind::Force { tool });
            return Sending {
                tool_choice: ToolChoice::Auto,
                reasoning: model.reasoning,
                directive,
            };
        }
        Sending {
            tool_choice: self.choice.clone(),
            reasoning: model.reasoning,
            directive: None,
        }
    }

    /// Options of the single retry: with the real tool choice, if the model supports that without losing its history.
    #[must_use]
    pub fn retry(&self, model: &Model) -> Sending {
        let kind = DirectiveKind::ForceAgain { tool: self.tool() };
        let directive = Some(kind);
        if model.forces_tools && model.reasoning_switches {
            return Sending {
                tool_choice: self.choice.clone(),
                reasoning: false,
                directive,
            };
        }
        Sending {
            tool_choice: ToolChoice::Auto,
            reasoning: model.reasoning,
            directive,
        }
    }

    /// Whether an answer without a call misses the soft force, so that the model is told once more. Once in a turn.
    #[must_use]
    pub fn is_missed(&self, model: &Model, history: &ForceHistory) -> bool {
        self.is_soft(model) && !history.is_asked_again(self.tool().as_deref())
    }

    /// Ends the force once the tool was called; any tool for `required`.
    pub fn called(&mut self, tool: &str) {
        let done = match &self.choice {
            ToolChoice::Required => true,
            ToolChoice::Name(name) => name == tool,
            ToolChoice::Auto | ToolChoice::None => false,
        };
        if done {
            self.choice = ToolChoice::Auto;
        }
    }

    /// The single tool that is forced.
    #[must_use]
    pub fn tool(&self) -> Option<String> {
        match &self.choice {
            ToolChoice::Name(name) => Some(name.clone()),
            ToolChoice::Auto | ToolChoice::None | ToolChoice::Required => None,
        }
    }

    fn forces(&self) -> bool {
        matches!(self.choice, ToolChoice::Required | ToolChoice::Name(_))
    }
}
