//! Servers that many people use. `tests/mcp/many/run` installs them and plays this; without `ASIDE_MCP_MANY`, the folder that
//! they are in, nothing happens here.

use std::{collections::BTreeMap, path::Path};

use serde::Deserialize;
use serde_json::json;

use crate::world::TestWorld;

const SERVERS: &str = include_str!("../../mcp/many/servers.json");

#[derive(Deserialize)]
struct NamedServer {
    command: String,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "the table is what a person wants to see of this test"
)]
fn servers_of_many_people_connect_side_by_side() {
    let Some(folder) = std::env::var_os("ASIDE_MCP_MANY") else {
        return;
    };
    let folder = Path::new(&folder);
    let servers = SERVERS.replace("FOLDER", folder.to_str().unwrap());
    let servers: BTreeMap<String, NamedServer> = serde_json::from_str(&servers).unwrap();
    assert_eq!(servers.len(), 19);
    let world = TestWorld::new();
    let program = |name: &str| {
        let places = ["node/node_modules/.bin", "python/bin"];
        let mut places = places.iter().map(|place| folder.join(place).join(name));
        places.find(|path| path.exists()).expect(name)
    };
    let config = servers.iter().map(|(name, server)| {
        let config = json!({
            "command": program(&server.command), "args": server.args, "env": server.env, "startup_seconds": 60,
        });
        (name, config)
    });
    let config: BTreeMap<_, _> = config.collect();
    world.user_config(&toml::to_string(&json!({ "mcp": { "servers": config } })).unwrap());
    world.aside(&["trust", "--yes"]).exits(0);
    let listed = world.aside(&["mcp", "list"]).exits(0).stdout;
    let mut lines = listed.lines();
    let mut connected = 0;
    while let Some(line) = lines.next() {
        if let Some(name) = line
            .split("  ")
            .next()
            .filter(|name| servers.contains_key(*name))
        {
            let tools = lines.next().unwrap().trim();
            eprintln!("{name:<12} {tools}");
            assert!(tools.contains(" tool"), "{name}: {tools}");
            connected += 1;
        }
    }
    assert_eq!(connected, servers.len(), "{listed}");
}
