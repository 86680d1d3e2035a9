"""Real clients of the reports, run where they are, and what they gave when they last were."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from docslib.models import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE: Final = Path(__file__).resolve().parent
KEPT: Final = HERE / "real_output"
ROOT: Final = HERE.parents[1]
QUESTION: Final = "How is a command line made for the ESP32?"


class RealClient(NamedTuple):
    """A real client, and how to run it."""

    report: str
    """The key of the report that it belongs to."""
    name: str
    """With its version."""
    about: str
    """What is shown."""
    runs: tuple[tuple[str, ...], ...]
    """The arguments of `toolstream run` before `--`, run by run."""
    shown: str
    """The command line, as it is shown."""
    command: Callable[[Path], list[str] | None]
    """The command line, with what it needs in a folder; `None` where the client is not here."""


def section(report: str) -> Iterator[str]:
    """What the real client of a report gave."""
    kept = KEPT / f"{report}.md"
    if kept.exists():
        yield kept.read_text(encoding="utf-8")


def run_all() -> None:
    """Run each real client that is here; tell which are not."""
    KEPT.mkdir(exist_ok=True)
    for one in CLIENTS:
        with tempfile.TemporaryDirectory() as folder:
            command = one.command(Path(folder))
            if command is None:
                print(f"{one.name} is not here; what it gave last stays", file=sys.stderr)
                continue
            text = "\n".join(_lines(one, command, Path(folder)))
        (KEPT / f"{one.report}.md").write_text(text, encoding="utf-8")


def _lines(one: RealClient, command: list[str], folder: Path) -> Iterator[str]:
    yield f"### {one.report}: the real client\n"
    yield f"Client: {one.name}. {one.about}\n"
    for words in one.runs:
        yield "```console"
        yield f"$ toolstream run {' '.join(words)} -- {one.shown}"
        yield from _run([*words, "--", *command], folder)
        yield "```\n"


def _run(words: list[str], folder: Path) -> Iterator[str]:
    """The log, then what the client printed."""
    log = folder / "log"
    log.write_bytes(b"")
    toolstream = [sys.executable, "-m", "toolstream_core.cli.main", "run", "--quiet", "--log", str(log)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "addon")}
    done = subprocess.run(
        [*toolstream, *words],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    yield from (clean(line) for line in log.read_text(encoding="utf-8").splitlines() if line.strip())
    yield from (line for line in done.stdout.splitlines() if line.strip())
    yield f"exit code {done.returncode}"


def _aichat(folder: Path) -> list[str] | None:
    """Aichat with one tool, which says what it got: the program that TOOLSTREAM_AICHAT names, or of the PATH."""
    program = os.environ.get("TOOLSTREAM_AICHAT") or shutil.which("aichat")
    if program is None:
        return None
    tool = folder / "functions" / "bin" / "web_search"
    tool.parent.mkdir(parents=True)
    tool.write_text('#!/bin/sh\necho "the tool web_search gets $1" >&2\necho "{}" > "$LLM_OUTPUT"\n')
    tool.chmod(0o700)
    properties = {"query": {"type": "string"}, "max_results": {"type": "integer"}}
    parameters = {"type": "object", "properties": properties, "required": ["query"]}
    declared = [{"name": "web_search", "description": "Searches the web.", "parameters": parameters}]
    (folder / "functions" / "functions.json").write_text(json.dumps(declared))
    model = {"name": "z-ai/glm-5", "supports_function_calling": True}
    settings = {
        "model": "openai:z-ai/glm-5",
        "stream": True,
        "function_calling": True,
        "use_tools": "web_search",
        "clients": [{"type": "openai", "api_key": "none", "models": [model]}],
    }
    (folder / "config.yaml").write_text(json.dumps(settings))  # JSON is YAML
    return ["env", f"AICHAT_CONFIG_DIR={folder}", program, QUESTION]


def _pi_ai(folder: Path) -> list[str] | None:
    """`@mariozechner/pi-ai@0.51.1` in the folder node_modules that TOOLSTREAM_PI_AI names."""
    modules = os.environ.get("TOOLSTREAM_PI_AI")
    if modules is None:
        return None
    shutil.copy(HERE / "pi_ai.mjs", folder / "pi_ai.mjs")
    (folder / "node_modules").symlink_to(Path(modules).resolve())
    return ["node", str(folder / "pi_ai.mjs")]


def _spring_ai(folder: Path) -> list[str] | None:
    """The class path that the file named by TOOLSTREAM_SPRING_AI has.

    Of `org.springframework.ai:spring-ai-openai:2.0.0-RC1` with `com.fasterxml.jackson.core:jackson-annotations:2.21`.
    """
    path = os.environ.get("TOOLSTREAM_SPRING_AI")
    if path is None:
        return None
    del folder
    quiet = "-Dslf4j.internal.verbosity=ERROR"
    return ["java", quiet, "-cp", Path(path).read_text().strip(), str(HERE / "SpringAi.java")]


CLIENTS: Final = (
    RealClient(
        "S1",
        "aichat 0.30.0, as published",
        "Its key is as reported, but a shorter key does not start a call. It therefore reads GLM-5's stream correctly. "
        "If the id follows the name, the key grows inside a call, and aichat runs the call with `{}`.",
        (
            ("flows/glm-5.flow", "--speed", "0"),
            ("flows/glm-5.flow", "--speed", "0", "--fault", "late-id"),
            ("flows/glm-5.flow", "--speed", "0", "--fault", "late-id", "--shape", "for:aichat"),
        ),
        f'aichat "{QUESTION}"',
        _aichat,
    ),
    RealClient(
        "S4",
        "Spring AI 2.0.0-RC1, `OpenAiChatModel`",
        "Its tool `read_file` prints its arguments.",
        (
            ("flows/deepseek-empty-id.flow", "--speed", "0"),
            ("flows/deepseek-empty-id.flow", "--speed", "0", "--repair", "empty-id"),
            ("flows/deepseek-empty-id.flow", "--speed", "0", "--shape", "whole-calls"),
        ),
        "java SpringAi.java",
        _spring_ai,
    ),
    RealClient(
        "S5",
        "`@mariozechner/pi-ai` 0.51.1",
        "It prints its stop reason and its calls.",
        (
            ("flows/openrouter-no-deltas.flow", "--speed", "0"),
            ("flows/openrouter-no-deltas.flow", "--speed", "0", "--repair", "missing-calls"),
        ),
        "node pi_ai.mjs",
        _pi_ai,
    ),
)
