//! A model server on loopback, for tests and benchmarks.
//!
//! It speaks the five wire APIs that Aside speaks. A test says in neutral words what the model replies; the server
//! writes it as the API would, byte for byte like the samples in `wire/`, checks each request against the rules of
//! its API, and computes what a prompt cache would have read and written.
//!
//! | module | what lives there |
//! |---|---|
//! | [`server`] | listens, keeps what it received, sends bytes as it is told to |
//! | [`play`] | neutral replies as streams of each API |
//! | [`check`] | the rules that requests must keep |
//! | [`cache`] | what a prompt cache reads and writes, from the bodies alone |

pub mod cache;
pub mod check;
pub mod play;
pub mod server;

/// A wire API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ServedApi {
    /// Anthropic's Messages API.
    Anthropic,
    /// OpenAI's Responses API.
    OpenaiResponses,
    /// OpenAI Chat Completions, and servers that speak it.
    OpenaiChat,
    /// Gemini's API, whose method is `generateContent`.
    Gemini,
    /// Ollama's own API, at `/api/chat`.
    Ollama,
}

impl ServedApi {
    /// All APIs that the server can play.
    pub const ALL: [Self; 5] = [
        Self::Anthropic,
        Self::OpenaiResponses,
        Self::OpenaiChat,
        Self::Gemini,
        Self::Ollama,
    ];

    /// The folder of its samples below `wire/`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenaiResponses => "openai_responses",
            Self::OpenaiChat => "openai_chat",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}
