//! How a client counts the lines and characters of a document. Pure.
//!
//! The protocol ends a line at `\n`, `\r\n` and a carriage return alone. Many editors know no line that ends with a
//! carriage return alone: one in a file is a character there, and an edit by the protocol's count would change another
//! line.
//!
//! | client | a carriage return alone |
//! |---|---|
//! | Neovim, Helix, Emacs with eglot or lsp-mode | is a character. Neovim writes one of a server's edit as a line end |
//! | VS Code and its forks | ends a line; they take none into a document |
//! | any other | nobody knows: what would be changed by positions is refused |

/// Counting of lines and characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Counting {
    /// Whether characters are UTF-8 bytes instead of UTF-16 units.
    pub(in super::super) utf8: bool,
    /// The meaning of a carriage return alone.
    pub(in super::super) returns: LoneReturn,
}

/// The meaning of a carriage return that no `\n` follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum LoneReturn {
    /// A character of its line.
    Character,
    /// The end of a line.
    LineEnd,
    /// Nobody knows.
    Unknown,
}

impl LoneReturn {
    /// The meaning to a client of this name.
    pub(in super::super) fn of(client: &str) -> Self {
        match client {
            "Neovim" | "helix" | "Eglot" | "eglot" | "emacs" | "Emacs" => Self::Character,
            _ if is_code(client) => Self::LineEnd,
            _ => Self::Unknown,
        }
    }
}

/// Whether a client of this name is VS Code or one of its forks.
pub(in super::super) fn is_code(client: &str) -> bool {
    client.starts_with("Visual Studio Code")
        || client.starts_with("Code - OSS")
        || ["VSCodium", "code-server"].contains(&client)
}

/// Whether a client of this name writes each carriage return of an edit as a line end of its own kind.
pub(in super::super) fn drops_returns(client: &str) -> bool {
    client == "Neovim"
}

#[cfg(test)]
impl Counting {
    /// The counting of the protocol.
    pub(in super::super) const fn plain(utf8: bool) -> Self {
        Self {
            utf8,
            returns: LoneReturn::LineEnd,
        }
    }
}
