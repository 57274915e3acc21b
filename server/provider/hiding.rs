//! Removes secrets from the pieces of a response, even if a secret is split over several pieces.

use std::collections::HashMap;

use aside_turn::response::Piece;

use super::key::{Key, Spellings};

/// Removes secrets from the pieces of a response.
#[derive(Debug, Default)]
pub(super) struct HidingFilter {
    secrets: Vec<Spellings>,
    /// End of an item's text that may be the beginning of a secret, by slot.
    kept: HashMap<u32, String>,
}

impl HidingFilter {
    /// A filter that removes these secrets.
    pub(super) fn of(secrets: &[Key]) -> Self {
        Self {
            secrets: secrets.iter().map(Key::spellings).collect(),
            ..Self::default()
        }
    }

    /// Returns the pieces without secrets. Text that may be the beginning of a secret is delayed to a later piece.
    pub(super) fn pass(&mut self, pieces: Vec<Piece>) -> Vec<Piece> {
        if self.secrets.is_empty() {
            return pieces;
        }
        let mut out = Vec::with_capacity(pieces.len());
        for piece in pieces {
            self.piece(piece, &mut out);
        }
        out
    }

    fn piece(&mut self, piece: Piece, out: &mut Vec<Piece>) {
        match piece {
            Piece::Delta { slot, text } => {
                let text = self.kept.remove(&slot).unwrap_or_default() + &text;
                let mut text = self.hide(text);
                let ends = self.secrets.iter().map(|secret| secret.begun_at_end(&text));
                let begun = ends.max().unwrap_or(0);
                if begun > 0 {
                    let kept = text.split_off(text.len() - begun);
                    self.kept.insert(slot, kept);
                }
                out.push(match text.is_empty() {
                    true => Piece::KeepAlive,
                    false => Piece::Delta { slot, text },
                });
            }
            Piece::Close {
                slot,
                opaque,
                complete,
            } => {
                self.flush(slot, out);
                // Opaque data with a secret is dropped: it must not be recorded or sent back.
                let opaque = opaque.filter(|opaque| self.hide(opaque.clone()) == *opaque);
                out.push(Piece::Close {
                    slot,
                    opaque,
                    complete,
                });
            }
            Piece::Finish(_) => {
                let mut open: Vec<u32> = self.kept.keys().copied().collect();
                open.sort_unstable();
                open.into_iter().for_each(|slot| self.flush(slot, out));
                out.push(piece);
            }
            other => out.push(other),
        }
    }

    fn flush(&mut self, slot: u32, out: &mut Vec<Piece>) {
        if let Some(text) = self.kept.remove(&slot) {
            out.push(Piece::Delta { slot, text });
        }
    }

    fn hide(&self, text: String) -> String {
        let secrets = self.secrets.iter();
        secrets.fold(text, |text, secret| secret.hide(&text))
    }
}

#[cfg(test)]
mod tests {
    use aside_turn::response::{Finish, Kind, Response};
    use base64::{Engine, engine::general_purpose::STANDARD};

    use super::*;

    #[test]
    fn keys_are_hidden_at_every_split() {
        let text = "the key sk-0123456789 is sk-0123 and sk-0123456789";
        hidden_at_every_split(text, "the key [hidden] is sk-0123 and [hidden]");
        let encoded = STANDARD.encode("user:sk-0123456789");
        hidden_at_every_split(&format!("so {encoded}!"), "so dXNlcjp[hidden]!");
        let spaced = "it is s k - 0 1 2 3 4 5 6 7 8 9, no?";
        hidden_at_every_split(spaced, "it is [hidden], no?");
    }

    fn hidden_at_every_split(text: &str, expected: &str) {
        for size in 1..text.len() {
            let mut filter = HidingFilter::of(&[Key::new("sk-0123456789")]);
            let mut response = Response::default();
            let kind = Kind::Text;
            let mut pieces = vec![Piece::Open { slot: 0, kind }];
            let parts = text.as_bytes().chunks(size);
            pieces.extend(parts.map(|part| Piece::Delta {
                slot: 0,
                text: String::from_utf8(part.to_vec()).unwrap(),
            }));
            pieces.push(Piece::Close {
                slot: 0,
                opaque: Some(r#"{"text":"sk-0123456789"}"#.into()),
                complete: true,
            });
            pieces.push(Piece::Finish(Finish::Stop));
            for piece in pieces {
                for piece in filter.pass(vec![piece]) {
                    response.add(piece);
                }
            }
            assert_eq!(response.text(), expected, "{size}");
            assert_eq!(response.items[0].opaque, None);
        }
    }
}
