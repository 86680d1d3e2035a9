"""Runs `toolstream inspect` and writes its input files. Knows mitmproxy's flow files."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
from mitmproxy import flow

from tests.cli.processes import environment, toolstream
from tests.conftest import FLOWS, ROOT
from tests.proxy.flows import flow_file, flows_in
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    import pytest

GLM = FLOWS / "glm-5.flow"
SCHEMA = json.loads((ROOT / "docs" / "inspect.schema.json").read_text())


def run(*words: str, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    """Run `toolstream inspect` as a user does, from the project's root."""
    return subprocess.run(
        toolstream("inspect", *words), cwd=ROOT, env=environment(**env), input=stdin, capture_output=True, check=False
    )


class Inspect:
    """`toolstream inspect` in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self.err = ""

    def __call__(self, *words: object, code: int = 0) -> list[str]:
        """Return the lines on standard output, after a check of the exit code."""
        assert main(["inspect", *map(str, words)]) == code
        out, self.err = self._capsys.readouterr()
        assert "Traceback" not in self.err
        return out.splitlines()

    def streams(self, *words: object, code: int = 0) -> list[dict[str, Any]]:
        """Return the streams of the JSON document, after a check against the schema."""
        document = json.loads("".join(self("--format", "json", *words, code=code)))
        jsonschema.validate(document, SCHEMA)
        streams: list[dict[str, Any]] = document["streams"]
        return streams


def body(path: Path = GLM) -> bytes:
    """Return the body of the first response in a file."""
    response = flows_in(path)[0].response
    assert response is not None
    assert response.raw_content is not None
    return response.raw_content


def save(path: Path, *saved: flow.Flow) -> Path:
    """Write flows into a file and return its path."""
    path.write_bytes(flow_file(*saved))
    return path
