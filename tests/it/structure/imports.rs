//! Which file of a crate uses which other one, read from its `use` trees and its paths.
//!
//! A path counts where it stands: in a `use`, inline, or among the tokens of a macro. It is followed through re-exports
//! to the file that defines what it names, so `super::Type` is an import of the file of `Type` and not of the `mod.rs`
//! that passes it on. A path that names a module and nothing in it is no import, and neither is a visibility.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Attribute, Item, UseTree,
    visit::{self, Visit},
};

/// The names of a module and of those around it, from the crate's root on. The root has none.
pub(crate) type ModulePath = Vec<String>;

/// The text of each file, by its path.
pub(crate) type Texts = BTreeMap<PathBuf, String>;

/// A file that uses something defined in another file of its crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: ModulePath,
    pub(crate) to: ModulePath,
    /// The path as it is written, with `::` between its parts.
    pub(crate) path: String,
    /// Whether it is only there in tests.
    pub(crate) test: bool,
}

/// A crate: its modules, and what they use of each other.
pub(crate) struct Crate {
    /// The modules that have a file of their own.
    pub(crate) files: BTreeMap<ModulePath, File>,
    pub(crate) imports: BTreeSet<Import>,
}

/// A module that has a file of its own.
pub(crate) struct File {
    pub(crate) path: PathBuf,
    /// Whether it is only there in tests.
    pub(crate) test: bool,
    /// The modules that it declares, but for those of tests.
    pub(crate) modules: Vec<String>,
    /// The comment at its head.
    pub(crate) head: String,
}

#[derive(Default)]
struct Module {
    /// The nearest module, itself or one around it, that has a file.
    file: ModulePath,
    children: BTreeSet<String>,
    items: BTreeSet<String>,
    /// What `use` makes of a name.
    used: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
}

#[derive(Default)]
struct Modules(BTreeMap<ModulePath, Module>);

/// A path as it is written in a module.
struct Written {
    module: ModulePath,
    path: Vec<String>,
    test: bool,
}

enum Target {
    Module(ModulePath),
    /// Something defined in this module.
    Item(ModulePath),
}

impl Crate {
    /// Reads the crate whose root is this file.
    ///
    /// # Panics
    /// Where a file that a module declares is missing or is no Rust.
    pub(crate) fn read(texts: &Texts, root: &Path) -> Self {
        let mut reader = Reader {
            texts,
            files: BTreeMap::new(),
            modules: Modules::default(),
            written: Vec::new(),
        };
        reader.file(root, Vec::new(), true, false);
        let Reader {
            files,
            modules,
            written,
            ..
        } = reader;
        let imports = written.iter().filter_map(|it| modules.import(it)).collect();
        Self { files, imports }
    }

    /// Adds another crate as a module of this name.
    pub(crate) fn add(&mut self, name: &str, other: Self) {
        let within = |mut path: ModulePath| {
            path.insert(0, name.to_owned());
            path
        };
        let files = other.files.into_iter();
        self.files
            .extend(files.map(|(path, file)| (within(path), file)));
        let imports = other.imports.into_iter().map(|it| Import {
            from: within(it.from),
            to: within(it.to),
            ..it
        });
        self.imports.extend(imports);
    }
}

impl Modules {
    fn import(&self, written: &Written) -> Option<Import> {
        let Target::Item(module) = self.resolve(&written.module, &written.path, 0)? else {
            return None;
        };
        let from = self.0[&written.module].file.clone();
        let to = self.0[&module].file.clone();
        (from != to).then(|| Import {
            from,
            to,
            path: written.path.join("::"),
            test: written.test,
        })
    }

    /// What a path means in a module, or nothing where it leaves the crate.
    fn resolve(&self, module: &ModulePath, path: &[String], depth: u32) -> Option<Target> {
        // A name may be re-exported in a circle, each time under itself.
        if depth > 16 {
            return None;
        }
        let mut at = module.clone();
        let mut rest = path;
        let mut rooted = false;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => at.clear(),
                "self" => {}
                "super" => {
                    // From an inline module, too, `super` is one module up.
                    at.pop()?;
                }
                _ => break,
            }
            rooted = true;
            rest = others;
        }
        while let Some((name, others)) = rest.split_first() {
            match self.name(&at, name, others.is_empty(), depth) {
                Some(Target::Module(inner)) => at = inner,
                Some(item) => return Some(item),
                // What a macro defines is known by where it stands.
                None if rooted => return Some(Target::Item(at)),
                None => return None,
            }
            rooted = true;
            rest = others;
        }
        Some(Target::Module(at))
    }

    fn name(&self, module: &ModulePath, name: &str, last: bool, depth: u32) -> Option<Target> {
        let here = &self.0[module];
        let child = || {
            let mut path = module.clone();
            path.push(name.to_owned());
            Target::Module(path)
        };
        let is_module = here.children.contains(name);
        if is_module && !last {
            return Some(child());
        }
        if here.items.contains(name) {
            return Some(Target::Item(module.clone()));
        }
        if let Some(path) = here.used.get(name)
            && let Some(found) = self.resolve(module, path, depth + 1)
        {
            return Some(found);
        }
        if is_module {
            return Some(child());
        }
        here.globs.iter().find_map(|glob| {
            let Target::Module(inner) = self.resolve(module, glob, depth + 1)? else {
                return None;
            };
            (inner != *module)
                .then(|| self.name(&inner, name, last, depth + 1))
                .flatten()
        })
    }
}

struct Reader<'a> {
    texts: &'a Texts,
    files: BTreeMap<ModulePath, File>,
    modules: Modules,
    written: Vec<Written>,
}

impl Reader<'_> {
    /// `owns` says whether the file's modules lie beside it, as those of a `mod.rs` do.
    fn file(&mut self, path: &Path, module: ModulePath, owns: bool, test: bool) {
        let text = self.texts.get(path);
        let text = text.unwrap_or_else(|| panic!("{} is missing", path.display()));
        let syntax =
            syn::parse_file(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let beside = path.parent().unwrap().to_owned();
        let folder = if owns {
            beside.clone()
        } else {
            path.with_extension("")
        };
        let modules = syntax.items.iter().filter_map(|item| match item {
            Item::Mod(it) if !is_test(&it.attrs) => Some(it.ident.to_string()),
            _ => None,
        });
        let file = File {
            path: path.to_owned(),
            test,
            modules: modules.collect(),
            head: documentation(&syntax.attrs),
        };
        self.files.insert(module.clone(), file);
        let mut walk = Walk {
            file: module.clone(),
            module,
            beside,
            folder,
            test,
            reader: self,
        };
        walk.enter();
        for item in &syntax.items {
            walk.visit_item(item);
        }
    }
}

/// The walk through a file.
struct Walk<'a, 'b> {
    file: ModulePath,
    module: ModulePath,
    /// The file's folder.
    beside: PathBuf,
    /// Where the module's own modules lie.
    folder: PathBuf,
    test: bool,
    reader: &'a mut Reader<'b>,
}

impl Walk<'_, '_> {
    fn enter(&mut self) {
        let module = Module {
            file: self.file.clone(),
            ..Module::default()
        };
        self.reader.modules.0.insert(self.module.clone(), module);
    }

    fn here(&mut self) -> &mut Module {
        self.reader.modules.0.get_mut(&self.module).unwrap()
    }

    fn write(&mut self, path: Vec<String>) {
        let (module, test) = (self.module.clone(), self.test);
        self.reader.written.push(Written { module, path, test });
    }

    fn import(&mut self, tree: &UseTree, before: &[String]) {
        let with = |name: &syn::Ident| {
            let mut path = before.to_vec();
            path.push(name.to_string());
            path
        };
        match tree {
            UseTree::Path(it) => self.import(&it.tree, &with(&it.ident)),
            UseTree::Group(it) => {
                for tree in &it.items {
                    self.import(tree, before);
                }
            }
            UseTree::Name(it) if it.ident == "self" => {
                let name = before.last().cloned().unwrap_or_default();
                self.bind(name, before.to_vec());
            }
            UseTree::Name(it) => self.bind(it.ident.to_string(), with(&it.ident)),
            UseTree::Rename(it) if it.ident == "self" => {
                self.bind(it.rename.to_string(), before.to_vec());
            }
            UseTree::Rename(it) => self.bind(it.rename.to_string(), with(&it.ident)),
            UseTree::Glob(_) => self.here().globs.push(before.to_vec()),
        }
    }

    fn bind(&mut self, name: String, path: Vec<String>) {
        self.write(path.clone());
        if path != [name.clone()] {
            self.here().used.entry(name).or_insert(path);
        }
    }

    fn module(&mut self, it: &syn::ItemMod) {
        let name = it.ident.to_string();
        self.here().children.insert(name.clone());
        let test = self.test || is_test(&it.attrs);
        let mut module = self.module.clone();
        module.push(name.clone());
        if let Some((_, items)) = &it.content {
            let mut inner = Walk {
                file: self.file.clone(),
                module,
                beside: self.beside.clone(),
                folder: self.folder.join(name),
                test,
                reader: self.reader,
            };
            inner.enter();
            for item in items {
                inner.visit_item(item);
            }
            return;
        }
        if let Some(path) = written_path(&it.attrs) {
            let path = self.beside.join(path);
            return self.reader.file(&path, module, true, test);
        }
        let file = self.folder.join(format!("{name}.rs"));
        if self.reader.texts.contains_key(&file) {
            self.reader.file(&file, module, false, test);
        } else {
            let file = self.folder.join(name).join("mod.rs");
            self.reader.file(&file, module, true, test);
        }
    }

    /// The paths among the tokens of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) if colons == 2 && !path.is_empty() => {
                    path.push(name.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(it) if it.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Ident(name) => {
                    self.flush(&mut path);
                    path.push(name.to_string());
                }
                TokenTree::Group(group) => {
                    self.flush(&mut path);
                    self.tokens(group.stream());
                }
                _ => self.flush(&mut path),
            }
            colons = 0;
        }
        self.flush(&mut path);
    }

    fn flush(&mut self, path: &mut Vec<String>) {
        let path = std::mem::take(path);
        // A single word may be anything.
        if path.len() > 1 {
            self.write(path);
        }
    }
}

impl<'ast> Visit<'ast> for Walk<'_, '_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = head(item);
        if let Some(name) = name {
            self.here().items.insert(name);
        }
        let outer = self.test;
        self.test |= is_test(attributes);
        match item {
            Item::Use(it) => self.import(&it.tree, &[]),
            Item::Mod(it) => self.module(it),
            Item::Macro(it) => {
                for name in declared(it.mac.tokens.clone()) {
                    self.module(&syn::parse_quote!(mod #name;));
                }
                visit::visit_item(self, item);
            }
            _ => visit::visit_item(self, item),
        }
        self.test = outer;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let written = path.segments.iter().map(|it| it.ident.to_string());
        self.write(written.collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast syn::Macro) {
        self.visit_path(&it.path);
        self.tokens(it.tokens.clone());
    }

    fn visit_attribute(&mut self, _: &'ast Attribute) {}

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

/// The modules that the tokens of a macro declare, as `mod name`.
fn declared(tokens: TokenStream) -> Vec<syn::Ident> {
    let mut names = Vec::new();
    let mut after_mod = false;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if after_mod => names.push(name),
            TokenTree::Ident(word) => {
                after_mod = word == "mod";
                continue;
            }
            _ => {}
        }
        after_mod = false;
    }
    names
}

/// An item's attributes and the name that it defines.
fn head(item: &Item) -> (&[Attribute], Option<String>) {
    let (attributes, name) = match item {
        Item::Const(it) => (&it.attrs, Some(&it.ident)),
        Item::Enum(it) => (&it.attrs, Some(&it.ident)),
        Item::Fn(it) => (&it.attrs, Some(&it.sig.ident)),
        Item::Impl(it) => (&it.attrs, None),
        Item::Macro(it) => (&it.attrs, it.ident.as_ref()),
        Item::Mod(it) => (&it.attrs, None),
        Item::Static(it) => (&it.attrs, Some(&it.ident)),
        Item::Struct(it) => (&it.attrs, Some(&it.ident)),
        Item::Trait(it) => (&it.attrs, Some(&it.ident)),
        Item::Type(it) => (&it.attrs, Some(&it.ident)),
        Item::Union(it) => (&it.attrs, Some(&it.ident)),
        Item::Use(it) => (&it.attrs, None),
        _ => return (&[], None),
    };
    (attributes, name.map(ToString::to_string))
}

/// Whether an item with these attributes is there in tests only.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|it| {
        it.path().is_ident("test")
            || it.path().is_ident("cfg")
                && it
                    .parse_args::<syn::Path>()
                    .is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// The text of the comments that document an item, line by line.
pub(crate) fn documentation(attributes: &[Attribute]) -> String {
    let lines = attributes
        .iter()
        .filter(|it| it.path().is_ident("doc"))
        .filter_map(literal);
    lines.map(|line| line + "\n").collect()
}

fn written_path(attributes: &[Attribute]) -> Option<String> {
    let path = attributes.iter().find(|it| it.path().is_ident("path"))?;
    literal(path)
}

fn literal(attribute: &Attribute) -> Option<String> {
    let value = &attribute.meta.require_name_value().ok()?.value;
    let syn::Expr::Lit(it) = value else {
        return None;
    };
    let syn::Lit::Str(text) = &it.lit else {
        return None;
    };
    Some(text.value())
}
