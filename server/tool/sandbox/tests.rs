//! Tests of what is decided about walls.

use std::{fs, os::unix::net::UnixListener, path::Path};

use super::{
    mountinfo::mounts,
    place_search::ListedFolders,
    places::{KnownPlaces, OpenGap, Places},
    *,
};

fn missing(why: &str) -> Missing {
    Missing {
        why: why.into(),
        mend: "mend it".into(),
    }
}

fn means() -> Means {
    Means {
        builder: "/usr/bin/bwrap".into(),
        shell: "/bin/sh".into(),
        holder: "/usr/bin/aside".into(),
    }
}

#[test]
fn how_a_command_is_held() {
    let means = means();
    let none = missing("bubblewrap is not installed");
    let outside = |why: &str| Confinement::Outside(why.into());
    let off = "there is no sandbox here, so commands ask";
    let fails =
        "it would run outside the sandbox, which does not work here: bubblewrap is not installed";
    let check = |unsandboxed, off, works: bool, expected: Confinement| {
        let rules = SandboxRules {
            unsandboxed,
            off,
            ..SandboxRules::default()
        };
        let means = if works { Ok(&means) } else { Err(&none) };
        assert_eq!(
            rules.confine(means),
            expected,
            "{unsandboxed} {off} {works}"
        );
        let needed = !matches!(expected, Confinement::Free) && !off;
        assert_eq!(rules.wants_one(), needed);
    };
    check(false, false, true, Confinement::Inside(means.clone()));
    check(false, false, false, outside(fails));
    check(false, true, true, outside(off));
    check(false, true, false, outside(off));
    check(true, false, true, Confinement::Free);
    check(true, false, false, Confinement::Free);
    check(true, true, true, Confinement::Free);
    check(true, true, false, Confinement::Free);
}

#[test]
fn what_the_rules_change() {
    let inside = Confinement::Inside(means());
    let outside = Confinement::Outside("why".into());
    let free = Confinement::Free;
    let by_rule = "your rule `x` lets it run outside the sandbox";
    let allowed = Verdict::Allow;
    let (ask, out) = (Verdict::Ask("x".into()), Verdict::Unsandboxed("x".into()));
    let check = |held: &Confinement,
                 verdict: &Verdict,
                 to: &Confinement,
                 approved,
                 must_ask: Option<&str>| {
        let decided = CommandDecision::new(held.clone(), verdict);
        let expected = CommandDecision {
            held: to.clone(),
            approved,
            must_ask: must_ask.map(str::to_owned),
        };
        assert_eq!(decided, Some(expected), "{held:?} {verdict:?}");
        assert_eq!(
            CommandDecision::new(held.clone(), &Verdict::Deny("x".into())),
            None
        );
    };
    check(&inside, &Verdict::Silent, &inside, false, None);
    check(&inside, &allowed, &inside, true, None);
    check(&inside, &ask, &inside, false, Some("your rule `x` asks"));
    check(
        &inside,
        &out,
        &Confinement::Outside(by_rule.into()),
        true,
        Some(by_rule),
    );
    check(&outside, &Verdict::Silent, &outside, false, Some("why"));
    check(&outside, &allowed, &outside, false, Some("why"));
    check(&outside, &ask, &outside, false, Some("why"));
    check(&outside, &out, &outside, true, Some("why"));
    check(&free, &Verdict::Silent, &free, false, None);
    check(&free, &allowed, &free, true, None);
    check(&free, &ask, &free, false, Some("your rule `x` asks"));
    check(&free, &out, &free, true, None);
}

#[test]
fn how_bubblewrap_is_installed() {
    let check = |text: &str, expected: &str| assert!(install(text).contains(expected), "{text}");
    check("NAME=\"Debian\"\nID=debian\n", "apt-get install bubblewrap");
    check("ID=linuxmint\nID_LIKE=\"ubuntu debian\"", "apt-get");
    check(
        "ID=\"rocky\"\nID_LIKE=\"rhel centos fedora\"",
        "dnf install",
    );
    check("ID=opensuse-leap\nID_LIKE=\"suse opensuse\"", "zypper");
    check("ID=arch", "pacman");
    check("ID=alpine", "apk add");
    check("ID=nixos", "the package bubblewrap");
    check("", "the package bubblewrap");
}

#[test]
fn what_hinders_bubblewrap_is_named() {
    let check = |said: &str, files: &[(&str, &str)], expected: &str| {
        let setting = |file: &str| {
            let found = files.iter().find(|(name, _)| *name == file);
            found.map(|(_, text)| (*text).to_owned())
        };
        let advice = mend(said, setting);
        assert!(advice.contains(expected), "{advice}");
    };
    let denied = "bwrap: setting up uid map: Permission denied";
    let armor = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    check(denied, &[(armor, "1\n")], "AppArmor profile");
    check(denied, &[(armor, "0\n")], "to see what hinders it");
    check(
        "bwrap: No space left",
        &[("/proc/sys/user/max_user_namespaces", "0\n")],
        "user.max_user_namespaces",
    );
    check(
        denied,
        &[("/proc/sys/kernel/unprivileged_userns_clone", "0")],
        "unprivileged_userns_clone=1",
    );
    check(
        "bwrap: No permissions to create a new namespace",
        &[("/.dockerenv", "")],
        "seccomp=unconfined",
    );
    check(
        "bwrap: Can't mount proc on /newroot/proc",
        &[("/.dockerenv", "")],
        "systempaths=unconfined",
    );
}

#[test]
fn a_workspace_that_cannot_be_confined_has_no_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let rules = SandboxRules {
        own: vec![root.join("state")],
        ..SandboxRules::default()
    };
    let why = |root: &Path| {
        rules
            .find_means(root, Path::new("/usr/bin/aside"))
            .map_err(|missing| missing.why)
    };
    assert_eq!(
        why(Path::new("/")),
        Err("the workspace is the whole file system".into())
    );
    let own = "the workspace is a folder of Aside's own, which it would hide";
    assert_eq!(why(&root.join("state/x")), Err(own.into()));
}

#[test]
fn own_folders_are_there_before_a_command_could_make_them() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let own = root.join("config/aside");
    let rules = SandboxRules {
        own: vec![own.clone(), "/nonesuch/aside".into()],
        ..SandboxRules::default()
    };
    let layout = rules.layout(
        &means(),
        &root,
        &root,
        &Places::default(),
        &mounts().unwrap(),
    );
    assert!(own.is_dir());
    assert!(layout.hidden.contains(&own));
    assert!(!Path::new("/nonesuch").exists());
}

#[test]
fn links_are_protected_where_they_lead() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir(root.join("real")).unwrap();
    std::os::unix::fs::symlink("real", root.join(".vscode")).unwrap();
    std::os::unix::fs::symlink("nowhere", root.join(".idea")).unwrap();
    std::os::unix::fs::symlink("/etc", root.join(".claude")).unwrap();
    std::os::unix::fs::symlink(".", root.join(".husky")).unwrap();
    let rules = SandboxRules::default();
    let layout = rules.layout(
        &means(),
        &root,
        &root,
        &rules.places(&root, &KnownPlaces::new(), &ListedFolders::default()),
        &mounts().unwrap(),
    );
    let protected: Vec<&PathBuf> = layout.protected.keys().collect();
    assert_eq!(protected, [&root.join("real")]);
}

#[test]
fn a_file_in_a_protected_folder_with_a_name_elsewhere_is_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let root = &folder.path().canonicalize().unwrap();
    for name in [
        ".vscode/deep/tasks.json",
        ".git/HEAD",
        ".git/refs/x",
        ".git/objects/aa/x",
        ".git/hooks/pre-commit",
        ".hg/store/x",
        ".husky/a",
        "plain",
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
    }
    for (file, other) in [
        (".vscode/deep/tasks.json", "tasks"),
        (".git/objects/aa/x", "object"),
        (".git/hooks/pre-commit", "hook"),
        (".hg/store/x", "store"),
        (".husky/a", ".husky/b"),
    ] {
        fs::hard_link(root.join(file), root.join(other)).unwrap();
    }
    let rules = SandboxRules::default();
    let found = rules.places(root, &KnownPlaces::new(), &ListedFolders::default());
    let open = [".git/hooks/pre-commit", ".vscode/deep/tasks.json"];
    let open = open.map(|name| OpenGap::Twofold(root.join(name)));
    assert_eq!(found.gaps, open.into());
    let asked = ["tasks", "object", "hook", "store", "plain"];
    let asked = asked.map(|name| found.lead_to(&root.join(name)));
    assert_eq!(asked, [true, false, true, false, false]);
}

#[test]
fn an_empty_file_that_was_made_for_a_mask_is_removed_even_with_the_number_of_what_was_masked() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, own) = (folder.path().join("socket"), folder.path().join("own"));
    let read_only = |path: &Path| {
        fs::write(path, "").unwrap();
        let mut permissions = fs::metadata(path).unwrap().permissions();
        permissions.set_readonly(true);
        fs::set_permissions(path, permissions).unwrap();
    };
    read_only(&own);
    let listening = UnixListener::bind(&socket).unwrap();
    let mut walls = Walls::around_processes(folder.path().join("bwrap"));
    let masked = [&socket, &own].map(|path| (path.clone(), FileMark::at(path).ok()));
    walls.masked = masked.into();
    let first = FileMark::at(&socket).unwrap();
    drop(listening);
    fs::remove_file(&socket).unwrap();
    // Where the file system gives numbers out again, one of these has the same.
    for _ in 0..200 {
        read_only(&socket);
        let has_same = FileMark::at(&socket).unwrap().number == first.number;
        walls.clear();
        assert!(!socket.exists() && own.exists());
        if has_same {
            break;
        }
    }
}
