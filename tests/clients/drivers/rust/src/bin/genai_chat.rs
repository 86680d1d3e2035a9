//! genai, with its captured tool calls: Chat Completions, or Messages with `anthropic` after the prompt.

use std::env;

use drivers::{Failure, TURNS, model, prompt, run_tool, tools};
use futures::TryStreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent, Tool, ToolCall, ToolResponse};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, ModelIden, ServiceTarget};
use serde_json::Value;

fn target() -> Result<ServiceTarget, Failure> {
    let (adapter, variable, path) = match env::args().nth(2).as_deref() {
        Some("anthropic") => (AdapterKind::Anthropic, "ANTHROPIC", "/v1/"),
        _ => (AdapterKind::OpenAI, "OPENAI", "/"),
    };
    Ok(ServiceTarget {
        endpoint: Endpoint::from_owned(env::var(format!("{variable}_BASE_URL"))? + path),
        auth: AuthData::from_single(env::var(format!("{variable}_API_KEY"))?),
        model: ModelIden::new(adapter, model()),
    })
}

async fn ask(client: &Client, request: &ChatRequest) -> Result<Vec<ToolCall>, Failure> {
    let options = ChatOptions::default().with_capture_tool_calls(true);
    let mut stream = client
        .exec_chat_stream(target()?, request.clone(), Some(&options))
        .await?
        .stream;
    let mut calls = vec![];
    while let Some(event) = stream.try_next().await? {
        if let ChatStreamEvent::End(end) = event {
            calls = end.captured_into_tool_calls().unwrap_or_default();
        }
    }
    Ok(calls)
}

/// The crate returns arguments that it cannot parse as text.
fn run(call: &ToolCall) -> Result<String, Failure> {
    match &call.fn_arguments {
        Value::String(text) => run_tool(&call.fn_name, text),
        parsed => run_tool(&call.fn_name, &parsed.to_string()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let client = Client::new()?;
    let tool = |one: drivers::Tool| {
        Tool::new(one.name)
            .with_description(one.description)
            .with_schema(one.schema)
    };
    let mut request = ChatRequest::from_user(prompt()).with_tools(tools().into_iter().map(tool));
    for _ in 0..TURNS {
        let calls = ask(&client, &request).await?;
        if calls.is_empty() {
            break;
        }
        let mut results = vec![];
        for call in &calls {
            results.push(ToolResponse::from_tool_call(call, run(call)?));
        }
        request = request.append_message(calls).append_messages(results);
    }
    Ok(())
}
