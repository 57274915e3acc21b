//! Special names: files that tools never write, files whose change needs permission, and files whose reading does.

use std::{
    borrow::Cow,
    ffi::OsStr,
    path::{Component, Path, PathBuf},
};

use aside_base::visible::is_hidden;

use super::protected::{OWN, program};

const SECRET_NAMES: &[&str] = &[
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    ".netrc",
    "_netrc",
    ".pgpass",
    ".htpasswd",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".yarnrc.yml",
    ".dockercfg",
    ".my.cnf",
    ".boto",
    ".s3cfg",
    ".vault-token",
    ".terraformrc",
    "credentials.tfrc.json",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    "shadow",
    "shadow-",
    "gshadow",
    "gshadow-",
    "master.passwd",
    "krb5.keytab",
];

/// Folders whose files usually hold secrets. The names follow one another anywhere in a path.
const SECRET_FOLDERS: &[&[&str]] = &[
    &[".ssh"],
    &[".gnupg"],
    &[".aws"],
    &[".azure"],
    &[".kube"],
    &[".docker"],
    &[".password-store"],
    &[".config", "gcloud"],
    &[".config", "gh"],
    &[".config", "hub"],
    &[".local", "share", "keyrings"],
    &["etc", "ssl", "private"],
    &["etc", "sudoers.d"],
];

/// Further places of a home that hold secrets of assistants, package managers, clouds, browsers, wallets and mail
/// programs. They are hidden from commands; in a workspace they are ordinary files. Settings that a build reads, such
/// as Maven's, are not listed although they may hold a password, because the build would fail without them.
const HOME_SECRETS: &[&str] = &[
    ".bitcoin",
    ".cache/huggingface/token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".claude.json",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".composer/auth.json",
    ".config/.wrangler",
    ".config/age",
    ".config/Bitwarden CLI",
    ".config/BraveSoftware",
    ".config/chromium",
    ".config/Code - Insiders/User/globalStorage/state.vscdb",
    ".config/Code - Insiders/User/globalStorage/state.vscdb.backup",
    ".config/Code/User/globalStorage/state.vscdb",
    ".config/Code/User/globalStorage/state.vscdb.backup",
    ".config/composer/auth.json",
    ".config/containers/auth.json",
    ".config/Cursor/User/globalStorage/state.vscdb",
    ".config/Cursor/User/globalStorage/state.vscdb.backup",
    ".config/doctl",
    ".config/git/credentials",
    ".config/github-copilot",
    ".config/glab-cli",
    ".config/google-chrome",
    ".config/goose/secrets.yaml",
    ".config/helm/registry/config.json",
    ".config/heroku",
    ".config/microsoft-edge",
    ".config/netlify",
    ".config/op",
    ".config/pip/pip.conf",
    ".config/pypoetry/auth.toml",
    ".config/rclone",
    ".config/Signal",
    ".config/solana",
    ".config/sops",
    ".config/stripe",
    ".config/vercel",
    ".config/VSCodium/User/globalStorage/state.vscdb",
    ".config/VSCodium/User/globalStorage/state.vscdb.backup",
    ".config/Windsurf/User/globalStorage/state.vscdb",
    ".config/Windsurf/User/globalStorage/state.vscdb.backup",
    ".config/wrangler",
    ".databrickscfg",
    ".electrum",
    ".ethereum",
    ".fly",
    ".gem/credentials",
    ".gemini/oauth_creds.json",
    ".histfile",
    ".huggingface",
    ".ivy2/.credentials",
    ".kaggle",
    ".local/share/com.vercel.cli",
    ".local/share/fish/fish_history",
    ".local/share/gem/credentials",
    ".local/share/kwalletd",
    ".local/share/opencode/auth.json",
    ".local/share/pki",
    ".local/share/python_keyring",
    ".m2/settings-security.xml",
    ".mozilla",
    ".mysql_history",
    ".node_repl_history",
    ".oci",
    ".ollama/id_ed25519",
    ".pip/pip.conf",
    ".pki",
    ".pulumi/credentials.json",
    ".qwen/oauth_creds.json",
    ".railway/config.json",
    ".rclone.conf",
    ".rediscli_history",
    ".sbt/.credentials",
    ".snowflake",
    ".sqlite_history",
    ".supabase/access-token",
    ".terraform.d",
    ".thunderbird",
    ".viminfo",
    ".vscode-server/data/User/globalStorage/state.vscdb",
    ".vscode-server/data/User/globalStorage/state.vscdb.backup",
    ".wrangler",
    ".Xauthority",
    ".zhistory",
    ".zsh_sessions",
    "snap/chromium",
    "snap/firefox",
];

const SECRET_ENDINGS: &[&str] = &[
    ".pem",
    ".key",
    ".p12",
    ".pfx",
    ".p8",
    ".ppk",
    ".jks",
    ".keystore",
    ".kdbx",
    ".age",
];

/// Whether nothing may be written at this path.
pub(super) fn is_own(path: &Path) -> bool {
    names(path).any(|name| OWN.contains(&name.as_str()))
}

/// The program that executes this path, if one is known.
pub(super) fn taken_by(path: &Path) -> Option<&'static str> {
    program(&names(path).collect::<Vec<String>>())
}

/// Usual places of a user's secrets: folders and files below the home, and of the system.
pub(super) fn secret_places(home: &Path) -> Vec<PathBuf> {
    let folders = SECRET_FOLDERS.iter().map(|place| {
        let above = match place.first() {
            Some(&"etc") => Path::new("/"),
            _ => home,
        };
        above.join(place.iter().collect::<PathBuf>())
    });
    let files = SECRET_NAMES.iter();
    let files = files.flat_map(|name| [home.join(name), Path::new("/etc").join(name)]);
    let others = HOME_SECRETS.iter().map(|name| home.join(name));
    folders.chain(files).chain(others).collect()
}

/// Whether the names of `place` follow one another in `names`.
fn is_part(names: &[String], place: &[&str]) -> bool {
    let mut windows = names.windows(place.len());
    windows.any(|window| {
        let mut pairs = window.iter().zip(place);
        pairs.all(|(name, part)| name == part)
    })
}

/// Folds a name as a case-insensitive file system would.
pub(super) fn folded(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let visible = match name.contains(is_hidden) {
        true => Cow::Owned(name.replace(is_hidden, "")),
        false => name,
    };
    let name = visible.split(':').next().unwrap_or_default();
    name.trim_end_matches(['.', ' ']).to_lowercase()
}

/// Whether reading this path needs permission.
pub(super) fn is_secret(path: &Path) -> bool {
    let names: Vec<String> = names(path).collect();
    let Some(name) = names.last() else {
        return false;
    };
    let lies_in = |folder: &&[&str]| is_part(&names[..names.len() - 1], folder);
    // Public keys and known hosts in `.ssh` are not secret.
    let public = name.ends_with(".pub") || name == "known_hosts";
    name.starts_with(".env")
        || (!public && SECRET_FOLDERS.iter().any(lies_in))
        || SECRET_NAMES.contains(&name.as_str())
        || SECRET_ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// The names of a path as a forgiving file system would compare them: lower case, without invisible
/// characters, without dots and spaces at the end, without a stream's name.
fn names(path: &Path) -> impl Iterator<Item = String> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(folded(name)),
        _ => None,
    })
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

    #[test]
    fn what_holds_secrets_is_asked_for() {
        let check =
            |path: &str, secret: bool| assert_eq!(is_secret(Path::new(path)), secret, "{path}");
        check(".env", true);
        check("a/.env.local", true);
        check("a/.ENV", true);
        check(".ssh/id_rsa", true);
        check(".ssh/id_rsa.pub", false);
        check("tls/server.PEM", true);
        check("server.key", true);
        check("src/key.rs", false);
        check(".env/src/a.rs", false);
        check("environment.rs", false);
        check("etc/shadow", true);
        check("etc/ssl/private/server.crt", true);
        check(".aws/credentials", true);
        check(".ssh/config", true);
        check(".ssh/known_hosts", false);
        check("src/shadow.rs", false);
        check("docs/.config/gh", false);
    }
}
