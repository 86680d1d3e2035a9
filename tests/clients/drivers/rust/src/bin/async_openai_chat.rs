//! async-openai, Chat Completions, with chunks assembled by index as in its example.

use std::collections::BTreeMap;

use async_openai::Client;
use async_openai::types::chat::{
    ChatCompletionMessageToolCall, ChatCompletionRequestAssistantMessageArgs, ChatCompletionRequestMessage,
    ChatCompletionRequestToolMessage, ChatCompletionRequestUserMessage, ChatCompletionTool, ChatCompletionTools,
    CreateChatCompletionRequestArgs, FunctionCall, FunctionObject,
};
use drivers::{Call, Failure, TURNS, model, prompt, run_tool, tools};
use futures::TryStreamExt;

fn offered() -> Vec<ChatCompletionTools> {
    let function = |one: drivers::Tool| FunctionObject {
        name: one.name.into(),
        description: Some(one.description.into()),
        parameters: Some(one.schema),
        strict: None,
    };
    tools()
        .into_iter()
        .map(|one| ChatCompletionTools::Function(ChatCompletionTool { function: function(one) }))
        .collect()
}

async fn ask(messages: &[ChatCompletionRequestMessage]) -> Result<Vec<Call>, Failure> {
    let request = CreateChatCompletionRequestArgs::default()
        .model(model())
        .messages(messages)
        .tools(offered())
        .build()?;
    let mut stream = Client::new().chat().create_stream(request).await?;
    let mut calls: BTreeMap<u32, Call> = BTreeMap::new();
    while let Some(chunk) = stream.try_next().await? {
        let Some(choice) = chunk.choices.into_iter().next() else { continue };
        for fragment in choice.delta.tool_calls.unwrap_or_default() {
            let call = calls.entry(fragment.index).or_default();
            if let Some(id) = fragment.id {
                call.id = id;
            }
            let Some(function) = fragment.function else { continue };
            if let Some(name) = function.name {
                call.name = name;
            }
            call.arguments += &function.arguments.unwrap_or_default();
        }
    }
    Ok(calls.into_values().collect())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut messages = vec![ChatCompletionRequestUserMessage::from(prompt()).into()];
    for _ in 0..TURNS {
        let calls = ask(&messages).await?;
        if calls.is_empty() {
            break;
        }
        let mut results: Vec<ChatCompletionRequestMessage> = vec![];
        let mut made = vec![];
        for Call { id, name, arguments } in calls {
            let content = run_tool(&name, &arguments)?.into();
            results.push(ChatCompletionRequestToolMessage { content, tool_call_id: id.clone() }.into());
            made.push(ChatCompletionMessageToolCall { id, function: FunctionCall { name, arguments } }.into());
        }
        let answer = ChatCompletionRequestAssistantMessageArgs::default()
            .tool_calls(made)
            .build()?;
        messages.push(answer.into());
        messages.append(&mut results);
    }
    Ok(())
}
