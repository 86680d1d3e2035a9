"""The tools of `toolstream mcp`. Each runs a command with JSON output in a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations

from toolstream_core.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

_INSTRUCTIONS: Final = (
    "toolstream reads recorded LLM streams. Begin with `verdicts`: what the client did with each response, why, and "
    "which option helps. `inspect` has the calls and the findings of each response. `explain` describes a name or code."
)
_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_RUNS: Final = ToolAnnotations(read_only_hint=False)
_CANNOT: Final = 2
"""The exit code of a command that could not do what was asked."""


def server(files: Sequence[str], command: Sequence[str]) -> MCPServer:
    """The server. Files and command are fixed here: no tool takes a path or a program."""
    tools = _Tools(files, command)
    made = MCPServer("toolstream", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    for tool in (tools.verdicts, tools.inspect, tools.explain):
        made.add_tool(tool, annotations=_READS, structured_output=False)
    if command:
        made.add_tool(tools.check, annotations=_RUNS, structured_output=False)
    return made


@dataclass(frozen=True, slots=True)
class _Tools:
    """The docstring of a tool is its description for the agent."""

    files: Sequence[str]
    command: Sequence[str]
    """The client that `check` runs; empty where there is none."""

    async def inspect(self, source: str = "") -> str:
        """Return the JSON document of `toolstream inspect`: calls, findings and verdict of each response.

        `source` selects one response by its `source` in that document; empty selects all.
        """
        document = await self._inspected()
        streams = [one for one in document["streams"] if source in ("", one["source"])]
        if source and not streams:
            known = ", ".join(one["source"] for one in document["streams"])
            raise ToolError(f"unknown source {source!r}. Expected one of: {known}")
        return json.dumps({**document, "streams": streams}, ensure_ascii=False)

    async def verdicts(self) -> str:
        """Report what the client did with each response: verdict, cause, and options that help.

        A response without a later request of its client has no verdict: null.
        """
        streams = (await self._inspected())["streams"]
        found = [{"source": one["source"], "verdict": one["verdict"]} for one in streams]
        return json.dumps(found, ensure_ascii=False)

    async def explain(self, name: str) -> str:
        """Explain a defect, family, shape, fault, preset, client or verdict by its name or code, as Markdown."""
        return await _toolstream("explain", name)

    async def check(self, cases: str = "") -> str:
        """Run the client against each fault. Return the JSON document of `toolstream check`: the grade of each case.

        `cases` selects cases by names, codes, families, kinds or globs, separated by commas; empty runs all, which
        takes minutes. The client runs the tools that the cases call.
        """
        words = [f"--case={cases}"] if cases else []
        return await _toolstream("check", "--format", "json", "--quiet", *words, "--", *self.command)

    async def _inspected(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(await _toolstream("inspect", "--format", "json", *self.files))
        return document


async def _toolstream(*words: str) -> str:
    """The standard output of a command. Raises `ToolError` with its message where it could not do what was asked."""
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "toolstream_core.cli.main", *words,
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        out, errors = await started.communicate()
    except asyncio.CancelledError:
        started.terminate()
        await started.wait()
        raise
    if started.returncode == _CANNOT or not out:
        raise ToolError(errors.decode(errors="replace").strip() or f"exit code {started.returncode}")
    return out.decode()
