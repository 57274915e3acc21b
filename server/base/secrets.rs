//! Files that may hold secrets: by their names anywhere, and by their usual places in a home.
//!
//! A reader of files of a workspace for a model asks [`is_secret`] of the real path of what was opened.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    ffi::{OsStr, OsString},
    fs,
    path::{Component, Path, PathBuf},
    sync::{LazyLock, OnceLock},
};

use crate::{
    environment,
    homes::homes,
    name_table::{NameTable, fits},
    system::folders::canonical,
    visible::is_hidden,
};

/// Places that hold secrets, in sections by the folder that they lie in.
const PLACES: &str = include_str!("secrets/places.txt");

/// Files that usually hold secrets: their last names in lower case, in which a `*` stands for anything.
#[rustfmt::skip]
const SECRET_FILES: &[&str] = &[
    // Variables, and values that are kept out of a repository
    ".env*", "*.env", "*.env.dev", "*.env.development", "*.env.local", "*.env.prod", "*.env.production", "*.env.staging",
    ".flaskenv", ".dev.vars*", ".secret", ".secrets", "secret.y*ml", "*secrets.y*ml", "*secrets.json", "*secrets.toml",
    "*secrets.ini", "*secrets.properties", "wp-config.php",
    // Keys and certificates with keys
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.pem", "*.key", "*.p12", "*.pfx", "*.p8", "*.ppk", "*.pvk",
    "*.pkcs12", "*.jks", "*.keystore", "*.bcfks", "*.keytab", "*.age", "*.ovpn", "wg*.conf", "*.publishsettings",
    // Stores of passwords
    "*.kdb", "*.kdbx", "*.psafe3", "*.1pif", "*.agilekeychain", "*.opvault", "passwords.csv", "passwords.txt",
    ".vault_pass*", ".vault-pass*", "vault_pass*", "vault-pass*", ".vault-token",
    // What programs log in with
    ".netrc", "_netrc", ".pgpass", "pgpass.conf", "my.cnf", ".my.cnf", ".mylogin.cnf", ".htpasswd", "htpasswd", "auth.json",
    ".git-credentials", ".git/config", ".npmrc", ".yarnrc.yml", ".pypirc", ".dockercfg", ".dockerconfigjson",
    "kubeconfig", "*.kubeconfig", "kubeconfig*.y*ml", "k3s.yaml", ".boto", ".s3cfg", "rclone.conf", ".rclone.conf",
    ".terraformrc", "terraform.rc", "credentials.tfrc.json", "*.tfvars", "*.tfvars.json", "*.tfstate", "*.tfstate.*",
    ".databrickscfg", ".sentryclirc", "credentials", "credentials.csv", "credentials.ini", "*credentials.json",
    "credentials.toml", "credentials.xml", "credentials.y*ml", "*service-account*.json", "*service_account*.json",
    "*serviceaccount*.json", "*client_secret*.json", "*client-secret*.json", "*firebase-adminsdk*.json", "oauth_creds.json",
    "token.json", "token.pickle",
    // What was typed
    ".*_history",
    // The system's
    "shadow", "shadow-", "gshadow", "gshadow-", "master.passwd",
];

/// Ends of names that tell that a file shows what another one looks like, and of public keys.
const HARMLESS: &[&str] = &[".example", ".sample", ".template", ".dist", ".pub"];

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

/// Whether reading this path needs permission.
#[must_use]
pub fn is_secret(path: &Path) -> bool {
    let names: Vec<String> = names(path).collect();
    let Some(name) = names.last() else {
        return false;
    };
    let above = &names[..names.len() - 1];
    let lies_in = |folder: &&[&str]| above.windows(folder.len()).any(|names| names == *folder);
    // Public keys and known hosts in `.ssh` are not secret.
    let public = name.ends_with(".pub") || name == "known_hosts";
    let harmless = HARMLESS.iter().any(|end| name.ends_with(end));
    (!harmless && is_secret_file(&names))
        || (!public && (SECRET_FOLDERS.iter().any(lies_in) || lies_in_place(path)))
}

/// Whether the last of these names are those of a file that usually holds secrets.
fn is_secret_file(names: &[String]) -> bool {
    /// By their last names, the names of the folders that they lie in.
    static FILES: LazyLock<NameTable<Vec<&str>>> = LazyLock::new(|| {
        let split = SECRET_FILES.iter().map(|file| {
            let mut names: Vec<&str> = file.split('/').collect();
            (names.pop().unwrap_or_default(), names)
        });
        split.collect()
    });
    let Some((name, above)) = names.split_last() else {
        return false;
    };
    // A key of any name has none for its kind, as `id_map.rs` has.
    let is_key = name.starts_with("id_") && !name.contains('.');
    let lies_in = |folders: &Vec<&str>| {
        let start = above.len().checked_sub(folders.len());
        start.is_some_and(|start| above[start..] == folders[..])
    };
    is_key || FILES.rows(name).any(lies_in)
}

/// Whether a path lies in one of the user's own places of secrets, as they were when this was asked first.
fn lies_in_place(path: &Path) -> bool {
    static PLACES: OnceLock<BTreeSet<PathBuf>> = OnceLock::new();
    let places = PLACES.get_or_init(|| {
        let all = secret_places().into_iter();
        let both = all.flat_map(|place| [canonical(&place).ok(), Some(place)]);
        both.flatten().collect()
    });
    path.is_absolute() && path.ancestors().any(|above| places.contains(above))
}

/// Places of the user's secrets, of those that are there: in the homes, in the folders that variables name, and of the
/// system. None holds a home itself.
#[must_use]
pub fn secret_places() -> Vec<PathBuf> {
    places_of(&homes(), &environment::variable)
}

fn places_of(homes: &[PathBuf], variable: &dyn Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let folder = |name: &str| {
        let value = variable(name).map(PathBuf::from);
        value.filter(|value| value.is_absolute())
    };
    let below = |usual: &str| {
        let homes = homes.iter();
        homes.map(|home| home.join(usual)).collect::<Vec<_>>()
    };
    let both = |name: &str, usual: &str| {
        let mut all = below(usual);
        all.extend(folder(name));
        all
    };
    let mut search = SecretSearch::default();
    let mut bases: Vec<PathBuf> = Vec::new();
    let mut in_variables = false;
    for line in PLACES.lines() {
        match line {
            "" => {}
            "[home]" => bases = below(""),
            "[config]" => bases = both("XDG_CONFIG_HOME", ".config"),
            "[data]" => bases = both("XDG_DATA_HOME", ".local/share"),
            "[cache]" => bases = both("XDG_CACHE_HOME", ".cache"),
            "[state]" => bases = both("XDG_STATE_HOME", ".local/state"),
            "[system]" => bases = vec![PathBuf::from("/")],
            "[variables]" => in_variables = true,
            _ if line.starts_with('#') => {}
            _ if in_variables => {
                let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
                let value = variable(name).unwrap_or_default();
                // A list, and the kind of a place may stand before it: `FILE:/tmp/cache`.
                let named = value
                    .split(':')
                    .map(Path::new)
                    .filter(|path| path.is_absolute());
                named.for_each(|path| search.expand(path, rest));
            }
            _ => bases.iter().for_each(|base| search.expand(base, line)),
        }
    }
    let mut found = search.found;
    found.retain(|place| {
        place.parent().is_some() && !homes.iter().any(|home| home.starts_with(place))
    });
    found
}

/// A search for the places of a table. Many of its lines look into the same folder, which is listed once.
#[derive(Default)]
struct SecretSearch {
    listed: HashMap<PathBuf, Vec<OsString>>,
    found: Vec<PathBuf>,
}

impl SecretSearch {
    /// Adds what a line of the table stands for below a folder, if it is there.
    fn expand(&mut self, base: &Path, line: &str) {
        let (name, rest) = line.split_once('/').unwrap_or((line, ""));
        let is_last = rest.is_empty();
        if !name.contains('*') {
            let path = match name.is_empty() {
                true => base.to_owned(),
                false => base.join(name),
            };
            match is_last {
                true if fs::symlink_metadata(&path).is_ok() => self.found.push(path),
                true => {}
                false => self.expand(&path, rest),
            }
            return;
        }
        for entry in self.fitting(base, name) {
            match is_last {
                true => self.found.push(entry),
                false => self.expand(&entry, rest),
            }
        }
    }

    /// The entries of a folder whose names fit.
    fn fitting(&mut self, folder: &Path, name: &str) -> Vec<PathBuf> {
        let listed = self.listed.entry(folder.to_owned());
        let listed = listed.or_insert_with(|| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name()).collect()
        });
        let fitting = listed
            .iter()
            .filter(|entry| fits(&entry.to_string_lossy(), name));
        fitting.map(|entry| folder.join(entry)).collect()
    }
}

/// The names of a path as a forgiving file system would compare them: lower case, without invisible
/// characters, without dots and spaces at the end, without a stream's name.
pub fn names(path: &Path) -> impl Iterator<Item = String> {
    path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(folded(name)),
        _ => None,
    })
}

/// Folds a name as a case-insensitive file system would, which takes `ſ` for `s` and `ﬁ` for `fi`.
#[must_use]
pub fn folded(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    let visible = match name.contains(is_hidden) {
        true => Cow::Owned(name.replace(is_hidden, "")),
        false => name,
    };
    let name = visible.split(':').next().unwrap_or_default();
    fold_case(name.trim_end_matches(['.', ' ']))
}

/// Folds the letters of a text as Unicode's full case folding does, as far as it makes plain letters of others.
#[must_use]
pub fn fold_case(text: &str) -> String {
    match text.is_ascii() {
        true => text.to_ascii_lowercase(),
        // Lower first, as some capitals have no other upper case than themselves.
        false => text.to_lowercase().to_uppercase().to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_folds_to_plain_letters_is_what_unicode_says() {
        let plain = |letter: char| {
            let folded = fold_case(&letter.to_string());
            (folded.is_ascii() && !letter.is_ascii()).then_some((letter, folded))
        };
        let found: Vec<(char, String)> = ('\0'..=char::MAX).filter_map(plain).collect();
        // The lines of status C and F in CaseFolding.txt whose mapping is ASCII, and `ı`, whose capital is.
        let known = [
            ('ß', "ss"),
            ('ı', "i"),
            ('ſ', "s"),
            ('ẞ', "ss"),
            ('\u{212a}', "k"),
            ('ﬀ', "ff"),
            ('ﬁ', "fi"),
            ('ﬂ', "fl"),
            ('ﬃ', "ffi"),
            ('ﬄ', "ffl"),
            ('ﬅ', "st"),
            ('ﬆ', "st"),
        ];
        let known = known.map(|(letter, folded)| (letter, folded.to_owned()));
        assert_eq!(found, known);
        assert_eq!(folded(OsStr::new(".ßh")), ".ssh");
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

    #[test]
    fn files_that_usually_hold_secrets_are_known_by_name() {
        for name in [
            "prod.env",
            "a/app.env.local",
            ".dev.vars",
            "terraform.tfvars",
            "prod.auto.tfvars.json",
            "terraform.tfstate",
            "terraform.tfstate.backup",
            "kubeconfig",
            "stage.kubeconfig",
            "credentials.json",
            "gcp-credentials.json",
            "credentials",
            "service-account.json",
            "my-service_account-2.json",
            "app-firebase-adminsdk-x1.json",
            "client_secret_7.json",
            ".git/config",
            "sub/.GIT/config",
            ".npmrc",
            ".pypirc",
            ".netrc",
            "a.kdbx",
            "a.p12",
            "a.jks",
            "id_work",
            "id_ed25519_github",
            "id_rsa.old",
            "secrets.yml",
            "app-secrets.yaml",
            ".htpasswd",
            ".pgpass",
            "my.cnf",
            ".node_repl_history",
            "auth.json",
            "vpn.ovpn",
        ] {
            assert!(is_secret(Path::new(name)), "{name}");
        }
        for name in [
            "prod.env.example",
            ".env.example",
            "a/.env.sample",
            "terraform.tfvars.example",
            "config.env.template",
            "config/prod.env.js",
            "environment.ts",
            "id_map.rs",
            "id_work.pub",
            "id_ed25519.pub",
            "credentials.rs",
            "credentials_test.go",
            "secrets.rs",
            "kubeconfig.go",
            "service-account.ts",
            "git/config",
            ".git/HEAD",
            "config",
            "tokens.json",
            "main.tf",
            "history",
        ] {
            assert!(!is_secret(Path::new(name)), "{name}");
        }
    }

    /// Makes these files, and checks which of them lie in a place of secrets.
    fn check(variables: &[(&str, &str)], files: &[&str], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for file in files {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), "").unwrap();
        }
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.replace("ROOT", root.to_str().unwrap()))
        };
        let homes = ["home", "other"].map(|home| root.join(home));
        let places = places_of(&homes, &variable);
        let is_hidden = |file: &&&str| {
            let file = root.join(file);
            places.iter().any(|place| file.starts_with(place))
        };
        let hidden: Vec<&str> = files.iter().filter(is_hidden).copied().collect();
        assert_eq!(hidden, expected);
    }

    #[test]
    fn places_of_a_home_are_known_by_their_families() {
        let secret = [
            "home/.config/google-chrome-beta/Default/Cookies",
            "home/.config/vivaldi-snapshot/x",
            "home/.config/opera/x",
            "home/.var/app/org.mozilla.firefox/x",
            "home/.config/1Password/x",
            "home/.config/Bitwarden/x",
            "home/.config/evolution/x",
            "home/.local/share/evolution/x",
            "home/.config/configstore/firebase-tools.json",
            "home/.cloudflared/cert.pem",
            "home/.local/share/crush/crush.json",
            "home/.config/io.datasette.llm/keys.json",
            "home/.copilot/config.json",
            "home/.sqlite_history",
            "home/.config/Code - Insiders/User/globalStorage/state.vscdb",
            "home/.config/gh/hosts.yml",
            "home/.snapshots/1/snapshot/.ssh/id_rsa",
            "home/.cf/config.json",
            "home/.config/openstack/clouds.yaml",
            "other/.config/gh/hosts.yml",
            "home/.subversion/auth/svn.simple/x",
            "home/.dbt/profiles.yml",
            "home/.twilio-cli/config.json",
            "home/.config/twilio-cli/config.json",
            "home/.acme.sh/account.conf",
            "home/.android/adbkey",
            "home/.authinfo.gpg",
            "home/.awsvault/keys/x",
            "home/.boundary/x",
            "home/.cosign/cosign.key",
            "home/.dockercfg",
            "home/.fly/config.yml",
            "home/.granted/x",
            "home/.lego/accounts/x",
            "home/.linode-cli",
            "home/.lpass/key",
            "home/.ngrok2/ngrok.yml",
            "home/.oci/config",
            "home/.okta/x",
            "home/.op/config",
            "home/.password-store-work/x.gpg",
            "home/.postgresql/client.key",
            "home/.putty/sshhostkeys",
            "home/.saml2aws",
            "home/.sigstore/x",
            "home/.step/secrets/x",
            "home/.tsh/keys/x",
            "home/.vault-token",
            "home/.config/glab-cli/config.yml",
            "home/.config/gopass/config",
            "home/.config/hcloud/cli.toml",
            "home/.config/helm/registry/config.json",
            "home/.config/infracost/credentials.yml",
            "home/.config/isyncrc",
            "home/.config/keepassxc/x",
            "home/.config/borg/keys/x",
        ];
        check(&[], &secret, &secret);
        let plain = [
            "home/.gitconfig",
            "home/.m2/settings.xml",
            "home/.cargo/config.toml",
            "home/.config/Code/User/settings.json",
            "home/.config/git/config",
            "home/project/a.rs",
        ];
        check(&[], &plain, &[]);
    }

    #[cfg(unix)]
    #[test]
    fn places_follow_the_variables_that_programs_follow() {
        let variables = [
            ("XDG_CONFIG_HOME", "ROOT/xdg"),
            ("KUBECONFIG", "ROOT/k/one:ROOT/k/two"),
            ("CARGO_HOME", "ROOT/cargo"),
            ("KRB5CCNAME", "FILE:ROOT/tickets"),
            ("PGPASSFILE", "ROOT/pass"),
            ("GNUPGHOME", "relative"),
            ("DOCKER_CONFIG", "ROOT/home"),
            ("CURL_HOME", "ROOT/curl"),
            ("OS_CLIENT_CONFIG_FILE", "ROOT/clouds.yaml"),
            ("RESTIC_PASSWORD_FILE", "ROOT/restic"),
        ];
        let secret = [
            "xdg/gh/hosts.yml",
            "home/.config/gh/hosts.yml",
            "k/one",
            "k/two",
            "cargo/credentials.toml",
            "tickets",
            "pass",
            "curl/.curlrc",
            "clouds.yaml",
            "restic",
        ];
        let plain = ["cargo/config.toml", "home/a", "relative"];
        let files: Vec<&str> = secret.iter().chain(&plain).copied().collect();
        check(&variables, &files, &secret);
    }
}
