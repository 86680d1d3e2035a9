"""The tools of `toolstream mcp`. Each runs a command with JSON output in a separate process."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.request import ProxyHandler, Request, build_opener

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from toolstream_core.cli.arguments import CANNOT
from toolstream_core.version import __version__

_INSTRUCTIONS: Final = (
    "toolstream reads recorded LLM streams. Begin with `verdicts`: what the client did with each response, why, and "
    "which option helps. `view` has a response event by event. `inspect` has the calls and the findings of each "
    "response. `explain` describes a name or code."
)
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS: Final = ToolAnnotations(read_only_hint=False)
_WORDS: Final = ("headline", "reason", "cause", "fix")
"""The texts that `toolstream view` shows for a verdict."""
_AROUND: Final = 10
"""Events that are shown on each side of the significant one."""
_PATIENCE: Final = 60.0
"""Timeout of a live view, in seconds."""


def server(files: Sequence[str], command: Sequence[str], view: tuple[str, str] | None) -> MCPServer:
    """The server. Files, command and live view (URL and token) are fixed here: no tool has them as parameters."""
    tools = _Tools(files, command, view)
    made = MCPServer("toolstream", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    reading = (tools.verdicts, tools.inspect) if files else ()
    for tool in (*reading, tools.view, tools.explain):
        made.add_tool(tool, annotations=_READS, structured_output=False)
    if command:
        made.add_tool(tools.check, annotations=_RUNS, structured_output=False)
    return made


@dataclass(frozen=True, slots=True)
class _Tools:
    """The docstring of a tool is its description for the agent."""

    files: Sequence[str]
    command: Sequence[str]
    """The client that `check` runs; empty if there is none."""
    live: tuple[str, str] | None
    """URL and token of the live view that `view` shows; `None`: it shows the files."""

    async def inspect(self, source: str = "") -> str:
        """Return the JSON document of `toolstream inspect`: calls, findings and verdict of each response.

        `source` selects one response by its `source` in that document; empty selects all.
        """
        document = await self._document("inspect")
        streams = [one for one in document["streams"] if source in ("", one["source"])]
        if source and not streams:
            known = ", ".join(one["source"] for one in document["streams"])
            raise ToolError(f"unknown source {source!r}. Expected one of: {known}")
        return json.dumps({**document, "streams": streams}, ensure_ascii=False)

    async def verdicts(self) -> str:
        """Report the verdict on each response: headline, reason, cause, fix and advice.

        A response without a later request of its client has no verdict: null.
        """
        inspected, viewed = await asyncio.gather(self._document("inspect"), self._document("view"))
        words = {one["source"]: one["verdict"] for one in viewed["responses"]}
        found = [
            {
                "source": one["source"],
                **{key: words[one["source"]][key] for key in _WORDS if key in words.get(one["source"], {})},
                "verdict": one["verdict"],
            }
            for one in inspected["streams"]
        ]
        return json.dumps(found, ensure_ascii=False)

    async def view(self, source: str = "", first: int | None = None, last: int | None = None) -> str:
        """Return one response event by event: the JSON document of `toolstream view`.

        `source` selects the response by its `source`; empty selects the first that the client misread. `first` and
        `last` are numbers of events; without them, those around the event that the client misread.
        """
        live = self.live and asyncio.to_thread(_fetched, *self.live)
        document = await (live or self._document("view"))
        responses = document["responses"]
        misread = [one for one in responses if one["verdict"]["understood"] is False]
        found = [one for one in responses if one["source"] == source] if source else (misread or responses)[:1]
        if not found:
            known = ", ".join(one["source"] for one in responses)
            raise ToolError(f"unknown source {source!r}. Expected one of: {known}" if known else "no response so far")
        at = found[0]["verdict"].get("event") or 0
        low = max(0, at - _AROUND) if first is None else first
        high = low + 2 * _AROUND if last is None else last
        shown = {**found[0], "events": _numbered(found[0]["events"], low, high)}
        return json.dumps({**document, "conversations": [], "responses": [shown]}, ensure_ascii=False)

    async def explain(self, name: str) -> str:
        """Explain a defect, family, shape, fault, preset, client, verdict or grade by its name or code, as Markdown."""
        return await _toolstream("explain", name)

    async def check(self, cases: str = "") -> str:
        """Run the client against each fault. Return the JSON document of `toolstream check`: the grade of each case.

        `cases` selects cases by names, codes, families, kinds or globs, separated by commas; empty runs all, which
        takes minutes. The client runs the tools that the cases call.
        """
        words = [f"--case={cases}"] if cases else []
        return await _toolstream("check", "--format", "json", "--quiet", *words, "--", *self.command)

    async def _document(self, command: str) -> dict[str, Any]:
        """The JSON document of a command on the files."""
        document: dict[str, Any] = json.loads(await _toolstream(command, "--format", "json", *self.files))
        return document


def _numbered(events: Sequence[dict[str, Any]], first: int, last: int) -> list[dict[str, Any]]:
    """The events with these numbers, each with its number, time and full text."""
    found: list[dict[str, Any]] = []
    raw, ms = "", None
    for place, event in enumerate(events):
        raw, ms = _text(raw, event["raw"]), event.get("ms", ms)
        number = event.get("number", place)
        if first <= number <= last:
            found.append({**event, "number": number, "raw": raw} | ({} if ms is None else {"ms": ms}))
    return found


def _text(before: str, raw: Any) -> str:
    """An event's text; `[head, text, tail]` is a difference to the one before, in UTF-16 units."""
    if isinstance(raw, str):
        return raw
    head, middle, tail = raw
    units = before.encode("utf-16-le", "surrogatepass")
    shortened = units[: 2 * head] + middle.encode("utf-16-le", "surrogatepass") + units[len(units) - 2 * tail :]
    return str(shortened, "utf-16-le", "surrogatepass")


def _fetched(url: str, token: str) -> dict[str, Any]:
    """The document of a live view. Raises `ToolError`."""
    request = Request(f"{url}document", headers={"Authorization": f"Bearer {token}"})  # noqa: S310 - loopback
    try:
        with build_opener(ProxyHandler({})).open(request, timeout=_PATIENCE) as response:
            document: dict[str, Any] = json.load(response)
            return document
    except (OSError, ValueError) as error:
        raise ToolError(f"the live view at {url} cannot be read: {error}. Is the proxy still running?") from error


async def _toolstream(*words: str) -> str:
    """The standard output of a command. Raises `ToolError` with its message if it failed."""
    started = _started(*words)
    try:
        out, errors = await asyncio.to_thread(started.communicate)
    except asyncio.CancelledError:
        started.terminate()  # the thread continues until the process has ended, and the server until the thread has
        raise
    if started.returncode == CANNOT or not out:
        raise ToolError(errors.decode(errors="replace").strip() or f"exit code {started.returncode}")
    return out.decode()


def _started(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        (sys.executable, "-m", "toolstream_core.cli.main", *words),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
