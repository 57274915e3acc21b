//! The head of a conversation's requests.

use serde_json::Value;

/// System text and tools, fixed by the first request of a conversation and identical in all later ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// The system text.
    pub system: String,
    /// The tools that the model may call, in the order in which they are sent.
    pub tools: Vec<ToolDeclaration>,
}

/// A tool as declared to a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// Name of the tool, which matches `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// Description for the model: the tool's summary if it has one, else its full description.
    pub description: String,
    /// JSON schema of the arguments.
    pub parameters: Value,
    /// Whether the provider should enforce the schema.
    pub strict: bool,
}
