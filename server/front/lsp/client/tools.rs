//! Tools that run in the editor. They are checked when the client declares them, and called by `aside/tool/call`.

use std::{path::Path, sync::Arc};

use super::{LspClient, editor_tools};
use crate::front::{
    error::{RequestError, Result, invalid},
    wire::{introduction, methods::CallClientTool, requests::ToolCallParams},
};
use aside_tool::{
    Tool,
    client::{CallClient, ClientResult, ClientTool},
    registry::Registry,
    workspace::file_uri,
};

/// Maximum number of tools of one client.
const MOST: usize = 128;

/// Adds the editor tools that the client serves to the tools that it declares.
///
/// # Errors
/// [`RequestError::InvalidParams`] if a declared tool is not valid.
pub(in super::super) fn collect(aside: &mut introduction::ClientCapabilities) -> Result<()> {
    let served = std::mem::take(&mut aside.editor_tools);
    let known = served.iter().filter_map(|name| editor_tools::named(name));
    aside.tools.extend(known);
    check(&aside.tools)
}

/// Checks the names, the number and the schemas of a client's tools.
///
/// # Errors
/// [`RequestError::InvalidParams`], which names the field.
fn check(tools: &[introduction::ClientTool]) -> Result<()> {
    let wrong = |at: usize, field: &str, why: &str| {
        let place = format!("capabilities.experimental.aside.tools[{at}].{field}");
        Err(invalid(format!("{place}: {why}")))
    };
    if tools.len() > MOST {
        return Err(invalid(format!(
            "capabilities.experimental.aside.tools: there are {}; {MOST} are the most",
            tools.len()
        )));
    }
    if tools.is_empty() {
        // Without tools the registry for the comparison is not built.
        return Ok(());
    }
    let unused: CallClient = Arc::new(|_| Box::pin(std::future::ready(Err(String::new()))));
    let mut registry = Registry::builtin();
    for (at, tool) in tools.iter().enumerate() {
        let schema = &tool.input_schema;
        if schema["type"] != "object" {
            return wrong(at, "inputSchema", "it is not the schema of an object");
        }
        if let Err(why) = jsonschema::validator_for(schema) {
            return wrong(
                at,
                "inputSchema",
                &format!("it is not a JSON schema: {why}"),
            );
        }
        if let Err(why) = registry.add(made(tool, unused.clone())) {
            return wrong(at, "name", &why.to_string());
        }
    }
    Ok(())
}

fn made(tool: &introduction::ClientTool, call: CallClient) -> Arc<dyn Tool> {
    let schema = tool.input_schema.clone();
    let made = ClientTool::new(&tool.name, &tool.description, schema, call);
    Arc::new(if tool.read_only {
        made.reading_only()
    } else {
        made
    })
}

impl LspClient {
    /// The names of the client's tools.
    pub(in super::super) fn tool_names(&self) -> impl Iterator<Item = &str> {
        let declared = self.can().aside.iter().flat_map(|aside| &aside.tools);
        declared.map(|tool| tool.name.as_str())
    }

    /// The client's tools for a turn in `root`; none before the workspace is trusted.
    ///
    /// # Errors
    /// [`RequestError::NotTrusted`] if the model is forced to call one of them.
    pub(in super::super) fn tools(
        &self,
        root: &Path,
        trusted: bool,
        forced: Option<&str>,
    ) -> Result<Vec<Arc<dyn Tool>>> {
        let declared = self.can().aside.as_ref();
        let declared = declared.map_or(&[][..], |aside| aside.tools.as_slice());
        if trusted {
            let call = self.calls(root);
            return Ok(declared
                .iter()
                .map(|tool| made(tool, call.clone()))
                .collect());
        }
        match declared
            .iter()
            .find(|tool| Some(tool.name.as_str()) == forced)
        {
            None => Ok(Vec::new()),
            Some(tool) => Err(RequestError::NotTrusted(format!(
                "the editor's tool {}",
                tool.name
            ))),
        }
    }

    fn calls(&self, root: &Path) -> CallClient {
        let (client, root) = (self.clone(), file_uri(root));
        Arc::new(move |call| {
            let reply = client.request::<CallClientTool>(ToolCallParams {
                call_id: call.id,
                name: call.name,
                arguments: call.arguments,
                root: root.clone(),
            });
            Box::pin(async move {
                let result = reply.await.map_err(|error| error.to_string())?;
                Ok(ClientResult {
                    content: result.content,
                    is_error: result.is_error,
                })
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn tools_are_looked_at_when_they_are_declared() {
        let looks = |name: &str, schema: Value, expected: Option<&str>| {
            let tool = introduction::ClientTool {
                name: name.into(),
                description: "Shows a line.".into(),
                input_schema: schema,
                read_only: false,
            };
            let said = check(&[tool]).err().map(|error| error.to_string());
            let place = "capabilities.experimental.aside.tools[0].";
            assert_eq!(said, expected.map(|text| format!("{place}{text}")));
        };
        let object = || json!({"type": "object"});
        looks("reveal-line_2", object(), None);
        looks(
            "search",
            object(),
            Some("name: there are two tools `search`; rename one of them"),
        );
        looks(
            "a.b",
            object(),
            Some("name: a tool's name has 1 to 64 of A-Z, a-z, 0-9, _ and -, which `a.b` is not"),
        );
        looks(
            "list",
            json!({"type": "array"}),
            Some("inputSchema: it is not the schema of an object"),
        );
    }
}
