//! Special names: files that tools never write, and files whose change needs permission.

use std::path::Path;

use aside_base::secrets::names;

use super::protected::{OWN, program};

/// Whether nothing may be written at this path.
pub(super) fn is_own(path: &Path) -> bool {
    names(path).any(|name| OWN.contains(&name.as_str()))
}

/// The program that executes this path, if one is known.
pub(super) fn taken_by(path: &Path) -> Option<&'static str> {
    program(&names(path).collect::<Vec<String>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_that_other_programs_take_code_from_are_known() {
        let check = |path: &str, program: Option<&str>| {
            assert_eq!(taken_by(Path::new(path)), program, "{path}");
        };
        check(".git/hooks/pre-commit", Some("Git"));
        check(".git", Some("Git"));
        check("sub/.GIT/config", Some("Git"));
        check(".g\u{200c}it/config", Some("Git"));
        check(".git./config", Some("Git"));
        check("git~1/config", Some("Git"));
        check(".husky/pre-push", Some("Git"));
        check("a/.cargo/config.toml", Some("Cargo"));
        check(".cargo/config", Some("Cargo"));
        check(".cargo/registry/x", None);
        check(".mcp.json", Some("an assistant"));
        check(".claude/settings.json", Some("Claude"));
        check(".cursor/mcp.json", Some("Cursor"));
        check(".vscode/tasks.json", Some("VS Code"));
        check("x.code-workspace", Some("VS Code"));
        check(".idea/workspace.xml", Some("an editor of JetBrains"));
        check(".run/App.run.xml", Some("an editor of JetBrains"));
        check(".kiro/hooks/a.kiro.hook", Some("Kiro"));
        check(".opencode/plugin/a.ts", Some("opencode"));
        check("opencode.jsonc", Some("opencode"));
        check("sub/.bazelrc", Some("Bazel"));
        for place in [
            ".bsp/sbt.json",
            "hie.yaml",
            ".luarc.json",
            ".clangd",
            "buildServer.json",
            "rust-analyzer.toml",
        ] {
            check(place, Some("a language server"));
        }
        check(".mvn/wrapper/maven-wrapper.properties", Some("Maven"));
        check(".mvn/wrapper/MavenWrapperDownloader.java", None);
        check("gradle/wrapper/gradle-wrapper.jar", Some("Gradle"));
        check("gradle/libs.versions.toml", None);
        check("rust-toolchain.toml", Some("rustup"));
        check(".tool-versions", Some("a version manager"));
        check("mise.toml", Some("mise"));
        check(".lazy.lua", Some("Neovim"));
        check(".emacs.desktop", Some("Emacs"));
        check(".project", Some("Eclipse"));
        check("flake.nix", Some("Nix"));
        check("flake.lock", None);
        check("commitlint.config.js", Some("Git"));
        check("compile_commands.json", None);
        check("gradlew", None);
        check("node_modules/.bin/x", None);
        check(".nvimrc", Some("Neovim"));
        check(".nvim.lua", Some("Neovim"));
        check(".exrc", Some("Vim"));
        check(".envrc", Some("direnv"));
        check("dotfiles/.bashrc", Some("a shell"));
        check(".bash_profile", Some("a shell"));
        check(".config/fish/config.fish", Some("a shell"));
        check("config/fish", None);
        check(".gitignore", None);
        check(".github/workflows/ci.yml", None);
        check("src/git.rs", None);
        check("cargo/config.toml", None);
    }

    #[test]
    fn aside_s_own_settings_are_known() {
        let check = |path: &str, own: bool| assert_eq!(is_own(Path::new(path)), own, "{path}");
        check("aside.toml", true);
        check("Aside.toml", true);
        check("sub/aside.toml", true);
        check(".aside/x", true);
        check("aside.toml.md", false);
        check(".git/config", false);
    }
}
