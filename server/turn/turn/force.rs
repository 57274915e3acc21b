//! A forced tool, and the soft force where a model refuses a real one.

use crate::{
    effect::Sending,
    history::ForceHistory,
    record::DirectiveKind,
    rules::{Model, ToolChoice},
};

/// What is forced. How far that has gone in the turn is in its [`ForceHistory`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Force {
    /// What still holds.
    pub choice: ToolChoice,
}

impl Force {
    /// Begins with what was asked for.
    #[must_use]
    pub fn new(choice: ToolChoice) -> Self {
        Self { choice }
    }

    /// Something is forced and the model does not take it as it is.
    #[must_use]
    pub fn is_soft(&self, model: &Model) -> bool {
        self.forces() && !(model.forces_tools && (!model.reasoning || model.forces_while_reasoning))
    }

    /// How the turn's next request goes out.
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

    /// How the one retry goes out: with the real tool choice where the model takes that without losing its
    /// history.
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

    /// Whether an answer without any call is not what was softly forced, and the model is to be told so. It is told
    /// once in a turn.
    #[must_use]
    pub fn is_missed(&self, model: &Model, history: &ForceHistory) -> bool {
        self.is_soft(model) && !history.is_asked_again(self.tool().as_deref())
    }

    /// The choice holds until the tool was called; for `required`, any.
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

    /// The tool that is forced, where it is one.
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
