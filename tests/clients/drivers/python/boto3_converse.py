"""boto3, Bedrock's ConverseStream, with blocks assembled by index as in the examples of its documentation."""

from __future__ import annotations

import json
from typing import Any

import boto3
from two_tools import DESCRIPTIONS, PROMPT, SCHEMAS, TURNS, run_tool

client = boto3.client("bedrock-runtime")
tools = [
    {"toolSpec": {"name": name, "description": DESCRIPTIONS[name], "inputSchema": {"json": schema}}}
    for name, schema in SCHEMAS.items()
]
messages: list[dict[str, Any]] = [{"role": "user", "content": [{"text": PROMPT}]}]
for _ in range(TURNS):
    response = client.converse_stream(
        modelId="anthropic.claude-sonnet-4-20250514-v1:0", messages=messages, toolConfig={"tools": tools}
    )
    blocks: dict[int, dict[str, Any]] = {}
    for event in response["stream"]:
        if "contentBlockStart" in event:
            start = event["contentBlockStart"]
            blocks[start["contentBlockIndex"]] = {**start["start"].get("toolUse", {}), "input": ""}
        elif "contentBlockDelta" in event:
            delta = event["contentBlockDelta"]
            block = blocks.setdefault(delta["contentBlockIndex"], {"text": ""})
            if "text" in delta["delta"]:
                block["text"] += delta["delta"]["text"]
            elif "toolUse" in delta["delta"]:
                block["input"] += delta["delta"]["toolUse"]["input"]
    calls = [block for block in blocks.values() if "toolUseId" in block]
    if not calls:
        break
    for call in calls:
        call["input"] = json.loads(call["input"] or "{}")
    content = [{"toolUse": block} if "toolUseId" in block else {"text": block["text"]} for block in blocks.values()]
    results = [
        {"toolResult": {"toolUseId": call["toolUseId"], "content": [{"text": run_tool(call["name"], call["input"])}]}}
        for call in calls
    ]
    messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
