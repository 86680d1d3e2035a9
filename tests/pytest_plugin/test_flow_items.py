"""Saved flows as tests of their own: missing and wrong expectations, updates, what is left over, other processes."""

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
    """A project with an expectation that is wrong, one that is missing, one that is too new, and one without a flow."""
    made = project(tmp_path, "openai-chat-single", "anthropic-single", "gemini-single", "glm-5")
    (made / "tests").mkdir()
    (made / "tests" / "test_replays.py").write_text(REPLAYS)
    (made / "pytest.ini").write_text("[pytest]\ntoolstream_flows = flows gone\ntestpaths = tests\n")
    (made / "flows" / "glm-5.expect.json").rename(made / "flows" / "gone.expect.json")
    (made / "flows" / "gemini-single.expect.json").write_text('{"version": 99, "answers": []}')
    path = made / "flows" / "anthropic-single.expect.json"
    path.write_text(path.read_text().replace('"get_', '"fetch_'))
    return made


def test_what_is_wrong_is_told_and_written_on_demand_alone(folder: Path) -> None:
    """First how to write it; then it is written, by the process that has the test. Flows are found beside testpaths."""
    told = run(folder)
    assert "3 failed, 2 passed" in told, told
    assert "flows/glm-5.flow has no expectation flows/glm-5.expect.json" in told
    assert "pytest --toolstream-update=create flows/glm-5.flow" in told
    assert "flows/anthropic-single.flow differs from its expectation flows/anthropic-single.expect.json" in told
    assert "expected fetch_" in told.replace("'", "").replace('"', "")
    assert "has version 99" in told
    assert "Traceback" not in told
    assert "unused fixture flows/glm-5.flow: no test replays it" in told
    assert "unused expectation flows/gone.expect.json" in told
    assert "toolstream_flows: no such folder: gone" in told
    assert not (folder / "flows" / "glm-5.expect.json").exists()

    told = run(folder, "--toolstream-update=create,fix,trim", "-n", "1")
    assert "1 failed, 4 passed" in told, told
    for change in ("created flows/glm-5", "fixed flows/anthropic-single", "removed flows/gone"):
        assert f"{change}.expect.json" in told, told
    assert "unused fixture flows/anthropic-single.flow" in told
    assert "unused fixture flows/openai-chat-single.flow" not in told
    there = {path.name: path.read_text() for path in (folder / "flows").glob("*.json")}
    assert sorted(there) == [
        f"{name}.expect.json" for name in ("anthropic-single", "gemini-single", "glm-5", "openai-chat-single")
    ]
    assert json.loads(there["glm-5.expect.json"])["version"] == 1
    assert "get_" in there["anthropic-single.expect.json"]
    assert "99" in there["gemini-single.expect.json"]


def test_flows_by_themselves(tmp_path: Path) -> None:
    """The tests that replay them did not run, so nobody knows what is unused; a flow that is not there is told once."""
    made = project(tmp_path, "glm-5", test_replays=REPLAYS.replace("openai-chat-single", "nowhere"))
    told = run(made, "flows")
    assert "1 passed" in told, told
    assert "unused fixture" not in told
    told = run(made)
    assert "unused fixture flows/glm-5.flow" in told
    assert told.count("\nmarker toolstream: no such file: 'flows/nowhere.flow'") == 1, told
    assert "During handling" not in told


def test_a_wrong_mode(tmp_path: Path) -> None:
    """A usage error that names the right ones."""
    told = run(project(tmp_path), "--toolstream-update=all")
    assert "--toolstream-update: unknown mode 'all'; expected create, fix, trim" in told
    assert told.endswith("exit code 4")


@pytest.mark.parametrize(
    ("words", "whole"),
    [(["tests"], True), (["tests/test_a.py"], False), (["tests/test_a.py::test_b"], False), (["-k", "x"], False)],
)
def test_unused_flows_are_told_only_where_all_tests_ran(words: list[str], whole: bool) -> None:
    """Names, expressions and single files leave tests out."""
    options = SimpleNamespace(
        args=[word for word in words if not word.startswith("-")],
        getoption=lambda name, default=None: "x" if name == "keyword" and "-k" in words else default,
    )
    assert _is_full_run(cast("pytest.Config", options)) is whole


def test_without_the_plugin(tmp_path: Path) -> None:
    """`-p no:toolstream` is as if it were not installed; and where it is, nothing of it is loaded before it is used."""
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
    """As many as fit on a screen are named."""
    lines = [str(number) for number in range(SHOWN + 3)]
    assert shortened(lines) == [*lines[:SHOWN], "… and 3 more; -v names them"]
    assert shortened(lines[:SHOWN]) == lines[:SHOWN]


def test_each_answer_of_a_saved_socket_is_expected(tmp_path: Path) -> None:
    """One item a file; what changed on the socket fails it."""
    made = project(tmp_path)
    flow = made / "flows" / "session.flow"
    flow.write_bytes(flow_file(socket(conversation.two_answers())))
    assert "1 passed" in run(made, "--toolstream-update=create")
    responses = json.loads((made / "flows" / "session.expect.json").read_text())["answers"]
    assert [[call["name"] for call in response["calls"]] for response in responses] == [["get_weather"], []]
    assert main(["fault", "cumulative-arguments", str(flow), "-o", str(flow.with_suffix(".broken"))]) == 0
    flow.with_suffix(".broken").replace(flow)
    told = run(made)
    assert "1 failed" in told, told
    assert "flows/session.flow differs from its expectation flows/session.expect.json" in told
