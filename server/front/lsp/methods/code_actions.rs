//! Code actions: questions about a selection, instructions in comments, and the answers to a prompt on its page.

use aside_base::visible::one_line;
use serde_json::{Value, json};
use tower_lsp::lsp_types::{
    CodeAction, CodeActionKind, CodeActionOrCommand, CodeActionParams, Command, Diagnostic,
    DiagnosticSeverity, Position, Range,
};

use super::super::{
    connection::LspConnection,
    fallback::{actions::page_answers, messages::cut},
};
use crate::front::uri::file_of;
use crate::front::wire::{
    Prompt,
    methods::commands::{ANSWER, ASK},
};

/// Kind of the actions that are not fixes.
pub(super) const KIND: CodeActionKind = CodeActionKind::new("aside");
/// Number of lines that are attached on each side of an instruction or a place to fix.
const AROUND: u32 = 100;
/// Maximum number of diagnostics that are attached to a fix.
const DIAGNOSTICS: usize = 20;
/// Maximum length of a diagnostic's message, in UTF-16 units.
const MESSAGE: usize = 500;
/// Starts of comments, longer ones first.
const LEADERS: [&str; 17] = [
    "<!--", "///", "//!", "//", "/**", "/*", "(*", "{-", "--", "#", ";", "%", "\"", "'", "*", "!",
    "REM ",
];
/// Ends of comments on a line.
const ENDS: [&str; 4] = ["*/", "-->", "*)", "-}"];

/// A code action to offer.
#[derive(Debug, PartialEq)]
struct OfferedAction {
    title: String,
    kind: CodeActionKind,
    command: &'static str,
    argument: Value,
}

/// The actions for a range of a document.
pub(in super::super) fn offered(
    at: &LspConnection,
    params: CodeActionParams,
) -> Vec<CodeActionOrCommand> {
    let uri = params.text_document.uri;
    let diagnostics = params.context.diagnostics;
    let line = at.documents.line(&uri, params.range.start.line);
    let page = file_of(&uri);
    let mut offers = match page.and_then(|page| at.fallback.reviewed_on(&page)) {
        Some(open) => answers(&open.prompt),
        None => offers(uri.as_str(), params.range, &diagnostics, line.as_deref()),
    };
    if let Some(only) = &params.context.only {
        offers.retain(|offer| only.iter().any(|wanted| is_within(&offer.kind, wanted)));
    }
    let literals = at.client.can().takes_action_literals();
    let offers = offers.into_iter();
    offers
        .map(|offer| as_action(offer, &diagnostics, literals))
        .collect()
}

/// The answers to a prompt, offered on its page.
fn answers(prompt: &Prompt) -> Vec<OfferedAction> {
    let answers = page_answers(prompt).into_iter();
    answers
        .map(|answer| OfferedAction {
            title: format!("Aside: {}", answer.title),
            kind: KIND,
            command: ANSWER,
            argument: answer.arguments,
        })
        .collect()
}

fn offers(
    uri: &str,
    range: Range,
    diagnostics: &[Diagnostic],
    line: Option<&str>,
) -> Vec<OfferedAction> {
    let mut offers = Vec::new();
    if let Some(instruction) = line.and_then(instruction) {
        let at = range.start.line;
        let around = around(range);
        let message = format!(
            "{instruction}\n\nThe instruction is a comment, in line {}.",
            at + 1
        );
        offers.push(OfferedAction {
            title: format!("Aside: {}", cut(&one_line(instruction), 60)),
            kind: KIND,
            command: ASK,
            argument: json!({ "message": message, "uri": uri, "range": around }),
        });
    }
    let about = |message: &str, range| json!({ "message": message, "uri": uri, "range": range });
    let offer = |title: &str, kind, argument| OfferedAction {
        title: title.to_owned(),
        kind,
        command: ASK,
        argument,
    };
    let to_fix = |range| {
        let ask = about(&fix(diagnostics), range);
        offer("Aside: fix", CodeActionKind::QUICKFIX, ask)
    };
    if is_cursor(range) {
        // Diagnostics at this place are worth a fix; a single letter is no selection.
        offers.extend((!diagnostics.is_empty()).then(|| to_fix(around(range))));
        return offers;
    }
    offers.extend([
        offer("Aside: explain", KIND, about("Explain this.", range)),
        to_fix(range),
        offer("Aside: ask …", KIND, json!({ "uri": uri, "range": range })),
    ]);
    offers
}

/// Whether the range is only a cursor. A block cursor is a range of one letter.
fn is_cursor(range: Range) -> bool {
    let (start, end) = (range.start, range.end);
    start.line == end.line && end.character.saturating_sub(start.character) <= 1
}

/// The lines around the start of a range.
fn around(range: Range) -> Range {
    let at = range.start.line;
    Range::new(
        Position::new(at.saturating_sub(AROUND), 0),
        Position::new(at.saturating_add(AROUND + 1), 0),
    )
}

fn fix(diagnostics: &[Diagnostic]) -> String {
    if diagnostics.is_empty() {
        return "Fix this.".to_owned();
    }
    let said = diagnostics.iter().take(DIAGNOSTICS).map(|diagnostic| {
        let severity = match diagnostic.severity {
            Some(DiagnosticSeverity::WARNING) => "warning",
            Some(DiagnosticSeverity::INFORMATION) => "information",
            Some(DiagnosticSeverity::HINT) => "hint",
            _ => "error",
        };
        let source = diagnostic.source.as_ref();
        let source = source.map_or_else(String::new, |source| format!(" ({source})"));
        let (line, text) = (
            diagnostic.range.start.line + 1,
            cut(&diagnostic.message, MESSAGE),
        );
        format!("\n- line {line}, {severity}{source}: {text}")
    });
    let said: String = said.collect();
    let more = match diagnostics.len().saturating_sub(DIAGNOSTICS) {
        0 => String::new(),
        more => format!("\n- and {more} more"),
    };
    format!("Fix this. The editor says:\n{said}{more}")
}

/// The instruction of a comment that starts with `aside:`, in any language.
fn instruction(line: &str) -> Option<&str> {
    let line = line.trim();
    let leader = LEADERS.iter().find_map(|leader| {
        let start = line.get(..leader.len())?;
        start
            .eq_ignore_ascii_case(leader)
            .then(|| &line[leader.len()..])
    })?;
    // A leader may be repeated: `###`, `;;;`.
    let text = leader
        .trim_start_matches(['#', ';', '%', '/', '*', '-', '!'])
        .trim_start();
    let (name, rest) = (text.get(.."aside:".len())?, text.get("aside:".len()..)?);
    if !name.eq_ignore_ascii_case("aside:") {
        return None;
    }
    let rest = rest.trim();
    let ended = ENDS.iter().find_map(|end| rest.strip_suffix(end));
    Some(ended.unwrap_or(rest).trim()).filter(|text| !text.is_empty())
}

/// Whether a kind is within another. Kinds are paths: `quickfix.a` is within `quickfix`, and every kind is within the
/// empty one.
fn is_within(kind: &CodeActionKind, wanted: &CodeActionKind) -> bool {
    let (kind, wanted) = (kind.as_str(), wanted.as_str());
    let rest = kind.strip_prefix(wanted);
    wanted.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn as_action(
    offer: OfferedAction,
    diagnostics: &[Diagnostic],
    literals: bool,
) -> CodeActionOrCommand {
    let command = Command::new(
        offer.title.clone(),
        offer.command.to_owned(),
        Some(vec![offer.argument]),
    );
    if !literals {
        return CodeActionOrCommand::Command(command);
    }
    let fixes = offer.kind == CodeActionKind::QUICKFIX && !diagnostics.is_empty();
    CodeActionOrCommand::CodeAction(CodeAction {
        title: offer.title,
        kind: Some(offer.kind),
        diagnostics: fixes.then(|| diagnostics.to_vec()),
        command: Some(command),
        ..CodeAction::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instruction_is_a_comment_that_begins_with_aside() {
        for (line, expected) in [
            ("// aside: make it faster", Some("make it faster")),
            ("\t/// Aside: document it", Some("document it")),
            ("# aside: sort", Some("sort")),
            ("### aside: sort", Some("sort")),
            (";; ASIDE: sort", Some("sort")),
            ("-- aside: index this", Some("index this")),
            ("% aside: cite", Some("cite")),
            ("\" aside: map it", Some("map it")),
            ("rem aside: go to", Some("go to")),
            ("/* aside: free it */", Some("free it")),
            (" * aside: free it", Some("free it")),
            ("<!-- aside: a list --> ", Some("a list")),
            ("(* aside: prove *)", Some("prove")),
            ("{- aside: fold -}", Some("fold")),
            ("// see aside: not here", None),
            ("aside: no comment", None),
            ("let aside = 1;", None),
            ("// aside:", None),
            ("//", None),
            ("€ aside: x", None),
            ("", None),
        ] {
            assert_eq!(instruction(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_selection_has_three_actions_and_a_comment_one() {
        let selected = Range::new(Position::new(2, 0), Position::new(3, 5));
        let cursor = Range::new(Position::new(2, 4), Position::new(2, 4));
        let titles = |range, line| {
            let offers = offers("file:///a.rs", range, &[], line);
            offers
                .into_iter()
                .map(|offer| offer.title)
                .collect::<Vec<_>>()
        };
        let all = ["Aside: explain", "Aside: fix", "Aside: ask …"];
        assert_eq!(titles(selected, Some("let x = 1;")), all);
        assert_eq!(titles(cursor, Some("let x = 1;")), [""; 0]);
        assert_eq!(
            titles(cursor, Some("// aside: sort it")),
            ["Aside: sort it"]
        );
        assert_eq!(titles(selected, Some("// aside: sort it")).len(), 4);
        // A cursor that is a block.
        let block = Range::new(Position::new(2, 4), Position::new(2, 5));
        assert_eq!(titles(block, Some("let x = 1;")), [""; 0]);
        let comment = &offers("file:///a.rs", cursor, &[], Some("# aside: sort it"))[0];
        assert_eq!(
            comment.argument,
            json!({
                "message": "sort it\n\nThe instruction is a comment, in line 3.",
                "uri": "file:///a.rs",
                "range": {"start": {"line": 0, "character": 0}, "end": {"line": 103, "character": 0}},
            })
        );
    }

    #[test]
    fn what_the_editor_says_of_a_place_can_be_fixed_without_a_selection() {
        let diagnostic = Diagnostic::new_simple(Range::default(), "unused".into());
        for end in [4, 5] {
            let cursor = Range::new(Position::new(200, 4), Position::new(200, end));
            let offers = offers(
                "file:///a.rs",
                cursor,
                std::slice::from_ref(&diagnostic),
                None,
            );
            let [fix] = offers.as_slice() else {
                panic!("{offers:?}");
            };
            assert_eq!(fix.title, "Aside: fix");
            assert_eq!(
                fix.argument["range"],
                json!({"start": {"line": 100, "character": 0}, "end": {"line": 301, "character": 0}})
            );
        }
    }

    #[test]
    fn a_fix_says_what_the_editor_says() {
        let diagnostic = |line, message: &str| Diagnostic {
            range: Range::new(Position::new(line, 0), Position::new(line, 1)),
            source: Some("rustc".into()),
            ..Diagnostic::new_simple(Range::default(), message.into())
        };
        assert_eq!(
            fix(&[diagnostic(4, "mismatched types")]),
            "Fix this. The editor says:\n\n- line 5, error (rustc): mismatched types"
        );
        let many: Vec<Diagnostic> = (0..30).map(|line| diagnostic(line, "x")).collect();
        assert!(fix(&many).ends_with("\n- and 10 more"), "{}", fix(&many));
    }

    #[test]
    fn only_kinds_that_are_asked_for_are_offered() {
        let kind = |name: &'static str| CodeActionKind::new(name);
        for (of, wanted, expected) in [
            ("quickfix", "quickfix", true),
            ("quickfix.a", "quickfix", true),
            ("quickfix", "quick", false),
            ("aside", "source.fixAll", false),
            ("aside", "", true),
        ] {
            assert_eq!(
                is_within(&kind(of), &kind(wanted)),
                expected,
                "{of} {wanted}"
            );
        }
    }
}
