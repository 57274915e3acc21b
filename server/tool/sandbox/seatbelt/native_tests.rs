//! Profiles as macOS itself reads them.

use std::{fs, process::Command};

use super::*;
use crate::sandbox::{
    layout::ReadOnlyPlace,
    mounts::{MeantMounts, Trial},
};

#[test]
fn macos_reads_a_profile_as_it_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    let root = path.join("Jörg \"w\" \\(1)");
    for inner in [
        "häkchen/inner",
        "sub",
        "node_modules",
        "../private",
        "../hidden",
    ] {
        fs::create_dir_all(root.join(inner)).unwrap();
    }
    for file in ["häkchen/a", "../hidden/a", "../outside"] {
        fs::write(root.join(file), "as it was").unwrap();
    }
    let layout = Layout {
        writable: vec![root.clone()],
        protected: [(root.join("häkchen"), ReadOnlyPlace::FIXED)].into(),
        hidden: [path.join("hidden")].into(),
        ..Layout::default()
    };
    let further = opened(&path.join("private"), Some(9)).unwrap();
    let text = format!("{}{further}", profile(&layout).unwrap());
    let networked = Layout {
        network: true,
        ..layout
    };
    let check = |text: &str, script: &str, works: bool| {
        let ran = Command::new("/usr/bin/sandbox-exec")
            .args(["-p", text, "/bin/sh", "-c", script])
            .current_dir(&root)
            .output()
            .unwrap();
        assert_eq!(ran.status.success(), works, "{script}: {ran:?}");
    };
    check(&profile(&networked).unwrap(), "echo x >made", true);
    for (script, works) in [
        ("echo x >a && mkdir b && mv a b/a && rm -r b", true),
        ("echo x >a && cp a c && cp -c a d && rm a c d", true),
        ("echo x >../private/a && echo x >/dev/null && id -un", true),
        ("mkdir -p node_modules/a/.git", true),
        ("cat ../outside", true),
        ("echo x >../outside", false),
        ("cat ../hidden/a", false),
        ("ls ../hidden", false),
        ("echo x >häkchen/a", false),
        ("mv häkchen other", false),
        ("mkdir .git", false),
        ("mkdir sub/.Git", false),
        ("ln ../outside hard", false),
        ("echo x >a; ln a hard", false),
        ("cp -c ../hidden/a clone", false),
        ("mkdir 'a\nb' 'a\nb/.git'", false),
        ("echo x >s; chmod u+s s", false),
        ("kill -0 $PPID", false),
    ] {
        check(&text, script, works);
    }
}

#[test]
fn trials_come_through_whole_or_not_at_all_and_tell_what_is_open() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    fs::write(path.join("a"), "").unwrap();
    let open = [
        (Trial::Read, path.join("a")),
        (Trial::Write, path.join("a")),
        (Trial::Write, path.to_owned()),
        (Trial::Remove, path.to_owned()),
        (Trial::Make, path.join("b")),
        (Trial::Clone, path.to_owned()),
    ];
    for (trial, path) in open {
        let meant = MeantMounts::default().and(trial, &path);
        assert_eq!(meant.differs(), Some(path));
    }
    let meant = MeantMounts::default()
        .and(Trial::Open, path)
        .and(Trial::Read, path.join("none"));
    assert_eq!(meant.differs(), None);
    let bytes = meant.bytes();
    assert_eq!(MeantMounts::read(&bytes), Some(meant));
    for cut in 0..bytes.len() {
        assert_eq!(MeantMounts::read(&bytes[..cut]), None, "{cut}");
    }
}
