"""Saved flows as test items: missing and wrong expectations, updates, unused flows and pytest-xdist."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from tests.proxy.flows import flow_file
from tests.pytest_plugin.running import project, run
from tests.saved.test_sockets import socket
from tests.sockets import conversation
from toolstream_core.cli.main import main
from toolstream_core.pytest_plugin.flow_items import SHOWN, _is_full_run, shortened

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.e2e

REPLAYS = """
import pytest, urllib.request, json

@pytest.mark.toolstream("flows/openai-chat-single.flow")
def test_one(toolstream):
    body = json.dumps({"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}]}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(toolstream.base_url("openai-chat") + "/chat/completions", body, headers)
    assert b"get_weather" in urllib.request.urlopen(request).read()
    assert toolstream.proxy_url in toolstream.env["HTTPS_PROXY"]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create a project with a wrong, a missing, a too new and an unused expectation."""
    created = project(tmp_path, "openai-chat-single", "anthropic-single", "gemini-single", "glm-5")
    (created / "tests").mkdir()
    (created / "tests" / "test_replays.py").write_text(REPLAYS)
    (created / "pytest.ini").write_text("[pytest]\ntoolstream_flows = flows gone\ntestpaths = tests\n")
    (created / "flows" / "glm-5.expect.json").rename(created / "flows" / "gone.expect.json")
    (created / "flows" / "gemini-single.expect.json").write_text('{"version": 99, "answers": []}')
    path = created / "flows" / "anthropic-single.expect.json"
    path.write_text(path.read_text().replace('"get_', '"fetch_'))
    return created


def test_expectations_are_written_on_request_only(folder: Path) -> None:
    """The failures say how to write them; with the option, the process with the test writes them."""
    output = run(folder)
    assert "3 failed, 2 passed" in output, output
    assert "flows/glm-5.flow has no expectation flows/glm-5.expect.json" in output
    assert "pytest --toolstream-update=create flows/glm-5.flow" in output
    assert "flows/anthropic-single.flow differs from its expectation flows/anthropic-single.expect.json" in output
    assert "expected fetch_" in output.replace("'", "").replace('"', "")
    assert "has version 99" in output
    assert "Traceback" not in output
    assert "unused fixture flows/glm-5.flow: no test replays it" in output
    assert "unused expectation flows/gone.expect.json" in output
    assert "toolstream_flows: no such folder: gone" in output
    assert not (folder / "flows" / "glm-5.expect.json").exists()

    output = run(folder, "--toolstream-update=create,fix,trim", "-n", "1")
    assert "1 failed, 4 passed" in output, output
    for change in ("created flows/glm-5", "fixed flows/anthropic-single", "removed flows/gone"):
        assert f"{change}.expect.json" in output, output
    assert "unused fixture flows/anthropic-single.flow" in output
    assert "unused fixture flows/openai-chat-single.flow" not in output
    expectations = {path.name: path.read_text() for path in (folder / "flows").glob("*.json")}
    assert sorted(expectations) == [
        f"{name}.expect.json" for name in ("anthropic-single", "gemini-single", "glm-5", "openai-chat-single")
    ]
    assert json.loads(expectations["glm-5.expect.json"])["version"] == 1
    assert "get_" in expectations["anthropic-single.expect.json"]
    assert "99" in expectations["gemini-single.expect.json"]


def test_unused_flows_are_not_reported_for_a_partial_run(tmp_path: Path) -> None:
    """Tests that replay flows may not have run; a missing flow is reported once."""
    created = project(tmp_path, "glm-5", test_replays=REPLAYS.replace("openai-chat-single", "nowhere"))
    output = run(created, "flows")
    assert "1 passed" in output, output
    assert "unused fixture" not in output
    output = run(created)
    assert "unused fixture flows/glm-5.flow" in output
    assert output.count("\nmarker toolstream: no such file: 'flows/nowhere.flow'") == 1, output
    assert "During handling" not in output


def test_an_unknown_update_mode(tmp_path: Path) -> None:
    """The usage error names the modes."""
    output = run(project(tmp_path), "--toolstream-update=all")
    assert "--toolstream-update: unknown mode 'all'; expected create, fix, trim" in output
    assert output.endswith("exit code 4")


@pytest.mark.parametrize(
    ("words", "full"),
    [(["tests"], True), (["tests/test_a.py"], False), (["tests/test_a.py::test_b"], False), (["-k", "x"], False)],
)
def test_a_full_run_has_no_selection(words: list[str], full: bool) -> None:
    """Names, expressions and single files select tests."""
    options = SimpleNamespace(
        args=[word for word in words if not word.startswith("-")],
        getoption=lambda name, default=None: "x" if name == "keyword" and "-k" in words else default,
    )
    assert _is_full_run(cast("pytest.Config", options)) is full


def test_without_the_plugin(tmp_path: Path) -> None:
    """`-p no:toolstream` disables the plugin, and an unused plugin loads no other modules."""
    (tmp_path / "test_replays.py").write_text(
        "import sys\n"
        "def test_nothing_is_loaded():\n"
        "    loaded = {name for name in sys.modules if name.startswith(('toolstream_core.', 'mitmproxy'))}\n"
        "    assert loaded <= {'toolstream_core.pytest_plugin'}, loaded\n"
    )
    assert "1 passed" in run(tmp_path)
    without = run(
        tmp_path, "-p", "no:toolstream", "-p", "no:toolstream_core.pytest_plugin", "--toolstream-block-network"
    )
    assert "unrecognized arguments: --toolstream-block-network" in without


def test_many_unused_flows_are_counted() -> None:
    """At most a screen of them is named."""
    lines = [str(number) for number in range(SHOWN + 3)]
    assert shortened(lines) == [*lines[:SHOWN], "… and 3 more; -v names them"]
    assert shortened(lines[:SHOWN]) == lines[:SHOWN]


def test_a_saved_socket_is_one_item(tmp_path: Path) -> None:
    """A changed response on the socket fails it."""
    created = project(tmp_path)
    flow = created / "flows" / "session.flow"
    flow.write_bytes(flow_file(socket(conversation.two_responses())))
    assert "1 passed" in run(created, "--toolstream-update=create")
    responses = json.loads((created / "flows" / "session.expect.json").read_text())["answers"]
    assert [[call["name"] for call in response["calls"]] for response in responses] == [["get_weather"], []]
    assert main(["fault", "cumulative-arguments", str(flow), "-o", str(flow.with_suffix(".broken"))]) == 0
    flow.with_suffix(".broken").replace(flow)
    output = run(created)
    assert "1 failed" in output, output
    assert "flows/session.flow differs from its expectation flows/session.expect.json" in output
