//! A model that says more at once than a client can be told piece by piece.

use serde_json::json;

use super::client::Client;
use crate::world::World;

const PIECES: usize = 20_000;

#[test]
fn a_flood_of_pieces_comes_joined_in_order_and_as_it_was_said() {
    let world = World::new();
    let said: String = (0..PIECES).map(|number| format!("{number:05}")).collect();
    let script = format!("[[reply]]\nsay = [{{ text = \"{said}\", pieces = {PIECES} }}]\n");
    let mut client = Client::start(
        &world,
        &script,
        json!({ "experimental": { "aside": { "version": 1, "prompt": true } } }),
    );
    client.request("aside/turn/start", json!({ "prompt": "go" }));
    let (mut heard, mut updates, mut seq) = (String::new(), 0, 0);
    while heard.len() < said.len() {
        let message = client.expect("aside/turn/update");
        seq += 1;
        assert_eq!(message["params"]["seq"], seq, "without gaps, in order");
        let update = &message["params"]["update"];
        if update["kind"] == "text" {
            heard += update["text"].as_str().unwrap();
            updates += 1;
        }
    }
    assert!(heard == said, "what is heard is not what was said");
    assert!(
        updates < PIECES / 16,
        "{updates} updates for {PIECES} pieces that were there at once"
    );
    assert_eq!(client.completed()["answer"], said);
}
