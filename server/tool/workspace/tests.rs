use std::{fs, os::unix::fs::symlink};

use aside_base::system::files::{FileFacts, FileId, Likeness};
use tempfile::TempDir;

use super::*;

/// A root beside a file that lies outside.
struct WorkspaceFixture {
    folder: TempDir,
    workspace: Workspace,
}

impl WorkspaceFixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        fs::write(folder.path().join("outside"), "secret").unwrap();
        fs::write(root.join("sub/a"), "text").unwrap();
        fs::write(root.join(".git/config"), "config").unwrap();
        let workspace = Workspace::open(&root).unwrap();
        Self { folder, workspace }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("root").join(path)
    }

    /// What reading a path gives.
    fn read(&self, path: &str) -> String {
        told(
            self.workspace
                .file(path)
                .and_then(OpenedFile::text)
                .map(|file| file.text),
        )
    }

    /// What creating a file there gives, and where it went.
    fn create(&self, path: &str) -> String {
        let place = self.workspace.place(path).map(|place| place.path);
        told(self.workspace.write(path, None, b"new").and(place))
    }
}

fn told(result: Result<String, PathError>) -> String {
    result.unwrap_or_else(|refusal| {
        let text = format!("{refusal:?}");
        text.split(['(', ' ']).next().unwrap().to_owned()
    })
}

#[test]
fn reads_inside_however_it_is_named() {
    let ground = WorkspaceFixture::new();
    symlink("sub", ground.at("link")).unwrap();
    let absolute = ground.at("sub/a");
    for path in [
        "sub/a",
        "./sub//a",
        "sub/../sub/a",
        "link/a",
        absolute.to_str().unwrap(),
    ] {
        assert_eq!(ground.read(path), "text", "{path}");
        assert_eq!(ground.workspace.file(path).unwrap().path, "sub/a");
    }
}

#[test]
fn a_root_may_be_named_by_a_link() {
    let ground = WorkspaceFixture::new();
    let link = ground.folder.path().join("link");
    symlink("root", &link).unwrap();
    let workspace = Workspace::open(&link).unwrap();
    assert_eq!(workspace.root(), fs::canonicalize(ground.at("")).unwrap());
    let named = link.join("sub/a");
    assert_eq!(
        workspace.file(named.to_str().unwrap()).unwrap().path,
        "sub/a"
    );
    // Also where it was opened by its real path, and an editor says the link.
    let by_real = Workspace::open(&ground.at("")).unwrap();
    let opened = by_real.file(named.to_str().unwrap()).unwrap();
    assert_eq!(opened.path, "sub/a");
    let new = by_real.place(link.join("new").to_str().unwrap()).unwrap();
    assert_eq!(new.path, "new");
    let beside = ground.folder.path().join("beside");
    assert!(by_real.file(beside.to_str().unwrap()).is_err());
}

#[test]
fn nothing_leads_outside() {
    let ground = WorkspaceFixture::new();
    let outside = ground.folder.path().join("outside");
    symlink("../outside", ground.at("relative")).unwrap();
    symlink(&outside, ground.at("absolute")).unwrap();
    symlink("..", ground.at("up")).unwrap();
    symlink("/", ground.at("top")).unwrap();
    let outside = outside.to_str().unwrap();
    let sibling = format!(
        "{}x/a",
        ground.at("").to_str().unwrap().trim_end_matches('/')
    );
    for path in [
        "../outside",
        "sub/../../outside",
        outside,
        "relative",
        "absolute",
        "up/outside",
        "top/etc/passwd",
        "/etc/passwd",
        &sibling,
    ] {
        assert_eq!(ground.read(path), "Outside", "{path}");
        assert_eq!(ground.create(path), "Outside", "{path}");
    }
    for path in ["..", "up", "top", "/", "sub/../.."] {
        assert_eq!(
            told(ground.workspace.folder(path).map(|f| f.path)),
            "Outside",
            "{path}"
        );
    }
    assert_eq!(ground.create("up/new"), "Outside");
    assert_eq!(fs::read_to_string(outside).unwrap(), "secret");
    assert!(!ground.folder.path().join("new").exists());
}

#[test]
fn aside_s_own_settings_are_not_written_also_while_absent() {
    let ground = WorkspaceFixture::new();
    symlink("aside.toml", ground.at("link")).unwrap();
    fs::write(ground.at("aside.toml"), "config").unwrap();
    for path in [
        "aside.toml",
        "Aside.toml",
        "sub/aside.toml",
        "link",
        ".aside/new",
        "sub/../.aside/new",
    ] {
        assert_eq!(ground.create(path), "Protected", "{path}");
        let removed = ground.workspace.remove(path, &sha256(b"config"));
        assert!(matches!(removed, Err(PathError::Protected(_))), "{path}");
    }
    assert_eq!(ground.read("aside.toml"), "config");
    assert!(!ground.at(".aside").exists());
}

#[test]
fn where_other_programs_take_code_from_a_person_is_asked() {
    let ground = WorkspaceFixture::new();
    symlink(".git", ground.at("link")).unwrap();
    symlink(".git/config", ground.at("file")).unwrap();
    for (path, why) in [
        (".git/config", ".git/config can make Git run commands"),
        ("link/hooks/new", ".git/hooks/new can make Git run commands"),
        ("file", ".git/config can make Git run commands"),
        (".GIT/new", ".GIT/new can make Git run commands"),
        (
            "sub/.git/config",
            "sub/.git/config can make Git run commands",
        ),
        (
            ".vscode/tasks.json",
            ".vscode/tasks.json can make VS Code run commands",
        ),
        (
            ".cargo/config.toml",
            ".cargo/config.toml can make Cargo run commands",
        ),
        (".envrc", ".envrc can make direnv run commands"),
        ("home/.bashrc", "home/.bashrc can make a shell run commands"),
    ] {
        let place = ground.workspace.place(path).unwrap();
        assert_eq!(place.must_ask.as_deref(), Some(why), "{path}");
    }
    for path in ["sub/a", "new", ".github/workflows/ci.yml", ".cargo/notes"] {
        assert_eq!(
            ground.workspace.place(path).unwrap().must_ask,
            None,
            "{path}"
        );
    }
}

/// What `git init --bare` makes, as far as Git looks at it.
fn make_bare_repository(folder: &Path) {
    fs::create_dir_all(folder.join("objects")).unwrap();
    fs::create_dir_all(folder.join("refs")).unwrap();
    fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
}

#[test]
fn a_git_folder_is_known_whatever_it_is_called() {
    let ground = WorkspaceFixture::new();
    make_bare_repository(&ground.at("data"));
    fs::create_dir_all(ground.at("half/objects")).unwrap();
    fs::create_dir_all(ground.at("half/refs")).unwrap();
    fs::create_dir_all(ground.at("tree")).unwrap();
    fs::write(ground.at("tree/commondir"), "../other").unwrap();
    let asks = |path: &str| ground.workspace.place(path).unwrap().must_ask.is_some();
    assert!(asks("data/config"));
    assert!(asks("data/hooks/pre-commit"));
    assert!(asks("data/deep/er/config"));
    assert!(!asks("half/config"));
    assert!(asks("half/HEAD"), "it becomes one");
    assert!(asks("tree/HEAD"), "it becomes one");
    assert!(!asks("tree/config"));
    let inside = Workspace::open(&ground.at("data")).unwrap();
    assert!(inside.place("hooks/x").unwrap().must_ask.is_some());
}

/// A home as the root, with Aside's state in it.
struct Home {
    folder: TempDir,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("state/aside/work-1")).unwrap();
        fs::write(folder.path().join("state/aside/trust.json"), "{}").unwrap();
        fs::write(folder.path().join("state/aside/work-1/approvals"), "").unwrap();
        Self { folder }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// What creating or replacing a file gives, in a workspace with this root.
    fn write(&self, root: &Path, path: &str) -> String {
        let own = vec![self.at("state/aside"), self.at("config/aside")];
        let workspace = Workspace::open(root).unwrap().with_own_folders(own);
        let old = workspace.file(path).and_then(OpenedFile::text);
        let old = old.ok().map(|file| file.hash);
        told(
            workspace
                .write(path, old.as_deref(), b"new")
                .map(|()| "written".into()),
        )
    }
}

#[test]
fn aside_s_own_folders_are_protected_whatever_the_root() {
    let home = Home::new();
    let check = |root: &str, path: &str, expected: &str| {
        let written = home.write(&home.at(root), path);
        assert_eq!(written, expected, "{root} {path}");
    };
    check("", "state/aside/trust.json", "Protected");
    check("", "state/aside/work-1/approvals", "Protected");
    check("", "state/aside/new/deep/file", "Protected");
    check("state", "aside/trust.json", "Protected");
    check("state/aside", "trust.json", "Protected");
    check("state/aside/work-1", "approvals", "Protected");
    check("", "state/other", "written");
    check("", "config/other/file", "written");
}

#[test]
fn aside_s_own_folders_are_protected_while_they_are_absent() {
    let home = Home::new();
    let check = |path: &str, expected: &str| {
        let written = home.write(&home.at(""), path);
        assert_eq!(written, expected, "{path}");
    };
    check("config/aside/aside.conf", "Protected");
    // As a file system that forgives would have it.
    check("Config/ASIDE/x", "Protected");
    assert!(!home.at("config/aside").exists());
    fs::create_dir_all(home.at("elsewhere")).unwrap();
    fs::create_dir_all(home.at("config")).unwrap();
    symlink("../elsewhere/settings", home.at("config/aside")).unwrap();
    check("elsewhere/settings/aside.conf", "Protected");
    check("elsewhere/other", "written");
}

#[test]
fn aside_s_own_folders_are_protected_by_every_name() {
    let home = Home::new();
    fs::create_dir_all(home.at("work")).unwrap();
    symlink("../state/aside", home.at("work/link")).unwrap();
    let linked = home.at("work/several-names");
    fs::hard_link(home.at("state/aside/work-1/approvals"), &linked).unwrap();
    fs::create_dir_all(home.at("config/aside")).unwrap();
    fs::write(home.at("work/settings"), "").unwrap();
    symlink(home.at("work/settings"), home.at("config/aside/aside.toml")).unwrap();
    let check = |root: &str, path: &str, expected: &str| {
        let written = home.write(&home.at(root), path);
        assert_eq!(written, expected, "{root} {path}");
    };
    check("", "work/link/trust.json", "Protected");
    check("work", "several-names", "Protected");
    check("work", "settings", "Protected");
    let moved = home.at("moved");
    fs::rename(home.at("state"), &moved).unwrap();
    symlink(&moved, home.at("state")).unwrap();
    check("moved", "aside/trust.json", "Protected");
}

#[test]
fn reading_what_is_aside_s_own_is_asked_for() {
    let home = Home::new();
    let own = vec![home.at("state/aside")];
    let workspace = Workspace::open(&home.at("")).unwrap().with_own_folders(own);
    fs::write(home.at("state/plain"), "").unwrap();
    assert!(workspace.file("state/aside/trust.json").unwrap().secret);
    assert!(!workspace.file("state/plain").unwrap().secret);
}

#[test]
fn reading_secrets_is_marked_by_what_is_opened() {
    let ground = WorkspaceFixture::new();
    fs::write(ground.at(".env"), "KEY").unwrap();
    symlink("../.env", ground.at("sub/plain")).unwrap();
    symlink("a", ground.at("sub/my.pem")).unwrap();
    let secret = |path: &str| ground.workspace.file(path).unwrap().secret;
    assert!(secret(".env"));
    assert!(secret("sub/plain"));
    assert!(secret("sub/my.pem"));
    assert!(!secret("sub/a"));
}

#[test]
fn pipes_devices_and_folders_are_no_files() {
    let ground = WorkspaceFixture::new();
    let pipe = ground.at("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(ground.at("socket")).unwrap();
    assert_eq!(ground.read("pipe"), "Special");
    assert_eq!(ground.create("pipe"), "Special");
    assert_eq!(ground.read("socket"), "Special");
    assert_eq!(ground.read("sub"), "IsFolder");
    assert_eq!(ground.create("sub"), "IsFolder");
    assert_eq!(ground.create("sub/a/b"), "NotFolder");
    assert_eq!(ground.read("nothing"), "Missing");
    assert_eq!(ground.read("nul\0"), "Failed");
}

#[test]
fn only_text_within_bounds_is_read_whole() {
    let ground = WorkspaceFixture::new();
    fs::write(ground.at("zero"), "a\0b").unwrap();
    fs::write(ground.at("latin"), b"\xe4").unwrap();
    fs::File::create(ground.at("large"))
        .unwrap()
        .set_len(MAX_FILE + 1)
        .unwrap();
    assert_eq!(ground.read("zero"), "Binary");
    assert_eq!(ground.read("latin"), "Binary");
    assert_eq!(ground.read("large"), "TooLarge");
}

#[test]
fn writes_whole_files_and_leaves_nothing_beside() {
    let ground = WorkspaceFixture::new();
    assert_eq!(ground.create("x/y/new"), "x/y/new");
    assert_eq!(ground.read("x/y/new"), "new");
    ground
        .workspace
        .write("x/y/new", Some(&sha256(b"new")), b"newer")
        .unwrap();
    assert_eq!(ground.read("x/y/new"), "newer");
    assert_eq!(fs::read_dir(ground.at("x/y")).unwrap().count(), 1);
    ground
        .workspace
        .remove("x/y/new", &sha256(b"newer"))
        .unwrap();
    assert_eq!(ground.read("x/y/new"), "Missing");
}

#[test]
fn writes_only_over_what_was_expected() {
    let ground = WorkspaceFixture::new();
    let stale = |expected: Option<&str>| {
        told(
            ground
                .workspace
                .write("sub/a", expected, b"mine")
                .map(|()| String::new()),
        )
    };
    assert_eq!(stale(None), "Stale");
    assert_eq!(stale(Some(&sha256(b"other"))), "Stale");
    let removed = ground.workspace.remove("sub/a", &sha256(b"other"));
    assert!(matches!(removed, Err(PathError::Stale(_))));
    let gone = ground
        .workspace
        .write("sub/gone", Some(&sha256(b"text")), b"mine");
    assert!(matches!(gone, Err(PathError::Stale(_))));
    assert_eq!(ground.read("sub/a"), "text");
    assert_eq!(fs::read_dir(ground.at("sub")).unwrap().count(), 1);
}

#[test]
fn a_link_put_in_the_way_is_not_written_through() {
    let ground = WorkspaceFixture::new();
    let place = ground.workspace.place("sub/a").unwrap().path;
    fs::write(ground.at("same"), "text").unwrap();
    fs::remove_file(ground.at("sub/a")).unwrap();
    symlink("../same", ground.at("sub/a")).unwrap();
    let written = ground
        .workspace
        .write(&place, Some(&sha256(b"text")), b"new");
    assert!(matches!(written, Err(PathError::Stale(_))));
    assert_eq!(ground.read("same"), "text");
}

#[test]
fn a_link_that_leads_nowhere_is_not_written_through() {
    let ground = WorkspaceFixture::new();
    symlink("nowhere", ground.at("dangling")).unwrap();
    assert_eq!(ground.create("dangling"), "Failed");
    assert!(!ground.at("nowhere").exists());
}

#[test]
fn uris_are_escaped() {
    let ground = WorkspaceFixture::new();
    let uri = ground.workspace.uri("a b/ä#.txt");
    assert!(uri.starts_with("file:///"));
    assert!(uri.ends_with("/root/a%20b/%C3%A4%23.txt"), "{uri}");
}

/// A file beside the text: all that stays.
fn likeness(path: &Path) -> Likeness {
    Likeness::of(&fs::File::open(path).unwrap()).unwrap()
}

#[test]
fn a_file_stays_what_it_is_besides_its_text() {
    let ground = WorkspaceFixture::new();
    let is_root = rustix::process::geteuid().is_root();
    type Change = fn(&Path);
    let rows: &[(&str, bool, Change)] = &[
        ("plain", false, |_| ()),
        ("mode", false, |path| set_mode(path, 0o640)),
        ("read-only", false, |path| set_mode(path, 0o444)),
        ("second name", false, |path| {
            fs::hard_link(path, path.with_file_name("second")).unwrap();
        }),
        ("read-only with a second name", false, |path| {
            fs::hard_link(path, path.with_file_name("third")).unwrap();
            set_mode(path, 0o444);
        }),
        ("owner and group", true, |path| chown(path, 1000, 1001)),
        ("owner and a second name", true, |path| {
            fs::hard_link(path, path.with_file_name("fourth")).unwrap();
            chown(path, 1000, 1000);
        }),
        ("bits", true, |path| {
            chown(path, 1000, 1000);
            set_mode(path, 0o6755);
        }),
        ("attribute", false, |path| {
            let file = fs::File::open(path).unwrap();
            let flags = rustix::fs::XattrFlags::empty();
            // Some file systems have none.
            let _ = rustix::fs::fsetxattr(&file, "user.note", b"kept", flags);
        }),
        ("read-only folder", false, |path| {
            set_mode(path.parent().unwrap(), 0o555);
        }),
    ];
    for (name, for_root, change) in rows {
        if *for_root && !is_root {
            continue;
        }
        let path = format!("{name}/f.txt");
        let at = ground.at(&path);
        fs::create_dir(ground.at(name)).unwrap();
        fs::write(&at, "one").unwrap();
        change(&at);
        let (before, number) = (likeness(&at), FileId::of(&FileFacts::at(&at).unwrap()));
        let text = "two, and more of it";
        let written = ground
            .workspace
            .write(&path, Some(&sha256(b"one")), text.as_bytes());
        written.unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(likeness(&at), before, "{name}");
        if before.names > 1 {
            assert_eq!(FileId::of(&FileFacts::at(&at).unwrap()), number, "{name}");
        }
        let shorter = ground
            .workspace
            .write(&path, Some(&sha256(text.as_bytes())), b"2");
        shorter.unwrap_or_else(|why| panic!("{name}: {why}"));
        for entry in fs::read_dir(ground.at(name)).unwrap() {
            let left = fs::read_to_string(entry.unwrap().path()).unwrap();
            assert_eq!(left, "2", "{name}");
        }
        set_mode(&ground.at(name), 0o755);
    }
}

#[test]
fn a_file_that_its_owner_protects_is_a_reason_to_ask() {
    let ground = WorkspaceFixture::new();
    let reason = |path: &str| ground.workspace.place(path).unwrap().must_ask;
    assert_eq!(reason("sub/a"), None);
    set_mode(&ground.at("sub/a"), 0o444);
    assert_eq!(reason("sub/a").as_deref(), Some("sub/a is read-only"));
    symlink("a", ground.at("sub/link")).unwrap();
    assert_eq!(reason("sub/link").as_deref(), Some("sub/a is read-only"));
    set_mode(&ground.at("sub/a"), 0o644);
    fs::hard_link(ground.at("sub/a"), ground.at("second")).unwrap();
    assert_eq!(reason("second"), None, "both names are here");
    let outside = ground.folder.path().join("third");
    fs::hard_link(ground.at("sub/a"), outside).unwrap();
    let elsewhere = "second is also a file outside the workspace, by another name";
    assert_eq!(reason("second").as_deref(), Some(elsewhere));
    fs::write(ground.at(".envrc"), "").unwrap();
    set_mode(&ground.at(".envrc"), 0o400);
    let both = ".envrc can make direnv run commands; .envrc is read-only";
    assert_eq!(reason(".envrc").as_deref(), Some(both));
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
}

fn chown(path: &Path, owner: u32, group: u32) {
    std::os::unix::fs::chown(path, Some(owner), Some(group)).unwrap();
}
