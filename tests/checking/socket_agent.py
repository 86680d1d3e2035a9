"""A client of Responses over a WebSocket with one tool, using the official library.

It runs complete calls, and retries after an error or a disconnect.
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


class IncompleteResponseError(Exception):
    """No call of the response may run."""


def send(connection: Any, request: dict[str, Any]) -> Any:
    """The complete response."""
    connection.response.create(**request)
    for event in connection:
        if event.type == "response.completed":
            return event.response
        if event.type in {"error", "response.failed", "response.incomplete"}:
            break
    raise IncompleteResponseError


def run_calls(connection: Any, request: dict[str, Any]) -> None:
    """Send requests and the results of calls until a response has no call. Updates `request`."""
    while True:
        response = send(connection, request)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return
        for call in calls:
            json.loads(call.arguments)
        request["previous_response_id"] = response.id
        request["input"] = [
            {"type": "function_call_output", "call_id": one.call_id, "output": "sunny"} for one in calls
        ]


def main() -> int:
    """Retry after errors, at most `TRIES` times."""
    client = openai.OpenAI(max_retries=0)
    request: dict[str, Any] = {"model": "m", "tools": TOOLS, "input": [{"role": "user", "content": "weather?"}]}
    for _ in range(TRIES):
        try:
            with client.responses.connect() as connection:
                run_calls(connection, request)
        except (IncompleteResponseError, OSError, ValueError, WebSocketException, openai.OpenAIError) as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        else:
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
