//! Reads Git's configuration, without running Git: only the settings as they stand in a file.

/// A setting of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GitSetting {
    /// Section and name in lower case, without the subsection: `core.hookspath`.
    pub(super) key: String,
    pub(super) value: String,
}

/// The settings in a text. What Git would refuse is read as far as it can be.
pub(super) fn settings(text: &str) -> Vec<GitSetting> {
    let mut rest = Letters(text.strip_prefix('\u{feff}').unwrap_or(text));
    let mut section = String::new();
    let mut all = Vec::new();
    loop {
        rest.skip(char::is_whitespace);
        match rest.peek() {
            None => return all,
            Some('[') => section = rest.section(),
            Some('#' | ';') => rest.skip(|letter| letter != '\n'),
            Some(_) => {
                let name = rest.name();
                rest.skip(is_blank);
                let value = match rest.peek() {
                    Some('=') => rest.value(),
                    _ => {
                        rest.skip(|letter| letter != '\n' && letter != '[');
                        String::new()
                    }
                };
                all.push(GitSetting {
                    key: format!("{section}.{name}"),
                    value,
                });
            }
        }
    }
}

/// The rest of a text.
struct Letters<'a>(&'a str);

impl Letters<'_> {
    fn peek(&self) -> Option<char> {
        self.0.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.0 = &self.0[next.len_utf8()..];
        Some(next)
    }

    fn skip(&mut self, is: impl Fn(char) -> bool) {
        self.0 = self.0.trim_start_matches(is);
    }

    /// Reads `[section]` or `[section "subsection"]`.
    fn section(&mut self) -> String {
        let mut name = String::new();
        let (mut is_quoted, mut is_over) = (false, false);
        self.next();
        while let Some(letter) = self.next() {
            match letter {
                '\n' => break,
                ']' if !is_quoted => break,
                '"' => {
                    is_quoted = !is_quoted;
                    is_over = true;
                }
                '\\' if is_quoted => {
                    self.next();
                }
                letter if !is_over && !letter.is_whitespace() => {
                    name.extend(letter.to_lowercase());
                }
                _ => {}
            }
        }
        // `[section.subsection]` is an old spelling.
        name.split('.').next().unwrap_or_default().to_owned()
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(letter) = self.peek() {
            if is_blank(letter) || matches!(letter, '=' | '\n' | '#' | ';') {
                break;
            }
            name.extend(letter.to_lowercase());
            self.next();
        }
        name
    }

    /// Reads a value up to the end of its line: quotes and escapes are undone, and a comment is left out.
    fn value(&mut self) -> String {
        let mut value = String::new();
        let mut is_quoted = false;
        self.next();
        self.skip(is_blank);
        // Blanks at the end do not count, those within quotes do.
        let mut kept = 0;
        while let Some(letter) = self.next() {
            match letter {
                '\n' => break,
                '"' => {
                    is_quoted = !is_quoted;
                    kept = value.len();
                }
                '#' | ';' if !is_quoted => {
                    self.skip(|letter| letter != '\n');
                }
                '\\' => {
                    match self.next() {
                        Some('n') => value.push('\n'),
                        Some('t') => value.push('\t'),
                        Some('b') => value.push('\u{8}'),
                        Some('\r') if self.peek() == Some('\n') => {
                            self.next();
                        }
                        Some('\n') | None => {}
                        Some(other) => value.push(other),
                    }
                    kept = value.len();
                }
                letter => {
                    value.push(letter);
                    if is_quoted || !letter.is_whitespace() {
                        kept = value.len();
                    }
                }
            }
        }
        value.truncate(kept);
        value
    }
}

fn is_blank(letter: char) -> bool {
    letter != '\n' && letter.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let read = settings(text);
            let read: Vec<_> = read
                .iter()
                .map(|it| (it.key.as_str(), it.value.as_str()))
                .collect();
            assert_eq!(read, expected, "{text:?}");
        };
        check(
            "[core]\n\thooksPath = a/b # c\n",
            &[("core.hookspath", "a/b")],
        );
        check("[CORE] HooksPath=\"a b\" ; c", &[("core.hookspath", "a b")]);
        check(
            "[include \"x ] y\"]\npath = a\\\n  b\\tc\n",
            &[("include.path", "a  b\tc")],
        );
        check(
            "[includeIf \"gitdir:~/x\"]\npath=q",
            &[("includeif.path", "q")],
        );
        check("[a.b]\nc\nd =\n", &[("a.c", ""), ("a.d", "")]);
        check(
            "\u{feff}; x\n[alias]\r\n  s = \"!./s \\\"x\\\"\"\r\n",
            &[("alias.s", "!./s \"x\"")],
        );
        check("[core\nhooksPath = x", &[("core.hookspath", "x")]);
        check("", &[]);
    }

    #[test]
    fn no_text_hangs_or_breaks_it_fuzzed() {
        let text = b"[core]\n\thooksPath = \"a b\" ; c\n[include \"x\\\"\"]\npath=a\\\n b\n";
        for damaged in aside_test_fuzz::damaged(text, 2000) {
            let damaged = String::from_utf8_lossy(&damaged);
            assert!(settings(&damaged).len() <= damaged.len());
        }
    }
}
