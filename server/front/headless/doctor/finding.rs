//! One result of `aside doctor`.

use aside_base::visible::one_line;

/// Width of a grade in columns.
pub(super) const GRADE_WIDTH: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grade {
    Ok,
    Warning,
    Error,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) grade: Grade,
    text: String,
}

impl Finding {
    pub(super) fn ok(text: impl Into<String>) -> Self {
        Self::of(Grade::Ok, text)
    }

    pub(super) fn warning(text: impl Into<String>) -> Self {
        Self::of(Grade::Warning, text)
    }

    pub(super) fn error(text: impl Into<String>) -> Self {
        Self::of(Grade::Error, text)
    }

    fn of(grade: Grade, text: impl Into<String>) -> Self {
        Self {
            grade,
            text: text.into(),
        }
    }

    pub(super) fn line(&self) -> String {
        let grade = match self.grade {
            Grade::Ok => "ok",
            Grade::Warning => "warning",
            Grade::Error => "error",
        };
        format!("{grade:<GRADE_WIDTH$} {}\n", one_line(&self.text))
    }
}
