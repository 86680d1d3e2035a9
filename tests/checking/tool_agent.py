"""An agent of Chat Completions that really runs what it is asked to: `tool_agent.py TOOLS` in the working directory.

`TOOLS` is a JSON file with the tools that it offers. Every call is logged beside it; those that delete, write, move or
run do so.
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
    """Ask until a response makes no call, and run the calls."""
    tools = json.loads(Path(tools_file).read_text())
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Do it."}]
    for _ in range(4):
        calls = ask(messages, tools)
        if not calls:
            return
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for call in calls:
            name, arguments = call["function"]["name"], json.loads(call["function"]["arguments"])
            with Path(tools_file).with_suffix(".log").open("a") as log:
                log.write(
                    json.dumps([name, arguments, str(Path.cwd()), sorted(one.name for one in Path().iterdir())]) + "\n"
                )
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": ran(name, arguments)})


def ask(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of the next response."""
    body = {"model": "m", "messages": messages, "tools": tools, "stream": True}
    headers = {"content-type": "application/json"}
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    asked = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - our own proxy
    calls: dict[int, dict[str, Any]] = {}
    for line in urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=20):
        with contextlib.suppress(ValueError, LookupError):
            for entry in json.loads(line.decode().removeprefix("data:"))["choices"][0]["delta"].get("tool_calls") or []:
                call = calls.setdefault(entry["index"], {"type": "function", "function": {"name": "", "arguments": ""}})
                call["id"] = entry.get("id") or call.get("id")
                call["function"]["name"] += entry["function"].get("name") or ""
                call["function"]["arguments"] += entry["function"].get("arguments") or ""
    return list(calls.values())


def ran(name: str, arguments: dict[str, Any]) -> str:
    """What a tool gives; its first two texts are what it acts on."""
    one, other, *_ = [*(value for value in arguments.values() if isinstance(value, str)), "", ""]
    with contextlib.suppress(OSError):
        if "delete" in name or "remove" in name:
            shutil.rmtree(one) if Path(one).is_dir() else Path(one).unlink()
        elif "write" in name or "edit" in name:
            Path(one).write_text(other)
        elif "move" in name:
            shutil.move(one, other)
        elif name in {"bash", "exec_command", "run_shell"}:
            return str(subprocess.run(["sh", "-c", one], check=False).returncode)
        elif "read" in name:
            return Path(one).read_text()
    return "done"


if __name__ == "__main__":
    main(sys.argv[1])
