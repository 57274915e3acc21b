//! One word, one thing: figures on the names and comments of the code. Their bounds only ever go down.
//! With `LIST=1` in the environment and `--nocapture` the tests print the names behind the figures.

#![expect(clippy::print_stdout, reason = "tests that print figures")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::OnceLock,
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Ident, Item,
    visit::{self, Visit},
};

use crate::structure::{
    ModulePath, documentation, is_test, lists, program as modules, root, texts,
};

/// Of the type names, how many per cent may name several types.
const SEVERAL: f64 = 3.0;

/// Of the doc comments, how many per cent may have two words or fewer.
const SHORT: f64 = 1.0;

/// Of the doc comments of a crate, tests aside, how many per cent may begin with one of [`LEADING`].
const LED: f64 = 3.0;

/// Words that a doc comment does not begin with: it begins with its subject, or a verb in the third person.
const LEADING: &str = "As He How However It Its She So That Their Them There These They This Those \
    What Whatever Where Wherever Which Whichever Who Whoever Whom Whose Why Her His";

/// Modules whose types are the spelling of the turn's types for others: on the wire, in the log, in `aside.toml`.
const MIRRORS: [&str; 2] = ["front::wire", "config::settings"];

/// The folders of the operating systems, which offer the same.
const SYSTEMS: [&str; 2] = ["base::system::unix", "base::system::windows"];

/// Names that fit every type, so none has one. A type is named for what it is.
const EMPTY_NAMES: &str = "About Asked Assembled Before Found Given How Kept Known Made One Opening \
    Place Plan Said Seen Shown Stage Told Waiting Wanted Which Wishes Written";

/// American spellings that prose here does not use.
const AMERICAN: &str = "behavior canceled canceling center color colors defense favor favorite \
    fulfill gray honor labeled license modeled neighbor";

#[test]
fn a_type_name_names_one_type() {
    let types = types();
    let several: Vec<_> = types
        .iter()
        .filter(|(_, modules)| is_several(modules))
        .collect();
    let share = per_cent(several.len(), types.len());
    println!(
        "type names that name several types: {share:.1} % ({} of {})",
        several.len(),
        types.len()
    );
    let listed = || {
        let lines = several
            .iter()
            .map(|(name, modules)| format!("    {name}: {}", modules.join(", ")));
        lines.collect::<Vec<_>>().join("\n")
    };
    if std::env::var_os("LIST").is_some() {
        println!("{}", listed());
    }
    assert!(share <= SEVERAL, "more than {SEVERAL} %:\n{}", listed());
}

#[test]
fn a_mirror_is_the_one_type_of_its_layer_beside_the_turns() {
    for (modules, several) in [
        (&["engine"][..], false),
        (
            &["base::system::unix::files", "base::system::windows::files"],
            false,
        ),
        (&["engine", "tool"], true),
        (&["turn::rules", "config::settings"], false),
        (
            &["turn::effect", "front::wire::requests", "config::settings"],
            false,
        ),
        (
            &["turn::effect", "front::wire", "front::wire::replay"],
            true,
        ),
        (&["turn::effect", "turn::record", "front::wire"], true),
        (&["front::wire", "config::settings"], true),
        (&["turn::effect", "front::wired"], true),
    ] {
        let modules: Vec<String> = modules.iter().map(ToString::to_string).collect();
        assert_eq!(is_several(&modules), several, "{modules:?}");
    }
    let program = modules();
    for layer in MIRRORS {
        let path: ModulePath = layer.split("::").map(ToOwned::to_owned).collect();
        assert!(program.files.contains_key(&path), "{layer} is no module");
    }
}

#[test]
fn a_doc_comment_says_more_than_two_words() {
    let (mut all, mut short) = (0, Vec::new());
    for (path, comments) in comments() {
        all += comments.len();
        let few = comments.iter();
        let few = few.filter(|it| it.split_whitespace().count() <= 2);
        let path = path.strip_prefix(root()).unwrap().display().to_string();
        short.extend(few.map(|it| format!("    {path}: {}", it.trim())));
    }
    let share = per_cent(short.len(), all);
    println!(
        "doc comments of two words or fewer: {share:.1} % ({} of {all})",
        short.len()
    );
    if std::env::var_os("LIST").is_some() {
        println!("{}", short.join("\n"));
    }
    assert!(share <= SHORT, "more than {SHORT} %:\n{}", short.join("\n"));
}

#[test]
fn a_doc_comment_begins_with_its_subject_or_a_verb() {
    let mut crates: BTreeMap<String, (usize, Vec<String>)> = BTreeMap::new();
    for file in modules().files.values().filter(|file| !file.test) {
        let mut parsed = syn::parse_file(&std::fs::read_to_string(&file.path).unwrap()).unwrap();
        let is_of_tests = |it: &Item| matches!(it, Item::Mod(it) if is_test(&it.attrs));
        parsed.items.retain(|it| !is_of_tests(it));
        let mut comments = Comments::default();
        comments.visit_file(&parsed);
        let path = file.path.strip_prefix(root()).unwrap();
        let mut folders = path.ancestors().skip(1);
        let its_crate = folders.find(|it| root().join(it).join("Cargo.toml").exists());
        let its_crate = its_crate.unwrap().display().to_string();
        let (all, led) = crates.entry(its_crate).or_default();
        *all += comments.0.len();
        led.extend(comments.0.iter().filter_map(|it| {
            let first = it.split_whitespace().next()?;
            lists(LEADING, first).then(|| format!("    {}: {}", path.display(), it.trim()))
        }));
    }
    let mut over = Vec::new();
    for (name, (all, led)) in &crates {
        let share = per_cent(led.len(), *all);
        let name = if name.is_empty() { "aside" } else { name };
        println!(
            "doc comments led by a pronoun or question word in {name}: {share:.1} % ({} of {all})",
            led.len()
        );
        if std::env::var_os("LIST").is_some() {
            println!("{}", led.join("\n"));
        }
        if share > LED {
            over.push(format!("{name}: more than {LED} %:\n{}", led.join("\n")));
        }
    }
    assert!(over.is_empty(), "{}", over.join("\n"));
}

#[test]
fn a_type_is_named_for_what_it_is() {
    let types = types();
    let empty = EMPTY_NAMES
        .split_whitespace()
        .filter_map(|it| Some(format!("    {it}: {}", types.get(it)?.join(", "))));
    let empty: Vec<String> = empty.collect();
    println!("types with a name that fits everything: {}", empty.len());
    assert!(empty.is_empty(), "{}", empty.join("\n"));
}

#[test]
fn words_of_the_glossary_are_those_of_the_code() {
    let names = names();
    for entry in glossary() {
        for word in &entry.words {
            let is_there = names.keys().any(|name| is_word(name, word));
            assert!(is_there, "nothing in the code is called {word:?}");
        }
    }
}

#[test]
fn words_that_the_glossary_rejects_are_in_no_name() {
    let names = names();
    let mut found = Vec::new();
    let mut rejected = 0;
    for entry in glossary() {
        let better = entry.words.join(", ");
        for word in &entry.rejected {
            rejected += 1;
            let names = names
                .iter()
                .filter(|(name, _)| words(name).any(|it| it == *word || it == format!("{word}s")));
            found.extend(names.map(|(name, modules)| {
                format!("    {name} ({}): {word} is {better}", modules.join(", "))
            }));
        }
    }
    assert!(rejected > 10, "only {rejected} words are rejected");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_word_of_the_glossary_is_a_name_alone_or_as_a_property() {
    for name in ["LiveQuestion", "live_question", "is_live_question"] {
        assert!(is_word(name, "live question"), "{name}");
    }
    for name in ["Live", "live", "live_questions_left", "question"] {
        assert!(!is_word(name, "live question"), "{name}");
    }
}

#[test]
fn prose_is_spelled_one_way() {
    let mut wrong = Vec::new();
    for (path, comments) in comments() {
        for comment in comments {
            // What stands in backticks is a name.
            let prose: Vec<&str> = comment.split('`').step_by(2).collect();
            let prose = prose.join(" ").to_lowercase();
            let mut words = prose.split(|it: char| !it.is_alphabetic());
            if let Some(word) = words.find(|it| lists(AMERICAN, it)) {
                wrong.push(format!("{}: {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn words_of_a_name_are_found_in_either_spelling() {
    let split = |name| words(name).collect::<Vec<_>>();
    assert_eq!(split("max_steps"), ["max", "steps"]);
    assert_eq!(split("BeginStep"), ["begin", "step"]);
    assert_eq!(split("MODEL_TEXT"), ["model", "text"]);
    assert_eq!(split("footstep"), ["footstep"]);
}

/// A row of the glossary.
struct GlossaryEntry {
    words: Vec<String>,
    /// Words that no name has for it.
    rejected: Vec<String>,
}

/// The glossary at the top of `server/turn/lib.rs`.
fn glossary() -> Vec<GlossaryEntry> {
    let text = std::fs::read_to_string(root().join("server/turn/lib.rs")).unwrap();
    let rows = text
        .lines()
        .skip_while(|line| *line != "//! | word | means | never |")
        .skip(2);
    let rows = rows.map_while(|line| line.strip_prefix("//! | ")?.strip_suffix('|'));
    let list = |cell: &str| -> Vec<String> {
        let words = cell.split(',').map(str::trim);
        words
            .filter(|it| !it.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let entries: Vec<GlossaryEntry> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split(" |").collect();
            GlossaryEntry {
                words: list(cells[0]),
                rejected: list(cells[2]),
            }
        })
        .collect();
    assert!(entries.len() > 15, "only {} words", entries.len());
    entries
}

/// Whether a name is this word, in either spelling, or says whether something is so.
fn is_word(name: &str, word: &str) -> bool {
    let name = words(name).collect::<Vec<_>>().join(" ");
    name.strip_prefix("is ").unwrap_or(&name) == word
}

/// All names in the program's files, and the modules that have them.
fn names() -> &'static BTreeMap<String, Vec<String>> {
    &program().names
}

/// The modules in which each type name is defined, without tests.
fn types() -> &'static BTreeMap<String, Vec<String>> {
    &program().types
}

/// What is called how in the program.
#[derive(Default)]
struct ProgramNames {
    names: BTreeMap<String, Vec<String>>,
    types: BTreeMap<String, Vec<String>>,
}

fn program() -> &'static ProgramNames {
    static PROGRAM: OnceLock<ProgramNames> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let mut program = ProgramNames::default();
        for (module, text) in program_files() {
            let file = syn::parse_file(&text).unwrap();
            let (mut names, mut types) = (Names::default(), Types::default());
            names.visit_file(&file);
            types.visit_file(&file);
            for name in names.0 {
                let modules = program.names.entry(name).or_default();
                modules.push(module.clone());
            }
            for name in types.0 {
                let modules = program.types.entry(name).or_default();
                modules.push(module.clone());
            }
        }
        program
    })
}

/// The doc comments of each file, by its path.
fn comments() -> &'static [(PathBuf, Vec<String>)] {
    static COMMENTS: OnceLock<Vec<(PathBuf, Vec<String>)>> = OnceLock::new();
    COMMENTS.get_or_init(|| {
        let folders = ["server", "tests"].into_iter();
        let files = folders.flat_map(|folder| texts(&root().join(folder)));
        let of = |(path, text): (PathBuf, String)| {
            let mut comments = Comments::default();
            comments.visit_file(&syn::parse_file(&text).unwrap());
            (path, comments.0)
        };
        files.map(of).collect()
    })
}

/// The program's files without those of tests: the module's path, and the text.
fn program_files() -> Vec<(String, String)> {
    let files = modules().files.iter().filter(|(_, file)| !file.test);
    let files = files.map(|(module, file)| {
        let text = std::fs::read_to_string(&file.path).unwrap();
        (module.join("::"), text)
    });
    files.collect()
}

/// Whether these types of one name are more than one type and its mirrors: each alone in a layer of [`MIRRORS`], and the
/// one that they mirror in the turn. Each operating system has the same types by the same names.
fn is_several(modules: &[String]) -> bool {
    let of_all = |module: &String| module.replace(SYSTEMS[1], SYSTEMS[0]);
    let modules: BTreeSet<String> = modules.iter().map(of_all).collect();
    if modules.len() < 2 {
        return false;
    }
    let within = |module: &str, layer: &str| {
        module
            .strip_prefix(layer)
            .is_some_and(|it| it.is_empty() || it.starts_with("::"))
    };
    let count = |layer: &str| modules.iter().filter(|it| within(it, layer)).count();
    let mirrors: Vec<usize> = MIRRORS.into_iter().map(count).collect();
    let turn = count("turn");
    turn != 1
        || mirrors.iter().any(|it| *it > 1)
        || mirrors.iter().sum::<usize>() + turn < modules.len()
}

fn per_cent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole as f64
}

/// The words of an identifier, in lower case.
fn words(name: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut before = '_';
    for letter in name.chars() {
        if letter == '_' || letter.is_uppercase() && before.is_lowercase() {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().unwrap().extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.into_iter().filter(|it| !it.is_empty())
}

/// The types that are defined in a file, tests aside.
#[derive(Default)]
struct Types(Vec<String>);

impl<'ast> Visit<'ast> for Types {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Struct(it) => (&it.attrs, &it.ident),
            Item::Enum(it) => (&it.attrs, &it.ident),
            Item::Union(it) => (&it.attrs, &it.ident),
            Item::Trait(it) => (&it.attrs, &it.ident),
            Item::Type(it) => (&it.attrs, &it.ident),
            Item::Mod(it) if is_test(&it.attrs) => return,
            _ => return visit::visit_item(self, item),
        };
        if !is_test(attributes) {
            self.0.push(name.to_string());
        }
        visit::visit_item(self, item);
    }
}

/// The doc comments of a file, whole, but for that at its head.
#[derive(Default)]
struct Comments(Vec<String>);

impl Comments {
    fn note(&mut self, attributes: &[Attribute]) {
        let text = documentation(attributes);
        if !text.is_empty() {
            self.0.push(text);
        }
    }
}

macro_rules! noting {
    ($($visit:ident: $Node:ident),* $(,)?) => {
        impl<'ast> Visit<'ast> for Comments {
            $(fn $visit(&mut self, node: &'ast syn::$Node) {
                self.note(&node.attrs);
                visit::$visit(self, node);
            })*
        }
    };
}

noting! {
    visit_field: Field, visit_variant: Variant,
    visit_item_const: ItemConst, visit_item_enum: ItemEnum, visit_item_fn: ItemFn, visit_item_macro: ItemMacro,
    visit_item_mod: ItemMod, visit_item_static: ItemStatic, visit_item_struct: ItemStruct, visit_item_trait: ItemTrait,
    visit_item_type: ItemType, visit_item_union: ItemUnion, visit_item_impl: ItemImpl, visit_item_use: ItemUse,
    visit_impl_item_const: ImplItemConst, visit_impl_item_fn: ImplItemFn, visit_impl_item_type: ImplItemType,
    visit_trait_item_const: TraitItemConst, visit_trait_item_fn: TraitItemFn, visit_trait_item_type: TraitItemType,
}

/// The identifiers of a file, each once.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    fn tokens(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    self.0.insert(name.to_string());
                }
                TokenTree::Group(group) => self.tokens(group.stream()),
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_ident(&mut self, name: &'ast Ident) {
        self.0.insert(name.to_string());
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        visit::visit_macro(self, it);
        self.tokens(it.tokens.clone());
    }
}
