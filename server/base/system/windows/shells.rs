//! The shells that read command lines.

use std::{ffi::OsString, os::windows::process::CommandExt, path::Path, process::Command};

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// A program that reads command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shell {
    /// PowerShell 7.
    PowerShell7,
    /// Windows PowerShell 5.1.
    PowerShell5,
    /// The command prompt.
    Cmd,
}

/// The shells of this system, the one first that is wanted most.
pub const SHELLS: &[Shell] = &[Shell::PowerShell7, Shell::PowerShell5, Shell::Cmd];

/// What PowerShell does before a line: it writes UTF-8, and shows no bars of progress.
const BEFORE: &str = "try { [Console]::OutputEncoding = [Text.UTF8Encoding]::new($false) } catch {}; \
                      $ProgressPreference = 'SilentlyContinue'\n";
/// What it does behind a line: its exit status tells how the last command ended.
const BEHIND: &str =
    "\nif ($?) { exit 0 } elseif ($LASTEXITCODE) { exit $LASTEXITCODE } else { exit 1 }";

/// Whether command lines are read as POSIX says.
#[must_use]
pub fn reads_as_posix() -> bool {
    false
}

impl Shell {
    /// The name by which it is found.
    #[must_use]
    pub fn program(self) -> &'static str {
        match self {
            Self::PowerShell7 => "pwsh",
            Self::PowerShell5 => "powershell",
            Self::Cmd => "cmd",
        }
    }

    /// The words by which a model knows how a line is read.
    #[must_use]
    pub fn named(self) -> &'static str {
        match self {
            Self::PowerShell7 => "PowerShell 7 (not a POSIX shell)",
            Self::PowerShell5 => "Windows PowerShell 5.1 (not a POSIX shell; it has no `&&`)",
            Self::Cmd => "the command prompt of Windows, `cmd /c` (not a POSIX shell)",
        }
    }

    /// The arguments with which it reads a line.
    #[must_use]
    pub fn arguments(self, line: &str) -> Vec<OsString> {
        match self {
            Self::PowerShell7 | Self::PowerShell5 => {
                let script = [BEFORE, line, BEHIND].concat();
                let units: Vec<u8> = script.encode_utf16().flat_map(u16::to_le_bytes).collect();
                let fixed = [
                    "-NoLogo",
                    "-NoProfile",
                    "-NonInteractive",
                    "-OutputFormat",
                    "Text",
                ];
                let fixed = fixed.into_iter().map(OsString::from);
                // Written so, no quote of the line is read as one of the arguments.
                let coded = ["-EncodedCommand".into(), STANDARD.encode(units).into()];
                fixed.chain(coded).collect()
            }
            // With `/s` the outer quotes are taken away, and all between them is read as it stands.
            Self::Cmd => vec![
                "/d".into(),
                "/s".into(),
                "/c".into(),
                format!("\"chcp 65001 >nul & {line}\"").into(),
            ],
        }
    }

    /// The reason why it cannot read a line, with what to write instead.
    #[must_use]
    pub fn refusal(self, line: &str) -> Option<&'static str> {
        (self == Self::Cmd && line.contains(['\n', '\r']))
            .then_some("the command prompt reads a single line; join its commands with `&` or `&&`")
    }

    /// A start of its program that reads a line.
    #[must_use]
    pub fn reading(self, program: &Path, line: &str) -> Command {
        let mut command = Command::new(program);
        for word in self.arguments(line) {
            match self.is_verbatim() {
                true => command.raw_arg(word),
                false => command.arg(word),
            };
        }
        command
    }

    /// Whether it takes its arguments as they stand, without quotes around them.
    #[must_use]
    pub fn is_verbatim(self) -> bool {
        self == Self::Cmd
    }
}
