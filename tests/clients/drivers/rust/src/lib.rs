//! The two tools of every driver, its prompt, and its maximum of turns.

use std::env;
use std::error::Error;

use serde_json::{Value, json};

pub const TURNS: usize = 8;

pub type Failure = Box<dyn Error + Send + Sync>;

pub struct Tool {
    pub name: &'static str,
    pub description: &'static str,
    pub schema: Value,
}

/// A call whose fragments are still arriving.
#[derive(Default)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

pub fn model() -> String {
    env::var("DRIVER_MODEL").unwrap_or_else(|_| "gpt-4.1-mini".into())
}

pub fn prompt() -> String {
    env::args().nth(1).unwrap_or_else(|| "What is the weather in Oslo, in celsius? Then read notes.txt.".into())
}

pub fn tools() -> Vec<Tool> {
    vec![
        Tool {
            name: "get_weather",
            description: "Get the weather of a city.",
            schema: json!({
                "type": "object",
                "properties": {
                    "city": {"type": "string"},
                    "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
                },
                "required": ["city", "unit"],
                "additionalProperties": false,
            }),
        },
        Tool {
            name: "read_file",
            description: "Read a text file.",
            schema: json!({
                "type": "object",
                "properties": {"path": {"type": "string"}},
                "required": ["path"],
                "additionalProperties": false,
            }),
        },
    ]
}

/// The result of a call. Fails if the arguments are not JSON.
pub fn run_tool(name: &str, arguments: &str) -> Result<String, Failure> {
    let given: Value = serde_json::from_str(arguments)?;
    let text = |key: &str| given[key].as_str().map(str::to_owned);
    let result = match name {
        "get_weather" => text("city")
            .zip(text("unit"))
            .map(|(city, unit)| format!("Mild in {city}, 15 degrees {unit}.")),
        "read_file" => text("path").map(|path| format!("{path} has one line.")),
        _ => Some(format!("There is no tool {name}.")),
    };
    Ok(result.unwrap_or_else(|| format!("Wrong arguments: {given}")))
}
