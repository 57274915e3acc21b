//! English never decides: nothing in the program and its adapters chooses by what a sentence for
//! people or models says. What a program has to know of a sentence has a field of its own.

#![expect(clippy::print_stdout, reason = "tests that print figures")]

use std::path::Path;

use aside_test_table::rows;
use syn::{
    BinOp, Expr, ExprBinary, ExprMatch, ExprMethodCall, ImplItemFn, ItemFn, ItemMod, Lit, Pat,
    visit::{self, Visit},
};

use crate::structure::{is_test, lists, root, texts};

/// Names of fields and variables that carry a sentence, whatever it is compared with.
const SENTENCES: &str = "message note sentence summary title told why";

/// Names of what may be a sentence: it is one if it is compared with words.
const TEXTS: &str = "content label reason said text";

/// Methods that look for something in a text, or take it off.
const METHODS: &str = "contains ends_with eq eq_ignore_ascii_case find matches rfind split_once \
    starts_with strip_prefix strip_suffix";

/// The functions that read a sentence, and why each has to: a line is `file | function | reason`.
const EXCEPTIONS: &str = "
    server/config/import.rs | headers | a header of another program's configuration
    server/engine/drive/performer.rs | fits_schema | the fence around JSON that a model answered
    server/engine/start/request.rs | typed | a word that a person types, as it stands in the pages
    server/front/headless/args/value.rs | tool_choice | words of the command line
    server/front/headless/model.rs | list_failure | cuts a model off that nobody named
    server/front/lsp/fallback/messages.rs | meaning | the protocol names the action that was chosen by its title alone
    server/front/lsp/fallback/sentence.rs | sentence | punctuation at the end
    server/front/lsp/fallback/written.rs | value | a person's answer, compared with words of its format
    server/front/lsp/methods/conversations.rs | list | the user searches titles
    server/front/params.rs | missing | serde has no kind for an error of data; a test has its sentence
    server/mcp/connection.rs | call | a server's own words: the protocol gives the fault no code
    server/mcp/faults.rs | unexpected | rmcp gives the status of an answer as text alone
    server/mcp/form.rs | choices | titles of options, which are what a person chooses
    server/provider/anthropic/response.rs | event | a word of the API
    server/provider/anthropic/response.rs | events_of | a word of the API
    server/provider/api_error.rs | is_loading | a provider's own words: its API gives the fault no code
    server/provider/google/response.rs | finish | a word of the API
    server/provider/ollama/response.rs | failed | a provider's own words: its API gives the fault no code
    server/provider/openai_chat/response.rs | finish | a word of the API
    server/provider/rehearsal/mod.rs | class_of | words of a script, which stand for a provider's
    server/provider/refused.rs | collect | the address of data, which is no sentence
    server/provider/retry.rs | by_status | a provider's own words: its API gives the fault no code
    server/provider/retry.rs | suspicion | a provider's own words: its API gives the fault no code
    server/provider/retry.rs | said | a mark in place of what must not be shown
    server/tool/sandbox/means.rs | mend | bubblewrap's own words: it has one exit code for all faults
    server/turn/input.rs | own_summary | whether two texts are one, whatever they say
    server/turn/question/answer_type.rs | of_model | a model's answer, compared with words of its format
    server/turn/question/answer_type.rs | several | a person's answer, compared with a word of its format
    server/turn/turn/resume.rs | parse | a person's answer, compared with words of its format
";

#[test]
fn nothing_chooses_by_what_a_sentence_says() {
    let found = found();
    let exceptions = rows(EXCEPTIONS);
    let is_of = |it: &Reading, row: &[&str; 3]| it.file == row[0] && it.function == row[1];
    let allowed = |it: &Reading| exceptions.iter().any(|row| is_of(it, row));
    let left: Vec<String> = found
        .iter()
        .filter(|it| !allowed(it))
        .map(|it| format!("    {}: {}: {}", it.file, it.function, it.what))
        .collect();
    println!(
        "sentences that are read: {} in {} named exceptions",
        found.len() - left.len(),
        exceptions.len()
    );
    assert!(
        left.is_empty(),
        "give each a field, or name it in EXCEPTIONS with its reason:\n{}",
        left.join("\n")
    );
    let unused: Vec<String> = exceptions
        .iter()
        .filter(|row| !found.iter().any(|it| is_of(it, row)))
        .map(|row| format!("    {}: {} ({})", row[0], row[1], row[2]))
        .collect();
    assert!(
        unused.is_empty(),
        "these read no sentence any more:\n{}",
        unused.join("\n")
    );
}

#[test]
fn sentences_are_seen_where_they_are_read() {
    let seen = |text: &str| !of_rust("a.rs", &format!("fn f() {{ {text} }}")).is_empty();
    for text in [
        "error.message == CUT_OFF;",
        "if self.message != other() {}",
        "CUT_OFF == error.message;",
        "summary.find(begin);",
        "refusal.text.starts_with(\"conversation.\");",
        "text == NO_MODEL;",
        "text.to_lowercase().contains(\"not trusted\");",
        "match end.message.as_str() { \"Full.\" => 1, _ => 2 };",
        "let _ = text.strip_prefix(&format!(\"{a}: \"));",
        "assert!(done.message.contains(\"some words\"));",
    ] {
        assert!(seen(text), "{text}");
    }
    for text in [
        "text.ends_with('\\n');",
        "text.contains(['\\n', '\\r']);",
        "*reason == Reason::User;",
        "title.is_empty() || title == \"\";",
        "text.strip_prefix(\"> \");",
        "name == \"run_command\";",
    ] {
        assert!(!seen(text), "{text}");
    }
    let script = |text: &str| !of_script("a.lua", text).is_empty();
    for text in [
        "if status.message:find('not trusted') then",
        "local ours = now.title == 'Aside'",
        "if (error.message.includes('Cancelled')) {",
        "return text.startsWith(\"The user\")",
        "if ('The turn' === update.text) {",
        "if ('The turn' === this.last.text) {",
        "if 'The turn' == text then",
    ] {
        assert!(script(text), "{text}");
    }
    for text in [
        "-- status.message:find('not trusted')",
        "if text == '' then",
        "local line = text:gsub('%s+', ' ')",
        "// error.message.includes('Cancelled')",
        "if ('error' === message.type) {",
    ] {
        assert!(!script(text), "{text}");
    }
}

#[test]
fn the_door_for_other_sentences_stays_shut() {
    let door = "swap_all_sentences";
    let uses = |folder: &str| -> Vec<String> {
        let files = texts(&root().join(folder)).into_iter();
        files
            .filter(|(_, text)| text.contains(door))
            .map(|(path, _)| relative(&path))
            .collect()
    };
    assert_eq!(uses("server"), ["server/turn/swapped.rs"]);
    assert!(uses("tests/swapped").contains(&"tests/swapped/main.rs".to_owned()));
}

/// A place that reads a sentence.
struct Reading {
    file: String,
    function: String,
    what: String,
}

fn found() -> Vec<Reading> {
    let rust = texts(&root().join("server"))
        .into_iter()
        .filter(|(path, _)| !is_of_tests(path))
        .flat_map(|(path, text)| of_rust(&relative(&path), &text));
    let scripts = [("editors/nvim", "lua"), ("editors/vscode/src", "ts")]
        .into_iter()
        .flat_map(|(folder, ending)| files(&root().join(folder), ending))
        .flat_map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            of_script(&relative(&path), &text)
        });
    rust.chain(scripts).collect()
}

fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap().display().to_string()
}

fn is_of_tests(path: &Path) -> bool {
    let name = path.file_name().unwrap().to_str().unwrap();
    let in_tests = path.components().any(|it| it.as_os_str() == "tests");
    let of_server = path.starts_with(root().join("server"));
    of_server && in_tests
        || name.starts_with("tests")
        || name.ends_with("_tests.rs")
        || name == "trial.rs"
}

fn files(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && path.file_name().is_some_and(|it| it != "node_modules") {
            all.extend(files(&path, ending));
        } else if path.extension().is_some_and(|it| it == ending) {
            all.push(path);
        }
    }
    all.sort();
    all
}

fn of_rust(file: &str, text: &str) -> Vec<Reading> {
    let mut visitor = Readings {
        file,
        function: Vec::new(),
        found: Vec::new(),
    };
    visitor.visit_file(&syn::parse_file(text).unwrap());
    visitor.found
}

struct Readings<'a> {
    file: &'a str,
    function: Vec<String>,
    found: Vec<Reading>,
}

impl Readings<'_> {
    fn note(&mut self, what: String) {
        self.found.push(Reading {
            file: self.file.to_owned(),
            function: self.function.last().cloned().unwrap_or_default(),
            what,
        });
    }

    fn compare(&mut self, one: &Expr, how: &str, other: &Expr) {
        for (text, with) in [(one, other), (other, one)] {
            if reads(text, with) {
                let name = name(text).unwrap_or_default();
                return self.note(format!("{name} {how}"));
            }
        }
    }
}

/// Whether `text` is a sentence, and `with` is something that a sentence is compared with.
fn reads(text: &Expr, with: &Expr) -> bool {
    let Some(name) = name(text) else {
        return false;
    };
    match is_wordy(with) {
        Some(wordy) => wordy && is_text(&name),
        None => lists(SENTENCES, &name),
    }
}

/// Whether a name is that of a sentence, or of what may be one.
fn is_text(name: &str) -> bool {
    lists(SENTENCES, name) || lists(TEXTS, name)
}

/// The name of the field or variable that an expression is about.
fn name(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Field(it) => match &it.member {
            syn::Member::Named(name) => Some(name.to_string()),
            syn::Member::Unnamed(_) => name(&it.base),
        },
        Expr::Path(it) => it.path.get_ident().map(ToString::to_string),
        Expr::MethodCall(it) => {
            const SAME: &str = "as_deref as_ref as_str borrow clone to_ascii_lowercase to_lowercase \
                to_string trim trim_start";
            lists(SAME, &it.method.to_string()).then(|| name(&it.receiver))?
        }
        Expr::Reference(it) => name(&it.expr),
        Expr::Unary(it) => name(&it.expr),
        Expr::Paren(it) => name(&it.expr),
        Expr::Index(it) => name(&it.expr),
        Expr::Try(it) => name(&it.expr),
        _ => None,
    }
}

/// Whether an expression is words, by what stands there; none where that cannot be seen.
fn is_wordy(expr: &Expr) -> Option<bool> {
    match expr {
        Expr::Lit(it) => Some(match &it.lit {
            Lit::Str(text) => has_word(&text.value()),
            Lit::ByteStr(text) => has_word(&String::from_utf8_lossy(&text.value())),
            _ => false,
        }),
        Expr::Array(it) => Some(it.elems.iter().any(|it| is_wordy(it) == Some(true))),
        Expr::Reference(it) => is_wordy(&it.expr),
        Expr::Paren(it) => is_wordy(&it.expr),
        Expr::Unary(it) => is_wordy(&it.expr),
        Expr::Macro(it) => it.mac.path.is_ident("format").then_some(true),
        // A constant may be words; a variant of an enum is none.
        Expr::Path(it) => {
            let last = it.path.segments.last()?.ident.to_string();
            let is_constant = last.len() > 1 && !last.chars().any(char::is_lowercase);
            match is_constant {
                true => Some(true),
                false if last.starts_with(char::is_uppercase) => Some(false),
                false => None,
            }
        }
        Expr::Call(it) => match &*it.func {
            Expr::Path(it) => {
                let last = it.path.segments.last()?.ident.to_string();
                last.starts_with(char::is_uppercase).then_some(false)
            }
            _ => None,
        },
        Expr::Struct(_) => Some(false),
        Expr::Closure(_) => Some(false),
        _ => None,
    }
}

/// Whether a text has a word of four letters or more.
fn has_word(text: &str) -> bool {
    let mut words = text.split(|it: char| !it.is_alphabetic());
    words.any(|word| word.chars().count() > 3)
}

impl<'ast> Visit<'ast> for Readings<'_> {
    fn visit_item_mod(&mut self, it: &'ast ItemMod) {
        if !is_test(&it.attrs) {
            visit::visit_item_mod(self, it);
        }
    }

    fn visit_item_fn(&mut self, it: &'ast ItemFn) {
        if !is_test(&it.attrs) {
            self.function.push(it.sig.ident.to_string());
            visit::visit_item_fn(self, it);
            self.function.pop();
        }
    }

    fn visit_impl_item_fn(&mut self, it: &'ast ImplItemFn) {
        if !is_test(&it.attrs) {
            self.function.push(it.sig.ident.to_string());
            visit::visit_impl_item_fn(self, it);
            self.function.pop();
        }
    }

    fn visit_expr_binary(&mut self, it: &'ast ExprBinary) {
        if matches!(it.op, BinOp::Eq(_) | BinOp::Ne(_)) {
            self.compare(&it.left, "==", &it.right);
        }
        visit::visit_expr_binary(self, it);
    }

    fn visit_expr_method_call(&mut self, it: &'ast ExprMethodCall) {
        if lists(METHODS, &it.method.to_string())
            && let Some(argument) = it.args.first()
        {
            self.compare(&it.receiver, &it.method.to_string(), argument);
        }
        visit::visit_expr_method_call(self, it);
    }

    fn visit_expr_match(&mut self, it: &'ast ExprMatch) {
        let is_text = name(&it.expr).is_some_and(|it| is_text(&it));
        let mut arms = it.arms.iter().map(|arm| &arm.pat);
        if is_text && arms.any(has_words) {
            self.note("match".to_owned());
        }
        visit::visit_expr_match(self, it);
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        type Arguments = syn::punctuated::Punctuated<Expr, syn::Token![,]>;
        if let Ok(arguments) = it.parse_body_with(Arguments::parse_terminated) {
            arguments.iter().for_each(|it| self.visit_expr(it));
        }
    }
}

/// Whether a pattern has words.
fn has_words(pattern: &Pat) -> bool {
    match pattern {
        Pat::Lit(it) => matches!(&it.lit, Lit::Str(text) if has_word(&text.value())),
        Pat::Or(it) => it.cases.iter().any(has_words),
        Pat::TupleStruct(it) => it.elems.iter().any(has_words),
        Pat::Reference(it) => has_words(&it.pat),
        Pat::Paren(it) => has_words(&it.pat),
        _ => false,
    }
}

/// Lines of Lua or TypeScript that read a sentence. A simple lexer: names, quoted texts, and what stands between.
fn of_script(file: &str, text: &str) -> Vec<Reading> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let tokens = tokens(line);
        let reads = (0..tokens.len()).any(|at| reads_in_script(&tokens[at..]));
        if reads {
            found.push(Reading {
                file: file.to_owned(),
                function: String::new(),
                what: format!("line {}: {}", number + 1, line.trim()),
            });
        }
    }
    found
}

#[derive(Debug, PartialEq)]
enum Token {
    Name(String),
    Quoted(String),
    Other(String),
}

fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = line.trim_start();
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("--") || rest.starts_with("//") {
            break;
        }
        let length = match first {
            '\'' | '"' | '`' => {
                let end = rest[1..].find(first).map_or(rest.len(), |end| end + 2);
                tokens.push(Token::Quoted(rest[1..end - 1].to_owned()));
                end
            }
            _ if first.is_alphabetic() || first == '_' => {
                let is_name = |it: char| it.is_alphanumeric() || it == '_';
                let end = rest.find(|it| !is_name(it)).unwrap_or(rest.len());
                tokens.push(Token::Name(rest[..end].to_owned()));
                end
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => {
                let is_sign = |it: char| "=!~".contains(it);
                let end = match is_sign(first) {
                    true => rest.find(|it| !is_sign(it)).unwrap_or(rest.len()),
                    false => first.len_utf8(),
                };
                tokens.push(Token::Other(rest[..end].to_owned()));
                end
            }
        };
        rest = &rest[length..];
    }
    tokens
}

fn reads_in_script(tokens: &[Token]) -> bool {
    let is_equal = |it: &str| lists("== === != !== ~=", it);
    let searches = "endsWith find gmatch includes indexOf match search startsWith";
    match tokens {
        [
            Token::Name(name),
            Token::Other(dot),
            Token::Name(method),
            Token::Other(open),
            Token::Quoted(words),
            ..,
        ] if (dot == "." || dot == ":") && open == "(" => {
            is_text(name) && lists(searches, method) && has_word(words)
        }
        [
            Token::Name(name),
            Token::Other(equal),
            Token::Quoted(words),
            ..,
        ] if is_equal(equal) => is_text(name) && has_word(words),
        [Token::Quoted(words), Token::Other(equal), value @ ..] if is_equal(equal) => {
            last_name(value).is_some_and(is_text) && has_word(words)
        }
        _ => false,
    }
}

/// The last name of a path such as `update.text`, if the tokens begin with one.
fn last_name(tokens: &[Token]) -> Option<&str> {
    match tokens {
        [Token::Name(_), Token::Other(dot), rest @ ..] if dot == "." => last_name(rest),
        [Token::Name(name), ..] => Some(name),
        _ => None,
    }
}
