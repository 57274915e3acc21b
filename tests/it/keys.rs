//! Keys that a program prints: real programs, under the real supervisor.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use aside::engine::models::key::{EnteredKeys, Env, KeySource, Keys};
use aside_provider::key::Key;
use aside_tool::process::{
    CommandEnd,
    quiet::{Quiet, read_quietly},
};
use tempfile::TempDir;

use crate::world::{StillTime, until};

const ASIDE: &str = env!("CARGO_BIN_EXE_aside");

/// A home with a program that keeps keys.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("keeper");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    fn keys(&self) -> Keys {
        let home = self.folder.path().display().to_string();
        let env: Env = Arc::new(move |name| match name {
            "HOME" => Some(home.clone()),
            "GNUPGHOME" => Some("/gnupg".to_owned()),
            "OPENAI_API_KEY" => Some("never".to_owned()),
            _ => None,
        });
        Keys::new(env, EnteredKeys::default(), PathBuf::from(ASIDE))
    }

    fn source(&self, args: &[&str]) -> KeySource {
        let program = self.folder.path().join("keeper").display().to_string();
        let args = args.iter().map(|arg| (*arg).to_owned());
        KeySource::Command {
            command: [program].into_iter().chain(args).collect(),
            provider: "mine".into(),
        }
    }

    async fn key(&self, args: &[&str]) -> Result<Option<Key>, String> {
        self.keys().find(self.source(args))().await
    }
}

#[tokio::test]
async fn a_program_is_asked_once_in_the_home_with_little_of_the_environment() {
    let home = Home::new("echo run >> runs; echo noise >&2; pwd; cat; env > env; echo \"$1-key\"");
    let keys = home.keys();
    let find = keys.find(home.source(&["my"]));
    let folder = home.folder.path().canonicalize().unwrap();
    let expected = format!("{}\nmy-key", folder.display());
    for _ in 0..2 {
        assert_eq!(find().await, Ok(Some(Key::new(&expected))));
    }
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    assert_eq!(read("runs"), "run\n");
    let env = read("env");
    assert!(env.contains("GNUPGHOME=/gnupg\n"), "{env}");
    assert!(!env.contains("API_KEY"), "{env}");
}

#[tokio::test]
async fn a_program_without_a_key_is_named_by_its_setting_and_what_it_printed_is_not() {
    for (script, why) in [
        ("echo secret; exit 3", "ended with exit status 3"),
        ("echo; echo secret >&2", "printed no key"),
        (
            "printf 'secret\\377'",
            "printed output that is not valid UTF-8",
        ),
        ("echo secret; kill -9 $$", "was killed"),
    ] {
        let said = Home::new(script).key(&[]).await;
        let expected = format!("providers.mine.api_key_command {why}; run it yourself to see why");
        assert_eq!(said, Err(expected), "{script}");
    }
    let missing = KeySource::Command {
        command: vec!["/nowhere/keeper".into()],
        provider: "mine".into(),
    };
    let said = Home::new("").keys().find(missing)().await;
    let said = said.unwrap_err();
    assert!(
        said.starts_with("providers.mine.api_key_command could not be started: "),
        "{said}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_program_that_prints_or_runs_on_is_held_to_its_bounds() {
    let time = StillTime::begin();
    let quiet = |script: &str, time| Quiet {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: "/".into(),
        env: Vec::new(),
        time,
        most: 8192,
        walls: None,
    };
    let flood = quiet("head -c 1000000 /dev/zero", Duration::from_secs(30));
    let (how, output) = read_quietly(flood, Path::new(ASIDE)).await.unwrap();
    assert_eq!((how, output.len()), (CommandEnd::Exit(0), 8192));

    let folder = tempfile::tempdir().unwrap();
    let begun = folder.path().join("begun");
    let script = format!("echo begun; >{}; exec sleep 1000", begun.display());
    let limit = Duration::from_secs(30);
    let passes = async {
        until("a program that runs", || begun.exists());
        time.passes(limit).await;
        Instant::now()
    };
    let endless = quiet(&script, limit);
    let (ended, over) = tokio::join!(read_quietly(endless, Path::new(ASIDE)), passes);
    let (how, output) = ended.unwrap();
    assert_eq!(
        (how, output.as_slice()),
        (CommandEnd::TimedOut, &b"begun\n"[..])
    );
    assert!(over.elapsed() < Duration::from_secs(5));
}
