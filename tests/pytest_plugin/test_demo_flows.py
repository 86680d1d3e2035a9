"""The marker `toolstream` with packaged flows `demo:NAME`."""

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


@pytest.mark.toolstream("demo:openai-chat-single")
def test_named(toolstream):
    body = {"model": "m", "messages": [{"role": "user", "content": "?"}], "stream": True}
    headers = {"content-type": "application/json"}
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()
    assert [call.name for call in toolstream.calls] == ["get_weather"]


@pytest.mark.toolstream("demo:openai-chat-simple")
def test_wrong(toolstream):
    pass
"""


def test_packaged_flows_in_the_marker(tmp_path: Path) -> None:
    """They are replayed like files, and an unknown name is an error with a suggestion."""
    output = run(project(tmp_path, test_demo=TESTS))
    assert "1 passed, 1 error" in output
    assert "did you mean demo:openai-chat-single?" in output
