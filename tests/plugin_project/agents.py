"""Small agents with the official clients: send a request, run the tools, send the next request."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import ollama
import openai
from google import genai
from google.genai import types

MODEL = "gpt-4.1-mini"
PROMPT = "What is the weather in Lisbon right now?"


def chat(spoil: Any = None) -> None:
    """Chat Completions; `spoil` may change the returned calls and results."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    with openai.OpenAI(max_retries=0) as client:
        with client.chat.completions.stream(model=MODEL, messages=messages) as events:
            message = events.get_final_completion().choices[0].message
        calls: list[Any] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in message.tool_calls or ()
        ]
        results: list[Any] = [{"role": "tool", "tool_call_id": call["id"], "content": "sunny"} for call in calls]
        if spoil:
            spoil(calls, results)
        messages += [{"role": "assistant", "tool_calls": calls}, *results]
        client.chat.completions.create(model=MODEL, messages=messages)


async def chat_async() -> None:
    """Chat Completions with the asynchronous client."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    async with openai.AsyncOpenAI(max_retries=0) as client:
        async with client.chat.completions.stream(model=MODEL, messages=messages) as events:
            message = (await events.get_final_completion()).choices[0].message
        messages.append(message.model_dump(exclude_none=True, include={"role", "tool_calls"}))
        messages += [{"role": "tool", "tool_call_id": call.id, "content": "sunny"} for call in message.tool_calls or ()]
        await client.chat.completions.create(model=MODEL, messages=messages)


def responses() -> None:
    """The Responses API."""
    items: list[Any] = [{"role": "user", "content": PROMPT}]
    with openai.OpenAI(max_retries=0) as client:
        with client.responses.stream(model=MODEL, input=items) as events:
            output = events.get_final_response().output
        for item in output:
            if item.type == "function_call":
                items.append(
                    {"type": "function_call", "call_id": item.call_id, "name": item.name, "arguments": item.arguments}
                )
                items.append({"type": "function_call_output", "call_id": item.call_id, "output": "sunny"})
        client.responses.create(model=MODEL, input=items)


def messages_api() -> None:
    """Anthropic's Messages API."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    with anthropic.Anthropic(max_retries=0) as client:
        with client.messages.stream(model="claude-haiku-4-5", max_tokens=99, messages=messages) as events:
            content = events.get_final_message().content
        uses = [block for block in content if block.type == "tool_use"]
        messages.append(
            {
                "role": "assistant",
                "content": [block.model_dump(include={"type", "id", "name", "input"}) for block in uses],
            }
        )
        messages.append(
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "sunny"} for use in uses],
            }
        )
        client.messages.create(model="claude-haiku-4-5", max_tokens=99, messages=messages)


def gemini() -> None:
    """Gemini's chat object, which keeps the history, with Google's host through the proxy."""
    with genai.Client(api_key="none") as client:
        session = client.chats.create(model="gemini-2.5-flash")
        parts = [part for chunk in session.send_message_stream(PROMPT) for part in _parts(chunk)]
        calls = [part.function_call for part in parts if part.function_call]
        responses = [
            types.Part.from_function_response(name=str(call.name), response={"output": "sunny"}) for call in calls
        ]
        list(session.send_message_stream(list(responses)))


def _parts(chunk: Any) -> list[Any]:
    content = chunk.candidates[0].content if chunk.candidates else None
    return list(content.parts or ()) if content else []


def ollama_chat() -> None:
    """Ollama's chat."""
    messages: list[Any] = [{"role": "user", "content": PROMPT}]
    client = ollama.Client()
    calls = [call for chunk in client.chat("qwen3", messages, stream=True) for call in chunk.message.tool_calls or ()]
    messages.append({"role": "assistant", "tool_calls": [call.model_dump() for call in calls]})
    messages += [{"role": "tool", "tool_name": call.function.name, "content": json.dumps("sunny")} for call in calls]
    client.chat("qwen3", messages)
