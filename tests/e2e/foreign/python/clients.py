"""Reads responses with Python clients that need their own environment, as ../javascript/clients.mjs does."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any

os.environ["SSL_CERT_FILE"] = os.environ["CLIENTS_CA"]

from agents import Agent, FunctionTool, Runner, set_tracing_disabled
from agents.models.openai_responses import OpenAIResponsesWSModel
from openai import AsyncOpenAI

PATIENCE = 50
"""The time limit for all responses of a line in seconds."""


def tool(declaration: dict[str, Any], calls: list[tuple[str, Any]]) -> FunctionTool:
    """A tool that records its calls."""

    async def called(_context: object, arguments: str) -> str:
        calls.append((declaration["name"], json.loads(arguments)))
        return "done"

    return FunctionTool(
        name=declaration["name"],
        description=declaration["description"],
        params_json_schema=declaration["parameters"],
        on_invoke_tool=called,
        strict_json_schema=False,
    )


async def agent_over_socket(task: dict[str, Any]) -> dict[str, Any]:
    """The calls that an agent runs for each response; it does not send their results."""
    client = AsyncOpenAI(api_key="none", base_url=f"{task['url']}/v1", default_headers=task["headers"], max_retries=0)
    model = OpenAIResponsesWSModel(model=task["model"], openai_client=client)
    calls: list[tuple[str, Any]] = []
    tools: list[Any] = [tool(one, calls) for one in task["tools"]]
    agent = Agent(name="agent", model=model, tools=tools, tool_use_behavior="stop_on_first_tool")
    responses = []
    for _ in range(task["responses"]):
        calls.clear()
        async for _event in Runner.run_streamed(agent, "Go on.").stream_events():
            pass
        responses.append([*calls])
    await model.close()
    return {"responses": responses}


CLIENTS = {"agents responses": agent_over_socket}


def main() -> None:
    """Write a result for each task on stdin."""
    set_tracing_disabled(disabled=True)
    for line in sys.stdin:
        task = json.loads(line)
        try:
            result = asyncio.run(asyncio.wait_for(CLIENTS[task["client"]](task), PATIENCE))
        except Exception as error:  # noqa: BLE001 - any error of a client is its result
            result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)  # noqa: T201 - a program


main()
