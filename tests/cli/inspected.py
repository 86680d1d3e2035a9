"""Runs `toolstream inspect`, and makes the files that it is to read. Knows mitmproxy's flow files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
from mitmproxy import flow, http
from mitmproxy.io import FlowReader, FlowWriter

from toolstream_core.cli.main import main

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).resolve().parents[2]
GLM = ROOT / "flows" / "glm-5.flow"
SCHEMA = json.loads((ROOT / "docs" / "inspect.schema.json").read_text())


def run(*words: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    """`toolstream inspect` as a user runs it, from the project's root."""
    return subprocess.run(
        [sys.executable, "-m", "toolstream_core.cli.main", "inspect", *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": "addon", **env},
        input=stdin,
        capture_output=True,
        check=False,
    )


class Inspect:
    """`toolstream inspect` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def __call__(self, *words: object, code: int = 0) -> list[str]:
        """The lines on standard output of a run that ends with `code`."""
        assert main(["inspect", *map(str, words)]) == code
        out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.err
        return out.splitlines()

    def streams(self, *words: object, code: int = 0) -> list[dict[str, Any]]:
        """The streams of the JSON document, which is as the schema says."""
        document = json.loads("".join(self("--format", "json", *words, code=code)))
        jsonschema.validate(document, SCHEMA)
        streams: list[dict[str, Any]] = document["streams"]
        return streams


def flows(path: Path) -> list[http.HTTPFlow]:
    """The flows in a file."""
    with path.open("rb") as file:
        return [one for one in FlowReader(file).stream() if isinstance(one, http.HTTPFlow)]


def body(path: Path = GLM) -> bytes:
    """The body of the first answer in a file."""
    response = flows(path)[0].response
    assert response is not None
    assert response.raw_content is not None
    return response.raw_content


def save(path: Path, *several: flow.Flow) -> Path:
    """A flow file."""
    with path.open("wb") as file:
        writer = FlowWriter(file)
        for one in several:
            writer.add(one)
    return path
