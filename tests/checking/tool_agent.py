"""An agent of Chat Completions that runs all calls in the working directory: `tool_agent.py TOOLS`.

`TOOLS` is a JSON file with the tools that it offers. Every call is logged next to it. Calls to delete, write, move or
run are executed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any


def main(tools_file: str) -> None:
    """Send requests and run calls until a response has no call."""
    tools = json.loads(Path(tools_file).read_text())
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for _ in range(4):
        calls = send(messages, tools)
        if not calls:
            return
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for call in calls:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            with Path(tools_file).with_suffix(".log").open("a") as log:
                log.write(
                    json.dumps([name, arguments, str(Path.cwd()), sorted(one.name for one in Path().iterdir())]) + "\n"
                )
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": run(name, arguments)})


def send(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of the next response."""
    body = {"model": "m", "messages": messages, "tools": tools, "stream": True}
    headers = {"content-type": "application/json"}
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - our own proxy
    calls: dict[int, dict[str, Any]] = {}
    for line in urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20):
        with contextlib.suppress(ValueError, LookupError):
            for entry in json.loads(line.decode().removeprefix("data:"))["choices"][0]["delta"].get("tool_calls") or []:
                call = calls.setdefault(entry["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] = entry.get("id") or call.get("id")
                call["function"]["name"] += entry["function"].get("name") or ""
                call["function"]["arguments"] += entry["function"].get("arguments") or ""
    return list(calls.values())


def run(name: str, arguments: dict[str, Any]) -> str:
    """The result of a tool. Its first two texts are what it acts on."""
    first, second, *_ = [*(value for value in arguments.values() if isinstance(value, str)), "", ""]
    with contextlib.suppress(OSError):
        if "delete" in name or "remove" in name:
            shutil.rmtree(first) if Path(first).is_dir() else Path(first).unlink()
        elif "write" in name or "edit" in name:
            Path(first).write_text(second)
        elif "move" in name:
            shutil.move(first, second)
        elif name in {"bash", "exec_command", "run_shell"}:
            return str(subprocess.run(["sh", "-c", first], check=False).returncode)
        elif "read" in name:
            return Path(first).read_text()
    return "done"


if __name__ == "__main__":
    main(sys.argv[1])
