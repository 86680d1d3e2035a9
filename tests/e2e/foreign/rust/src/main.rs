//! Reads responses with Rust clients. A line on stdin is a task, a line on stdout its result:
//!   {"client", "url", "headers", "model", "tools": [{"name", "description", "parameters"}]}
//!   {"calls": [[name, arguments, id], ...], "finish"} or {"error"}

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::time::Duration;
use std::{env, fs, io, iter};

use async_openai::config::OpenAIConfig;
use async_openai::middleware::ReqwestService;
use async_openai::types::responses::{OutputItem, ResponseStreamEvent};
use async_openai::types::{chat, responses};
use futures::TryStreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatOptions, ChatRequest, ChatStreamEvent};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use reqwest::Certificate;
use reqwest::header::HeaderName;
use serde::{Deserialize, Serialize};
use serde_json::{Value, from_str, json};
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(20);
const QUESTION: &str = "Go on.";

type Failure = Box<dyn Error + Send + Sync>;

#[derive(Deserialize)]
struct Task {
    client: String,
    url: String,
    headers: HashMap<String, String>,
    model: String,
    tools: Vec<Tool>,
}

#[derive(Deserialize)]
struct Tool {
    name: String,
    description: String,
    parameters: Value,
}

#[derive(Serialize)]
struct Reading {
    calls: Vec<(String, Value, Option<String>)>,
    finish: Value,
}

/// A call whose arguments are text.
#[derive(Default)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: String,
}

fn reading(calls: impl IntoIterator<Item = Call>, finish: Value) -> Result<Reading, Failure> {
    let parsed = |one: Call| Ok((one.name, parse(&one.arguments)?, one.id));
    let calls = calls.into_iter().map(parsed).collect::<Result<_, Failure>>()?;
    Ok(Reading { calls, finish })
}

fn parse(arguments: &str) -> Result<Value, Failure> {
    if arguments.is_empty() {
        return Ok(json!({}));
    }
    from_str(arguments).map_err(|error| format!("invalid JSON {arguments:?}: {error}").into())
}

fn async_openai(task: &Task, http: reqwest::Client) -> Result<async_openai::Client<OpenAIConfig>, Failure> {
    let mut config = OpenAIConfig::new().with_api_base(format!("{}/v1", task.url)).with_api_key("none");
    for (name, value) in &task.headers {
        config = config.with_header(HeaderName::try_from(name)?, value)?;
    }
    // The default service retries up to three times; this one does not retry.
    let service = ReqwestService::new(http.clone());
    Ok(async_openai::Client::build(http, config).with_http_service(service))
}

async fn async_openai_chat(task: Task, http: reqwest::Client) -> Result<Reading, Failure> {
    let client = async_openai(&task, http)?;
    let tool = |one: Tool| chat::ChatCompletionTool {
        function: chat::FunctionObject {
            name: one.name,
            description: Some(one.description),
            parameters: Some(one.parameters),
            strict: None,
        },
    };
    let request = chat::CreateChatCompletionRequestArgs::default()
        .model(task.model)
        .messages([chat::ChatCompletionRequestUserMessage::from(QUESTION).into()])
        .tools(task.tools.into_iter().map(tool).map(chat::ChatCompletionTools::Function).collect::<Vec<_>>())
        .build()?;
    let mut stream = client.chat().create_stream(request).await?;
    let mut calls: BTreeMap<_, Call> = BTreeMap::new();
    let mut finish = Value::Null;
    while let Some(chunk) = stream.try_next().await? {
        for choice in chunk.choices {
            for fragment in choice.delta.tool_calls.unwrap_or_default() {
                let call = calls.entry((choice.index, fragment.index)).or_default();
                call.id = fragment.id.or(call.id.take());
                let Some(function) = fragment.function else { continue };
                if let Some(name) = function.name {
                    call.name = name;
                }
                call.arguments += &function.arguments.unwrap_or_default();
            }
            if let Some(reason) = choice.finish_reason {
                finish = json!(reason);
            }
        }
    }
    reading(calls.into_values(), finish)
}

async fn async_openai_responses(task: Task, http: reqwest::Client) -> Result<Reading, Failure> {
    let client = async_openai(&task, http)?;
    let tool = |one: Tool| responses::FunctionTool {
        name: one.name,
        description: Some(one.description),
        parameters: Some(one.parameters),
        ..Default::default()
    };
    let request = responses::CreateResponseArgs::default()
        .model(task.model)
        .input(QUESTION)
        .tools(task.tools.into_iter().map(tool).map(responses::Tool::Function).collect::<Vec<_>>())
        .build()?;
    let mut stream = client.responses().create_stream(request).await?;
    let mut open: HashMap<_, Call> = HashMap::new();
    let mut calls = vec![];
    let mut finish = Value::Null;
    while let Some(event) = stream.try_next().await? {
        match event {
            ResponseStreamEvent::ResponseOutputItemAdded(added) => {
                if let OutputItem::FunctionCall(item) = added.item {
                    let call = Call { id: Some(item.call_id), name: item.name, arguments: String::new() };
                    open.insert(item.id.unwrap_or_default(), call);
                }
            }
            ResponseStreamEvent::ResponseFunctionCallArgumentsDelta(delta) => {
                if let Some(call) = open.get_mut(&delta.item_id) {
                    call.arguments += &delta.delta;
                }
            }
            ResponseStreamEvent::ResponseFunctionCallArgumentsDone(done) => {
                if let Some(mut call) = open.remove(&done.item_id) {
                    if call.arguments.is_empty() {
                        call.arguments = done.arguments;
                    }
                    calls.push((done.output_index, call));
                }
            }
            ResponseStreamEvent::ResponseCompleted(last) => finish = json!(last.response.status),
            ResponseStreamEvent::ResponseIncomplete(last) => finish = json!(last.response.status),
            ResponseStreamEvent::ResponseFailed(last) => finish = json!(last.response.status),
            ResponseStreamEvent::ResponseError(error) => return Err(error.message.into()),
            _ => {}
        }
    }
    calls.sort_by_key(|(index, _)| *index);
    reading(calls.into_iter().map(|(_, call)| call), finish)
}

async fn genai(task: Task, http: reqwest::Client, adapter: AdapterKind) -> Result<Reading, Failure> {
    let client = genai::Client::builder().with_reqwest(http).build()?;
    let target = ServiceTarget {
        endpoint: Endpoint::from_owned(format!("{}/v1/", task.url)),
        auth: AuthData::from_single("none"),
        model: ModelIden::new(adapter, task.model),
    };
    let tool =
        |one: Tool| genai::chat::Tool::new(one.name).with_description(one.description).with_schema(one.parameters);
    let request = ChatRequest::from_user(QUESTION).with_tools(task.tools.into_iter().map(tool));
    let headers: Vec<_> = task.headers.into_iter().collect();
    let options = ChatOptions::default().with_capture_tool_calls(true).with_extra_headers(headers);
    let mut stream = client.exec_chat_stream(target, request, Some(&options)).await?.stream;
    let mut all = Reading { calls: vec![], finish: Value::Null };
    while let Some(event) = stream.try_next().await? {
        let ChatStreamEvent::End(end) = event else { continue };
        all.finish = json!(end.captured_stop_reason.as_ref().map(|reason| reason.raw()));
        for call in end.captured_into_tool_calls().unwrap_or_default() {
            // genai returns arguments that it cannot parse as text.
            let arguments = match call.fn_arguments {
                Value::String(text) if text.is_empty() => json!({}),
                Value::String(text) => parse(&text).map(|_| Value::String(text))?,
                parsed => parsed,
            };
            all.calls.push((call.fn_name, arguments, Some(call.call_id)));
        }
    }
    Ok(all)
}

async fn read(line: String, http: reqwest::Client) -> Result<Reading, Failure> {
    let task: Task = from_str(&line)?;
    match task.client.as_str() {
        "async-openai chat" => async_openai_chat(task, http).await,
        "async-openai responses" => async_openai_responses(task, http).await,
        "genai chat" => genai(task, http, AdapterKind::OpenAI).await,
        "genai anthropic" => genai(task, http, AdapterKind::Anthropic).await,
        other => Err(format!("no such client: {other:?}").into()),
    }
}

/// Runs a task separately: the panic of a client is the result of its task, not the end of this process.
async fn run(line: String, http: reqwest::Client) -> Result<Reading, Failure> {
    tokio::spawn(timeout(PATIENCE, read(line, http))).await??
}

/// A client that trusts only this certificate authority, and does not keep connections open.
fn http() -> Result<reqwest::Client, Failure> {
    rustls::crypto::ring::default_provider().install_default().expect("no other provider is installed");
    let authority = env::var_os("CLIENTS_CA").map(fs::read).transpose()?.unwrap_or_default();
    let trusted = Certificate::from_pem_bundle(&authority)?;
    Ok(reqwest::Client::builder().no_proxy().tls_certs_only(trusted).pool_max_idle_per_host(0).build()?)
}

fn main() -> Result<(), Failure> {
    let http = http()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for line in io::stdin().lines() {
        let result = match runtime.block_on(run(line?, http.clone())) {
            Ok(reading) => json!(reading),
            Err(error) => {
                let causes = iter::successors(Some(&*error as &dyn Error), |&one| one.source());
                json!({"error": causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")})
            }
        };
        println!("{result}");
    }
    Ok(())
}
