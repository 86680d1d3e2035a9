"""The marker `toolstream` with `calls:`: calls of harmless or named tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pytest_plugin.running import project, run

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

TESTS = """
import json
import os
import urllib.request

import pytest


def post(name):
    tools = [{"type": "function", "function": {"name": name, "parameters": {}}}]
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "tools": tools}
    headers = {"content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()


@pytest.mark.toolstream("calls:")
@pytest.mark.parametrize(("name", "calls"), [("get_time", 1), ("delete_all", 0)])
def test_harmless(toolstream, name, calls):
    post(name)
    assert len(toolstream.calls) == calls


@pytest.mark.toolstream('calls:delete_all {"really":true}')
def test_named(toolstream):
    post("delete_all")
    assert [call.input for call in toolstream.calls] == [{"really": True}]


@pytest.mark.toolstream("calls:delete_all {")
def test_wrong(toolstream):
    pass


@pytest.mark.toolstream("calls:", "flows")
def test_both(toolstream):
    pass
"""


def test_calls_in_the_marker(tmp_path: Path) -> None:
    """An invalid value is an error with the expected form."""
    output = run(project(tmp_path, test_calls=TESTS))
    assert "3 passed, 2 errors" in output
    assert "are not valid JSON" in output
    assert "give either calls: or flows" in output
