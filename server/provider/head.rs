//! The head of a conversation's requests.

use serde_json::Value;

/// What a conversation's first request freezes: equal bytes in every later one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// The system text.
    pub system: String,
    /// The tools that the model may call, in the order in which they are sent.
    pub tools: Vec<ToolDeclaration>,
}

/// A tool as a provider is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// The tool's name, which fits `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What the model reads: the summary where the tool has one, else the description.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
    /// Arguments are to be held to the schema by the provider.
    pub strict: bool,
}
