"""The source of agents: the client of each of the five reports, broken and fixed. They need only Python."""

from __future__ import annotations

from typing import Final

_TOOL: Final = """
import json
import os
import sys
import urllib.request

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
FUNCTION = {"name": "web_search", "description": "Search.", "parameters": SCHEMA}


def post(path, body):
    url = os.environ["OPENAI_BASE_URL"] + path
    headers = {"content-type": "application/json", "authorization": "Bearer sk-none"}
    with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as response:
        return response.read().decode()


def events(text):
    data = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(one) for one in data if one != "[DONE]"]


def execute(name, arguments):
    if name != "web_search":
        return "Unknown tool"
    try:
        values = json.loads(arguments or "{}")
    except ValueError:
        return "Invalid arguments"
    return "17 tools" if "query" in values else "run() missing 1 required positional argument: 'query'"
"""
_CHAT: Final = f"""{_TOOL}

def deltas(chunks):
    return [entry for chunk in chunks for entry in chunk["choices"][0]["delta"].get("tool_calls") or ()]


def fields(entry):
    function = entry.get("function", {{}})
    return entry.get("id"), function.get("name"), function.get("arguments") or ""


def run(prompt):
    messages = [{{"role": "user", "content": prompt}}]
    for _ in range(6):
        body = {{"model": "m", "stream": True, "messages": messages}}
        body["tools"] = [{{"type": "function", "function": FUNCTION}}]
        chunks = events(post("/chat/completions", body))
        calls = assemble(chunks, body)
        if not calls:
            return "".join(chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks)
        tool_calls = [{{"id": i, "type": "function", "function": {{"name": n, "arguments": a}}}} for i, n, a in calls]
        messages.append({{"role": "assistant", "content": None, "tool_calls": tool_calls}})
        messages += [{{"role": "tool", "tool_call_id": i, "content": execute(n, a)}} for i, n, a in calls]
    raise SystemExit("stopped after 6 turns")
"""
_END: Final = """

if __name__ == "__main__":
    print(run(sys.argv[1]))
"""


def _aichat(starts: str) -> str:
    return f"""{_CHAT}

def assemble(chunks, body):
    calls, key, call = [], "", None
    for entry in deltas(chunks):
        call_id, name, arguments = fields(entry)
        new = f"{{call_id or ''}}/{{entry['index']}}"
        if {starts}:
            if call and call[1]:
                calls.append((call[0], call[1], call[2] or "{{}}"))
            key, call = new, ["", "", ""]
        call = [call[0] or call_id or "", call[1] or name or "", call[2] + arguments]
    if call and call[1]:
        calls.append((call[0], call[1], call[2] or "{{}}"))
    return calls
{_END}"""


AICHAT: Final = _aichat("new != key")
"""S1: a call's key is `id/index`, and an absent id is empty."""
AICHAT_FIXED: Final = _aichat("call_id and new != key")
OPENCLAW: Final = f"""{_CHAT}

def assemble(chunks, body):
    return [(call_id or "", name or "", arguments) for call_id, name, arguments in map(fields, deltas(chunks))]
{_END}"""
"""S3: every delta becomes a call."""
OPENCLAW_FIXED: Final = f"""{_CHAT}

def assemble(chunks, body):
    calls = []
    for call_id, name, arguments in map(fields, deltas(chunks)):
        if call_id:
            calls.append([call_id, name, arguments])
        else:
            calls[-1][2] += arguments
    return calls
{_END}"""
SPRING_AI: Final = f"""{_CHAT}

def assemble(chunks, body):
    calls = []
    for call_id, name, arguments in map(fields, deltas(chunks)):
        if call_id is not None:
            calls.append([call_id, name, arguments])
        else:
            calls[-1][2] += arguments
    if any(not call_id or name is None for call_id, name, _ in calls):
        raise SystemExit("No value present")
    return calls
{_END}"""
"""S4: a call starts at every id, also at an empty id."""
SPRING_AI_FIXED: Final = f"""{_CHAT}

def assemble(chunks, body):
    calls = {{}}
    for entry in deltas(chunks):
        call_id, name, arguments = fields(entry)
        known = calls.setdefault(entry["index"], ["", "", ""])
        calls[entry["index"]] = [known[0] or call_id, known[1] or name, known[2] + arguments]
    return list(calls.values())
{_END}"""
PI: Final = SPRING_AI_FIXED
"""S5: the finish reason is `tool_calls`, but no event has a call."""
PI_FIXED: Final = f"""{_CHAT}

def assemble(chunks, body):
    calls = [(call_id, name, arguments) for call_id, name, arguments in map(fields, deltas(chunks))]
    if calls or chunks[-1]["choices"][0]["finish_reason"] != "tool_calls":
        return calls
    unstreamed = json.loads(post("/chat/completions", {{**body, "stream": False}}))
    return [(one["id"], one["function"]["name"], one["function"]["arguments"])
            for one in unstreamed["choices"][0]["message"].get("tool_calls") or ()]
{_END}"""


def _ruby_llm(identity: str) -> str:
    return f"""{_TOOL}

def run(prompt):
    items = [{{"role": "user", "content": prompt}}]
    for _ in range(6):
        body = {{"model": "m", "stream": True, "input": items, "tools": [{{"type": "function", **FUNCTION}}]}}
        stream = events(post("/responses", body))
        calls, latest = {{}}, None
        for event in stream:
            if event["type"] == "response.output_item.added" and event["item"]["type"] == "function_call":
                latest = event["item"]["call_id"]
                calls[latest] = [event["item"]["name"], ""]
            if event["type"] == "response.function_call_arguments.delta":
                call_id = {identity}
                if call_id is not None:
                    latest = call_id
                    calls[call_id] = [event.get("name"), event["delta"]]
                else:
                    calls[latest][1] += event["delta"]
        if not calls:
            return "".join(event["delta"] for event in stream if event["type"] == "response.output_text.delta")
        for call_id, (name, arguments) in calls.items():
            if name is None:
                raise SystemExit("no tool None")
            items.append({{"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}})
            items.append({{"type": "function_call_output", "call_id": call_id, "output": execute(name, arguments)}})
    raise SystemExit("stopped after 6 turns")
{_END}"""


RUBY_LLM: Final = _ruby_llm('event.get("call_id", event["item_id"])')
"""S2: an arguments delta with an id becomes a separate call."""
RUBY_LLM_FIXED: Final = _ruby_llm("None")
