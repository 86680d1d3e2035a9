//! rig, Chat Completions, with its own decoder.

use drivers::{Failure, TURNS, model, prompt, run_tool, tools};
use rig_core::completion::{CompletionRequest, ToolDefinition};
use rig_core::message::{Message, ToolName};
use rig_core::providers::openai::OpenAI;

fn offered() -> Result<Vec<ToolDefinition>, Failure> {
    tools()
        .into_iter()
        .map(|one| Ok(ToolDefinition::new(ToolName::new(one.name)?, one.description, one.schema)))
        .collect()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let llm = OpenAI::from_env()?.chat(model());
    let mut messages = vec![Message::user(prompt())];
    for _ in 0..TURNS {
        let mut request = CompletionRequest::new("");
        request.chat_history = messages.clone();
        request.tools = offered()?;
        let response = llm.stream(request)?.finish().await?;
        messages.extend(response.message());
        let mut called = false;
        for call in response.tool_calls() {
            let arguments = serde_json::to_string(&call.function.arguments)?;
            let result = run_tool(call.function.name.as_str(), &arguments)?;
            messages.push(Message::tool_result(call.id.clone(), call.function.name.clone(), result));
            called = true;
        }
        if !called {
            break;
        }
    }
    Ok(())
}
