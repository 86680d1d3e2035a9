"""A client that splits a call, and the live view of `toolstream run` on it."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Final

from tests.cli.processes import toolstream
from tests.conftest import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ADDRESS: Final = re.compile(r"view: (http://127\.0\.0\.1:\d+/)#token=(\S+)")
FLOW: Final = ROOT / "flows/openclaw-empty-ids.flow"
AGENT: Final = """
import json, os, sys, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
tool = {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}}
messages = [{"role": "user", "content": "How is the weather in Tokyo?"}]
def ask():
    body = {"model": "example-chat", "stream": True, "messages": messages, "tools": [tool]}
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    for line in urllib.request.urlopen(request):
        if line.startswith(b"data: {"):
            yield from json.loads(line[6:])["choices"][0]["delta"].get("tool_calls") or []
calls = [{"id": one.get("id") or "", "type": "function", "function": one["function"]} for one in ask()]
messages.append({"role": "assistant", "content": "", "tool_calls": calls})
messages += [{"role": "tool", "tool_call_id": one["id"], "content": "error"} for one in calls]
list(ask())
sys.exit(5)
"""


@contextlib.contextmanager
def viewed(folder: Path) -> Iterator[str]:
    """The URL of the live view of a run whose client has exited; the run returns the client's exit code, 5."""
    agent = folder / "agent.py"
    agent.write_text(AGENT)
    command = toolstream("run", str(FLOW), "--speed", "0", "--view", "--", sys.executable, str(agent))
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        assert run.stderr is not None
        found = next(match for line in run.stderr if (match := ADDRESS.search(line)))
        next(line for line in run.stderr if "the view stays until Ctrl-C" in line)
        try:
            yield f"{found[1]}#token={found[2]}"
        finally:
            run.send_signal(signal.SIGINT)
            assert run.wait(60) == 5
