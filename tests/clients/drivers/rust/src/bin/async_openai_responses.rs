//! async-openai, Responses, with a loop that uses items when they are done.

use async_openai::Client;
use async_openai::types::responses::{
    CreateResponseArgs, EasyInputMessage, FunctionCallOutput, FunctionCallOutputItemParam, FunctionTool,
    FunctionToolCall, InputItem, InputParam, Item, OutputItem, ResponseStreamEvent, Tool,
};
use drivers::{Failure, TURNS, model, prompt, run_tool, tools};
use futures::TryStreamExt;

fn offered() -> Vec<Tool> {
    let function = |one: drivers::Tool| FunctionTool {
        name: one.name.into(),
        description: Some(one.description.into()),
        parameters: Some(one.schema),
        ..Default::default()
    };
    tools()
        .into_iter()
        .map(|one| Tool::Function(function(one)))
        .collect()
}

async fn ask(items: &[InputItem]) -> Result<Vec<FunctionToolCall>, Failure> {
    let request = CreateResponseArgs::default()
        .model(model())
        .input(InputParam::Items(items.to_vec()))
        .tools(offered())
        .build()?;
    let mut stream = Client::new().responses().create_stream(request).await?;
    let mut calls = vec![];
    while let Some(event) = stream.try_next().await? {
        if let ResponseStreamEvent::ResponseOutputItemDone(done) = event
            && let OutputItem::FunctionCall(call) = done.item
        {
            calls.push(call);
        }
    }
    Ok(calls)
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let mut items: Vec<InputItem> = vec![EasyInputMessage::from(prompt()).into()];
    for _ in 0..TURNS {
        let calls = ask(&items).await?;
        if calls.is_empty() {
            break;
        }
        let mut results = vec![];
        for call in calls {
            results.push(InputItem::Item(Item::FunctionCallOutput(FunctionCallOutputItemParam {
                call_id: Some(call.call_id.clone()),
                output: FunctionCallOutput::Text(run_tool(&call.name, &call.arguments)?),
                id: None,
                status: None,
                name: None,
                namespace: None,
                caller: None,
            })));
            items.push(InputItem::Item(Item::FunctionCall(call)));
        }
        items.append(&mut results);
    }
    Ok(())
}
