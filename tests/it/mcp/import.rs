//! `aside mcp import`: servers of other programs' files are shown whole, and written only with a person's consent.

use crate::world::TestWorld;

const FILE: &str = r#"{"mcpServers": {
    "db": {"command": "npx", "args": ["-y", "db; rm -rf /"], "env": {"DB_KEY": "${DB_KEY}"}},
    "web": {"type": "http", "url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${WEB_TOKEN}"}},
    "old": {"type": "sse", "url": "https://example.com/sse"}
}}"#;

/// A world whose user has a file with a comment and a server.
fn world() -> TestWorld {
    let world = TestWorld::new();
    world.user_config("# Mine.\n[mcp.servers.own]\ncommand = 'own'\n");
    world.write(".mcp.json", FILE);
    world
}

fn own(world: &TestWorld) -> String {
    std::fs::read_to_string(world.folder().join("config/aside/aside.toml")).unwrap()
}

#[test]
fn what_is_imported_is_shown_whole_and_then_written() {
    let world = world();
    let before = own(&world);
    let shown = world.aside(&["mcp", "import", ".mcp.json"]).exits(2);
    assert!(
        shown.stdout.contains("args = [\"-y\", \"db; rm -rf /\"]"),
        "{shown:?}"
    );
    let shown = shown
        .says("old is left out: its type is `sse`")
        .says("nobody can confirm without a terminal");
    assert_eq!(own(&world), before);

    let done = world
        .aside(&["mcp", "import", ".mcp.json", "--yes"])
        .exits(0);
    assert_eq!(done.stdout, shown.stdout);
    assert_eq!(
        own(&world),
        "# Mine.\n[mcp.servers.own]\ncommand = 'own'\n\n\
         [mcp.servers.db]\nargs = [\"-y\", \"db; rm -rf /\"]\ncommand = \"npx\"\nenv_vars = [\"DB_KEY\"]\n\n\
         [mcp.servers.web]\nbearer_token_env = \"WEB_TOKEN\"\nurl = \"https://example.com/mcp\"\n\n"
    );
    let listed = world.aside(&["mcp", "list"]).exits(0);
    assert!(
        listed.stdout.contains("db  npx -y 'db; rm -rf /'\n"),
        "{listed:?}"
    );

    // What is there already is not written again.
    let again = own(&world);
    world
        .aside(&["mcp", "import", ".mcp.json", "--yes"])
        .exits(2)
        .says("already has a server of this name");
    assert_eq!(own(&world), again);
}

#[test]
fn a_file_of_another_program_is_not_read_by_itself() {
    let world = world();
    let listed = world.aside(&["mcp", "list"]).exits(0);
    assert!(!listed.stdout.contains("db"), "{listed:?}");
}

#[test]
fn a_file_without_servers_changes_nothing() {
    let world = world();
    let before = own(&world);
    for (text, why) in [
        ("{}", "it has no `mcpServers`"),
        ("{", "it is no JSON"),
        (
            r#"{"mcpServers": {"x": {"command": 7}}}"#,
            "no server can be imported",
        ),
    ] {
        world.write("other.json", text);
        world
            .aside(&["mcp", "import", "other.json", "--yes"])
            .exits(2)
            .says(why);
    }
    world
        .aside(&["mcp", "import", "missing.json", "--yes"])
        .exits(2)
        .says("cannot import servers from missing.json");
    assert_eq!(own(&world), before);
}
