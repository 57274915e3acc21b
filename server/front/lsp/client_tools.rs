//! The client's own tools: looked at when it declares them, and put to it as `aside/tool/call`.

use std::sync::Arc;

use tokio::sync::oneshot;
use tower_lsp::lsp_types::request::Request;

use super::hub::{Hub, SharedHub};
use crate::{
    front::{
        error::{RequestError, Result, invalid},
        wire::requests::{self, ToolCallParams, ToolCallResult},
    },
    tool::{
        Registry, Tool,
        client::{CallClient, ClientResult, ClientTool},
    },
};

/// Tools of one client, at the most.
const MOST: usize = 128;

/// `aside/tool/call`.
struct ToolCall;

impl Request for ToolCall {
    type Params = ToolCallParams;
    type Result = ToolCallResult;
    const METHOD: &'static str = "aside/tool/call";
}

/// Looks at the tools that a client declares.
///
/// # Errors
/// A sentence that names the field.
pub(super) fn check(tools: &[requests::ClientTool]) -> Result<()> {
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
        // What they are compared with is not built for nothing.
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

fn made(tool: &requests::ClientTool, call: CallClient) -> Arc<dyn Tool> {
    let schema = tool.input_schema.clone();
    Arc::new(ClientTool::new(&tool.name, &tool.description, schema, call))
}

impl Hub {
    /// The client's tools for a turn. Before the workspace is trusted there are none.
    ///
    /// # Errors
    /// Where one is forced that there is not.
    pub(super) fn client_tools(
        self: &SharedHub,
        trusted: bool,
        forced: Option<&str>,
    ) -> Result<Vec<Arc<dyn Tool>>> {
        let declared = self.told()?.aside.as_ref();
        let declared = declared.map_or(&[][..], |aside| aside.tools.as_slice());
        if trusted {
            let call = self.calls();
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

    fn calls(self: &SharedHub) -> CallClient {
        let client = self.client.clone();
        Arc::new(move |call| {
            let (tell, told) = oneshot::channel();
            let client = client.clone();
            // The task owns the request to its end: a reply to one that was dropped would end the process.
            tokio::spawn(async move {
                let params = ToolCallParams {
                    call_id: call.id,
                    name: call.name,
                    arguments: call.arguments,
                };
                // The call may have been cancelled: nobody waits for the result then.
                let _ = tell.send(client.send_request::<ToolCall>(params).await);
            });
            Box::pin(async move {
                match told.await {
                    Ok(Ok(result)) => Ok(ClientResult {
                        content: result.content,
                        is_error: result.is_error,
                    }),
                    Ok(Err(error)) => Err(error.message.into_owned()),
                    Err(_) => Err("the connection is over".to_owned()),
                }
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
            let tool = requests::ClientTool {
                name: name.into(),
                description: "Shows a line.".into(),
                input_schema: schema,
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
