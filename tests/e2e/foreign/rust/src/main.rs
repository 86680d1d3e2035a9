//! Reads answers with Rust clients. A line on stdin asks for one reading, a line on stdout tells it:
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
struct Asked {
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
struct Told {
    calls: Vec<(String, Value, Option<String>)>,
    finish: Value,
}

/// A call of which the arguments are still text.
#[derive(Default)]
struct Call {
    id: Option<String>,
    name: String,
    arguments: String,
}

fn told(calls: impl IntoIterator<Item = Call>, finish: Value) -> Result<Told, Failure> {
    let parsed = |one: Call| Ok((one.name, parse(&one.arguments)?, one.id));
    let calls = calls.into_iter().map(parsed).collect::<Result<_, Failure>>()?;
    Ok(Told { calls, finish })
}

fn parse(arguments: &str) -> Result<Value, Failure> {
    if arguments.is_empty() {
        return Ok(json!({}));
    }
    from_str(arguments).map_err(|error| format!("the arguments {arguments:?} are no JSON: {error}").into())
}

fn async_openai(asked: &Asked, http: reqwest::Client) -> Result<async_openai::Client<OpenAIConfig>, Failure> {
    let mut config = OpenAIConfig::new().with_api_base(format!("{}/v1", asked.url)).with_api_key("none");
    for (name, value) in &asked.headers {
        config = config.with_header(HeaderName::try_from(name)?, value)?;
    }
    // Its own service tries up to three times more; this one tries once.
    let service = ReqwestService::new(http.clone());
    Ok(async_openai::Client::build(http, config).with_http_service(service))
}

async fn async_openai_chat(asked: Asked, http: reqwest::Client) -> Result<Told, Failure> {
    let client = async_openai(&asked, http)?;
    let tool = |one: Tool| chat::ChatCompletionTool {
        function: chat::FunctionObject {
            name: one.name,
            description: Some(one.description),
            parameters: Some(one.parameters),
            strict: None,
        },
    };
    let request = chat::CreateChatCompletionRequestArgs::default()
        .model(asked.model)
        .messages([chat::ChatCompletionRequestUserMessage::from(QUESTION).into()])
        .tools(asked.tools.into_iter().map(tool).map(chat::ChatCompletionTools::Function).collect::<Vec<_>>())
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
    told(calls.into_values(), finish)
}

async fn async_openai_responses(asked: Asked, http: reqwest::Client) -> Result<Told, Failure> {
    let client = async_openai(&asked, http)?;
    let tool = |one: Tool| responses::FunctionTool {
        name: one.name,
        description: Some(one.description),
        parameters: Some(one.parameters),
        ..Default::default()
    };
    let request = responses::CreateResponseArgs::default()
        .model(asked.model)
        .input(QUESTION)
        .tools(asked.tools.into_iter().map(tool).map(responses::Tool::Function).collect::<Vec<_>>())
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
    told(calls.into_iter().map(|(_, call)| call), finish)
}

async fn genai(asked: Asked, http: reqwest::Client, adapter: AdapterKind) -> Result<Told, Failure> {
    let client = genai::Client::builder().with_reqwest(http).build()?;
    let target = ServiceTarget {
        endpoint: Endpoint::from_owned(format!("{}/v1/", asked.url)),
        auth: AuthData::from_single("none"),
        model: ModelIden::new(adapter, asked.model),
    };
    let tool =
        |one: Tool| genai::chat::Tool::new(one.name).with_description(one.description).with_schema(one.parameters);
    let request = ChatRequest::from_user(QUESTION).with_tools(asked.tools.into_iter().map(tool));
    let headers: Vec<_> = asked.headers.into_iter().collect();
    let options = ChatOptions::default().with_capture_tool_calls(true).with_extra_headers(headers);
    let mut stream = client.exec_chat_stream(target, request, Some(&options)).await?.stream;
    let mut all = Told { calls: vec![], finish: Value::Null };
    while let Some(event) = stream.try_next().await? {
        let ChatStreamEvent::End(end) = event else { continue };
        all.finish = json!(end.captured_stop_reason.as_ref().map(|reason| reason.raw()));
        for call in end.captured_into_tool_calls().unwrap_or_default() {
            // Arguments that it could not parse are handed on as they came, as text.
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

async fn read(line: String, http: reqwest::Client) -> Result<Told, Failure> {
    let asked: Asked = from_str(&line)?;
    match asked.client.as_str() {
        "async-openai chat" => async_openai_chat(asked, http).await,
        "async-openai responses" => async_openai_responses(asked, http).await,
        "genai chat" => genai(asked, http, AdapterKind::OpenAI).await,
        "genai anthropic" => genai(asked, http, AdapterKind::Anthropic).await,
        other => Err(format!("there is no client {other:?}").into()),
    }
}

/// A task of its own: where a client panics, that is a reading that failed, not the end of this process.
async fn answer(line: String, http: reqwest::Client) -> Result<Told, Failure> {
    tokio::spawn(timeout(PATIENCE, read(line, http))).await??
}

/// It trusts the one authority, and keeps no connection from one reading to the next.
fn http() -> Result<reqwest::Client, Failure> {
    rustls::crypto::ring::default_provider().install_default().expect("there is no other yet");
    let authority = env::var_os("CLIENTS_CA").map(fs::read).transpose()?.unwrap_or_default();
    let trusted = Certificate::from_pem_bundle(&authority)?;
    Ok(reqwest::Client::builder().no_proxy().tls_certs_only(trusted).pool_max_idle_per_host(0).build()?)
}

fn main() -> Result<(), Failure> {
    let http = http()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    for line in io::stdin().lines() {
        let told = match runtime.block_on(answer(line?, http.clone())) {
            Ok(told) => json!(told),
            Err(error) => {
                let causes = iter::successors(Some(&*error as &dyn Error), |&one| one.source());
                json!({"error": causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")})
            }
        };
        println!("{told}");
    }
    Ok(())
}
