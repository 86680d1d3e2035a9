"""A client of Responses over one WebSocket with one tool, by the official library: it runs calls that came whole.

Where an answer or the socket breaks, it asks again.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import openai
from websockets.exceptions import WebSocketException

TRIES = 3
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: Any = [{"type": "function", "name": "get_weather", "parameters": CITY}]


class BrokenAnswerError(Exception):
    """Nothing of the answer is to be run."""


def ask(connection: Any, asked: dict[str, Any]) -> Any:
    """The response, when it is whole."""
    connection.response.create(**asked)
    for event in connection:
        if event.type == "response.completed":
            return event.response
        if event.type in {"error", "response.failed", "response.incomplete"}:
            break
    raise BrokenAnswerError


def go_on(connection: Any, asked: dict[str, Any]) -> None:
    """Ask, and bring the results of calls, until an answer makes none; what is asked next stands in `asked`."""
    while True:
        response = ask(connection, asked)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return
        for call in calls:
            json.loads(call.arguments)
        asked["previous_response_id"] = response.id
        asked["input"] = [{"type": "function_call_output", "call_id": one.call_id, "output": "sunny"} for one in calls]


def main() -> int:
    """A right client, as far as one can be."""
    client = openai.OpenAI(max_retries=0)
    asked: dict[str, Any] = {"model": "m", "tools": TOOLS, "input": [{"role": "user", "content": "weather?"}]}
    for _ in range(TRIES):
        try:
            with client.responses.connect() as connection:
                go_on(connection, asked)
        except (BrokenAnswerError, OSError, ValueError, WebSocketException, openai.OpenAIError) as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        else:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
