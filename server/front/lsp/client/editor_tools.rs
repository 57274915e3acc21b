//! The tools that every editor serves under the same names, with the same arguments. A client announces which of them
//! it serves; the model is told the same about them in each editor. All of them only read.

use serde_json::{Value, json};

use crate::front::wire::introduction::ClientTool;

/// A tool with this name, if the list has one.
pub(super) fn named(name: &str) -> Option<ClientTool> {
    let (description, arguments, required) = match name {
        "editor_diagnostics" => (
            "Errors and warnings that language servers and linters report, of one file or of all.",
            vec!["path"],
            vec![],
        ),
        "editor_open_files" => (
            "The files that are open in the editor, and which of them have unsaved changes.",
            vec![],
            vec![],
        ),
        "editor_references" => (
            "The places that refer to a symbol, found by the language server.",
            vec!["path", "line", "symbol"],
            vec!["path", "line", "symbol"],
        ),
        "editor_selection" => (
            "The file in which the user works, the line of the cursor, and the selected text.",
            vec![],
            vec![],
        ),
        "editor_symbols" => (
            "Functions, types and other symbols with their lines, found by the language server: of one file (`path`), \
             or of the workspace, by a part of the name (`query`).",
            vec!["path", "query"],
            vec![],
        ),
        _ => return None,
    };
    let properties = arguments
        .into_iter()
        .map(|name| (name.to_owned(), argument(name)));
    let properties = Value::Object(properties.collect());
    Some(ClientTool {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        }),
        read_only: true,
    })
}

/// The schema of an argument.
fn argument(name: &str) -> Value {
    match name {
        "path" => json!({
            "type": "string",
            "description": "The path of a file, absolute or relative to the workspace.",
        }),
        "line" => json!({
            "type": "integer",
            "minimum": 1,
            "description": "A line that contains the symbol, counted from 1.",
        }),
        "symbol" => json!({
            "type": "string",
            "description": "The name, exactly as that line has it.",
        }),
        _ => json!({ "type": "string", "description": "A part of the name." }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_not_on_the_list_is_no_tool() {
        assert_eq!(named("editor_everything"), None);
        let references = named("editor_references").unwrap().input_schema;
        assert_eq!(references["required"], json!(["path", "line", "symbol"]));
    }
}
