"""Reads answers with Python clients that need an environment of their own, as ../javascript/clients.mjs does."""

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
"""Seconds for all answers of one line."""


def tool(described: dict[str, Any], calls: list[tuple[str, Any]]) -> FunctionTool:
    """A tool that only notes its calls."""

    async def called(_context: object, arguments: str) -> str:
        calls.append((described["name"], json.loads(arguments)))
        return "done"

    return FunctionTool(
        name=described["name"],
        description=described["description"],
        params_json_schema=described["parameters"],
        on_invoke_tool=called,
        strict_json_schema=False,
    )


async def agent_over_socket(asked: dict[str, Any]) -> dict[str, Any]:
    """The calls that an agent runs for each answer, of whose results it tells the model nothing."""
    client = AsyncOpenAI(api_key="none", base_url=f"{asked['url']}/v1", default_headers=asked["headers"], max_retries=0)
    model = OpenAIResponsesWSModel(model=asked["model"], openai_client=client)
    calls: list[tuple[str, Any]] = []
    tools: list[Any] = [tool(one, calls) for one in asked["tools"]]
    agent = Agent(name="agent", model=model, tools=tools, tool_use_behavior="stop_on_first_tool")
    responses = []
    for _ in range(asked["answers"]):
        calls.clear()
        async for _event in Runner.run_streamed(agent, "Go on.").stream_events():
            pass
        responses.append([*calls])
    await model.close()
    return {"answers": responses}


CLIENTS = {"agents responses": agent_over_socket}


def main() -> None:
    """Answer each line of stdin with one."""
    set_tracing_disabled(disabled=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            told = asyncio.run(asyncio.wait_for(CLIENTS[asked["client"]](asked), PATIENCE))
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what the client made of it
            told = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(told), flush=True)  # noqa: T201 - it is a program


main()
