//! The table of protected places: files and folders whose content other programs execute without asking, and Aside's own
//! settings. [`PAGE`] shows it.

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use aside_base::name_table::{NameTable, fits};

/// Aside's own settings in a workspace, which no tool writes. The name of a folder covers everything beneath it.
pub(super) const OWN: &[&str] = &["aside.toml", ".aside"];

/// The page that shows the table.
#[cfg(test)]
const PAGE: &str = include_str!("../sandbox/README.md");

/// Folders of version control. Nothing above them can be moved, as hooks in them run every day.
const REPOSITORIES: &[&str] = &[
    ".git", "git~*", ".hg", ".jj", ".svn", ".bzr", "_darcs", ".pijul", ".sl",
];

/// Places by the program that executes them. The names of a place follow one another anywhere in a path and cover
/// everything beneath; a `*` in a name matches anything.
///
/// A place belongs here if a program by itself runs what it says when a person opens the folder, enters it or uses version
/// control there, and if no build writes it. What a person starts, such as a `Makefile`, does not.
#[rustfmt::skip]
const CODE: &[(&str, &[&str])] = &[
    // `git~1` is the short name of `.git` on file systems that make those.
    ("Git", &[
        ".git", "git~*", ".gitmodules", ".gitconfig", ".config/git", ".githooks", ".git-hooks", ".git_hooks", ".husky",
        ".huskyrc*", "lefthook.*", ".lefthook*", "lefthook-local.*", ".pre-commit-config.*", ".overcommit.yml",
        ".simple-git-hooks.*", "simple-git-hooks.*", ".lintstagedrc*", "lint-staged.config.*", ".commitlintrc*", ".gitlint",
        "commitlint.config.*", "captainhook.json", "grumphp.yml", "prek.toml", "hk.pkl", "hk.local.pkl", ".hk.pkl",
        "rusty-hook.toml", ".rusty-hook.toml", ".cargo-husky", ".trunk/trunk.yaml", ".nano-staged.*", "nano-staged.*",
    ]),
    ("Mercurial", &[".hg", ".hgrc"]),
    ("Jujutsu", &[".jj"]),
    ("Subversion", &[".svn"]),
    ("Breezy", &[".bzr"]),
    ("Darcs", &["_darcs"]),
    ("Pijul", &[".pijul"]),
    ("Sapling", &[".sl"]),
    ("Fossil", &[".fslckout", "_fossil_", ".fossil-settings"]),
    ("CVS", &["cvs/root"]),
    ("Perforce", &[".p4config*", "p4config.txt", ".p4enviro"]),
    ("a manager of repositories", &[".repo", ".gclient*", ".west", ".mrconfig", ".arcconfig"]),
    ("Cargo", &[".cargo/config.toml", ".cargo/config"]),
    ("rustup", &["rust-toolchain", "rust-toolchain.toml"]),
    ("Bazel", &["*.bazelrc", ".bazeliskrc", ".bazelversion", "tools/bazel"]),
    ("Buck", &[".buckconfig*"]),
    ("Please", &[".plzconfig*"]),
    ("Pants", &[".pants.bootstrap", ".pants.rc"]),
    ("Maven", &[".mvn/jvm.config", ".mvn/maven.config", ".mvn/extensions.xml", ".mvn/*.properties", ".mvn/wrapper/maven-wrapper.*"]),
    ("Gradle", &["gradle/wrapper/gradle-wrapper.*"]),
    ("sbt", &[".jvmopts", ".sbtopts", ".sbtrc"]),
    ("Mill", &[".mill-*"]),
    ("Nix", &[
        "flake.nix", "shell.nix", "default.nix", "devenv.nix", "devenv.local.nix", "devenv.yaml",
        "devenv.local.yaml", "devbox.json", ".flox",
    ]),
    ("Guix", &["guix.scm", "manifest.scm"]),
    // What an editor starts for a language.
    ("a language server", &[
        ".bsp", "buildserver.json", ".sourcekit-lsp", "hie.yaml", ".luarc.json*", ".clangd", "rust-analyzer.toml",
        ".rust-analyzer.toml", "rust-project.json", ".rust-project.json", ".merlin", "omnisharp.json", ".phpactor.*",
        ".lsp", ".hie-bios", ".pylintrc", "pylintrc",
    ]),
    ("npm", &[".npmrc"]),
    ("Yarn", &[".yarnrc", ".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".yarn/sdks"]),
    ("pnpm", &[".pnpmfile.*"]),
    ("Bun", &["bunfig.toml", ".bunfig.toml"]),
    ("an assistant", &[
        ".mcp.json", ".mcp", ".agent", ".agents", ".amazonq", ".amp", ".antigravity", ".augment", ".cline", ".clinerules", ".codebuddy",
        ".copilot", ".github/hooks", ".crush", "crush.json", ".crush.json", ".factory", ".goose", ".iflow", ".junie",
        ".kilocode", ".kimi", ".lingma", ".openhands", ".qodo", ".roo", ".roomodes", ".rovodev", ".tabnine", ".trae", ".vibe",
        ".warp", ".zencoder", ".firebender", ".pi", ".qoder", "codebuff.json", "gptme.toml", ".grok", ".letta", ".mcphub",
        ".mux", "conductor.json", ".superset", ".emdash.json", ".forge", ".nanocoder",
    ]),
    ("Claude", &[".claude", ".claude.json"]),
    ("Codex", &[".codex"]),
    ("Gemini", &[".gemini"]),
    ("Cursor", &[".cursor"]),
    ("Windsurf", &[".windsurf", ".codeium"]),
    ("Continue", &[".continue"]),
    ("Kiro", &[".kiro"]),
    ("opencode", &[".opencode", "opencode.json", "opencode.jsonc"]),
    ("Qwen Code", &[".qwen"]),
    ("Aider", &[".aider*"]),
    ("VS Code", &[".vscode", ".vscode-*", "*.code-workspace", ".theia"]),
    ("a development container", &[
        ".devcontainer", ".devcontainer.json", ".gitpod.yml", ".gitpod", ".ona", ".codesandbox", ".idx", ".replit", ".devfile.yaml", "devfile.yaml",
        ".stackblitzrc",
    ]),
    ("Visual Studio", &[".vs", "*.vs.json"]),
    // Run configurations that are shared, usually in `.run`.
    ("an editor of JetBrains", &[".idea", "*.run.xml", "*.ipr", "*.iws", ".fleet"]),
    ("Eclipse", &[".externaltoolbuilders", ".project", ".factorypath"]),
    ("Zed", &[".zed"]),
    ("Helix", &[".helix"]),
    ("Nova", &[".nova"]),
    ("Lapce", &[".lapce"]),
    ("Kate", &[".kateproject*"]),
    ("Sublime Text", &["*.sublime-project", "*.sublime-build"]),
    ("Lite XL", &[".lite_project.lua"]),
    ("Neovim", &[".nvim*", ".config/nvim", ".neoconf.json", ".lazy.lua", ".nlsp-settings"]),
    ("Vim", &[
        ".exrc*", "_exrc", ".vim", ".vimrc*", "_vimrc", ".gvimrc", ".lvimrc", ".local.vimrc", ".vimspector.json",
        ".ycm_extra_conf.py",
    ]),
    ("Kakoune", &[".kakrc", ".config/kak"]),
    ("Emacs", &[".emacs*", ".config/emacs", ".dir-locals*.el", ".projectile"]),
    ("direnv", &[".envrc*", ".direnv", ".config/direnv"]),
    ("mise", &["mise.toml", "mise.*.toml", ".mise.toml", ".mise.*.toml", ".mise", "mise/config*.toml", ".rtx.toml"]),
    ("a version manager", &[
        ".tool-versions", ".asdfrc", ".prototools", ".rvmrc", ".phpbrewrc", ".shadowenv.d", ".autoenv*", ".ondirrc",
        ".config/mise*",
    ]),
    ("a shell", &[
        ".cargo/bin", ".cargo/env*", ".bashrc*", ".bash_*", ".profile", ".zshrc*", ".zshenv", ".zprofile", ".zlogin",
        ".zlogout", ".zsh", ".oh-my-zsh", ".config/zsh", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout",
        ".config/fish", ".config/nushell", ".config/elvish", ".elvish", ".xonshrc", ".config/xonsh", ".config/powershell",
        ".inputrc", ".pam_environment", ".config/environment.d", ".config/starship.toml", ".local/bin",
    ]),
    ("a terminal", &[
        ".tmux.conf*", ".config/tmux", ".screenrc", ".byobu", ".config/zellij", ".wezterm.lua", ".config/wezterm",
        ".config/kitty", ".config/alacritty", ".alacritty.*", ".config/ghostty",
        ".tmux-sessionizer",
    ]),
    ("systemd", &[".config/systemd"]),
    ("the desktop", &[
        ".config/autostart", ".local/share/applications", ".xprofile", ".xinitrc", ".xsession*", ".i3", ".config/i3",
        ".config/sway", ".config/hypr", ".config/awesome", ".config/openbox", ".config/bspwm", ".xmonad",
    ]),
    ("SSH", &[".ssh"]),
    ("GnuPG", &[".gnupg"]),
    ("curl", &[".curlrc"]),
    ("Wget", &[".wgetrc"]),
    ("less", &[".lessfilter", ".lesskey"]),
    ("a mail program", &[".mailcap", ".muttrc", ".mutt", ".config/mutt", ".config/neomutt"]),
    ("a database client", &[".psqlrc*", ".sqliterc", ".mongorc.js", ".mongoshrc.js", ".duckdbrc"]),
    ("GDB", &[".gdbinit", ".gdbearlyinit", ".config/gdb"]),
    ("LLDB", &[".lldbinit*"]),
    ("Python's debugger", &[".pdbrc*"]),
    ("another debugger", &[".perldb", ".byebugrc", ".rdbgrc*", ".valgrindrc"]),
    ("latexmk", &[".latexmkrc", "latexmkrc"]),
    ("an interpreter", &[
        ".rprofile*", ".renviron", ".irbrc", ".pryrc", ".iex.exs", ".ghci", ".erlang", ".octaverc", ".ocamlinit", ".utoprc",
        ".guile", ".sbclrc", ".pythonrc*", ".lein", ".ipython",
        ".rdata", "startup.m",
    ]),
];

/// Maximum number of names of a place that follow one another.
pub(crate) const LONGEST: usize = 3;

/// A protected place of the table.
struct ProtectedRow {
    /// The names of the place, which follow one another in a path.
    names: Vec<&'static str>,
    program: &'static str,
}

/// The rows of the table by their last names.
static ROWS: LazyLock<NameTable<ProtectedRow>> = LazyLock::new(|| {
    let own = OWN.iter().map(|place| (*place, "Aside"));
    let code = CODE.iter();
    let code = code.flat_map(|(program, places)| places.iter().map(|it| (*it, *program)));
    let rows = code.chain(own).map(|(place, program)| {
        let names: Vec<&str> = place.split('/').collect();
        let last = names.last().copied().unwrap_or_default();
        (last, ProtectedRow { names, program })
    });
    rows.collect()
});

/// Whether a protected place may have this last name.
pub(crate) fn may_end_in(name: &str) -> bool {
    ROWS.rows(name).next().is_some()
}

/// Whether a protected place may lie in a folder of this name.
pub(crate) fn may_lie_in(name: &str) -> bool {
    static FOLDERS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
        let folders = ROWS.all().map(|row| &row.names[..row.names.len() - 1]);
        folders.flatten().copied().collect()
    });
    FOLDERS.contains(name)
}

/// The protected places that are known letter by letter, each from a folder that holds it. A name that may go on counts
/// as it begins.
pub(crate) fn exact_places() -> impl Iterator<Item = PathBuf> {
    let names = ROWS.all().map(|row| row.names.iter());
    let exact = names.map(|names| names.map(|name| name.trim_end_matches('*')));
    let exact = exact.filter(|names| names.clone().all(|name| !name.contains('*')));
    exact.map(Iterator::collect)
}

/// All protected places, as the table spells them.
#[cfg(any(target_os = "macos", all(test, target_os = "linux")))]
pub(crate) fn all_places() -> impl Iterator<Item = &'static str> {
    let code = CODE.iter().flat_map(|(_, places)| *places);
    code.chain(OWN).copied()
}

/// If these folded names lead to a protected place, the number of folders above it that cannot be moved: those that are
/// part of the place's name, and all of them for repositories.
pub(crate) fn fixed_above<N: AsRef<str>>(names: &[N]) -> Option<usize> {
    let found = rows_of(names).next()?;
    let is_repository = found.names.iter().any(|name| REPOSITORIES.contains(name));
    Some(match is_repository {
        true => usize::MAX,
        false => found.names.len() - 1,
    })
}

/// The program that executes what lies at a path of these folded names, if one is known.
pub(super) fn program(names: &[String]) -> Option<&'static str> {
    let mut ends = (1..=names.len()).map(|end| &names[..end]);
    let is_code = |row: &&ProtectedRow| !OWN.contains(&row.names[0]);
    let found = ends.find_map(|names| rows_of(names).find(is_code));
    found.map(|row| row.program)
}

/// The number of the kind of place that lies at a path: Aside's own settings, then the programs in the order of the table,
/// then what is none of them.
pub(crate) fn kind_of(path: &Path) -> usize {
    let names: Vec<String> = aside_base::secrets::names(path).collect();
    if names.iter().any(|name| OWN.contains(&name.as_str())) {
        return 0;
    }
    let found = program(&names);
    let found = found.and_then(|it| CODE.iter().position(|(program, _)| *program == it));
    found.map_or(CODE.len() + 1, |at| at + 1)
}

/// The rows of places to which these names lead.
fn rows_of<N: AsRef<str>>(names: &[N]) -> impl Iterator<Item = &'static ProtectedRow> {
    let last = names.last().map_or("", AsRef::as_ref);
    ROWS.rows(last).filter(move |row| {
        let start = names.len().checked_sub(row.names.len());
        start.is_some_and(|start| fit(&names[start..], &row.names))
    })
}

fn fit<N: AsRef<str>>(names: &[N], parts: &[&str]) -> bool {
    let mut both = names.iter().zip(parts);
    both.all(|(name, part)| fits(name.as_ref(), part))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table as the page shows it.
    fn shown() -> String {
        let rows = CODE.iter().map(|(program, places)| {
            let places: Vec<String> = places.iter().map(|place| format!("`{place}`")).collect();
            format!("| {program} | {} |\n", places.join(", "))
        });
        let own: Vec<String> = OWN.iter().map(|place| format!("`{place}`")).collect();
        let own = format!("| Aside itself | {} |\n", own.join(", "));
        format!(
            "| program | protected files and folders |\n|---|---|\n{}{own}",
            rows.collect::<String>()
        )
    }

    #[test]
    fn the_page_shows_the_table() {
        assert!(
            PAGE.contains(&shown()),
            "put this into the page:\n{}",
            shown()
        );
    }

    #[test]
    fn what_is_part_of_a_place_cannot_be_moved_and_repositories_not_at_all() {
        let check = |path: &str, fixed: Option<usize>| {
            let names: Vec<String> = path.split('/').map(str::to_owned).collect();
            assert_eq!(fixed_above(&names), fixed, "{path}");
        };
        check("a/b/.npmrc", Some(0));
        check("a/.cargo/config.toml", Some(1));
        check("a/b/.git", Some(usize::MAX));
        check("a/.config/git", Some(1));
        check("a/aside.toml", Some(0));
        check("a/config.toml", None);
        check("a/.cargo/registry", None);
        check(".npmrc/x", None);
    }

    #[test]
    fn no_place_has_more_names_than_are_remembered() {
        let places = CODE.iter().flat_map(|(_, places)| *places).chain(OWN);
        let longest = places.map(|place| place.split('/').count()).max();
        assert_eq!(longest, Some(LONGEST));
    }
}
