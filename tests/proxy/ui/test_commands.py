"""toolstream's commands in mitmproxy."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import http
from mitmproxy.exceptions import CommandError

from tests.conftest import FLOWS
from tests.proxy.flows import CHUNK, DONE, SECRET
from tests.proxy.ui.interfaces import Interface, interface
from tests.proxy.ui.test_bodies import EMPTY_ID, FIRST_FRAGMENT, shown_response
from tests.proxy.ui.test_marks import misread_response
from tests.saved.test_sockets import SECRET as SOCKET_SECRET
from tests.saved.test_sockets import socket
from tests.sockets import conversation
from toolstream_core.report.catalogue import explained
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from pathlib import Path

COMMANDS = ("repair", "shape", "fault", "explain", "view", "report", "extract")

REQUIRED_SETTINGS = {"recut": "events=2"}
"""Faults with required settings."""


def run(mitm: Interface, text: str) -> Any:
    """Execute a command line and wait until its file is written."""

    async def running() -> Any:
        result = mitm.context.master.commands.execute(text)
        await asyncio.gather(*mitm.addon.interface.commands.writing)
        return result

    return asyncio.run(running())


def names(mitm: Interface, command: str) -> list[str]:
    """Return the completions of a command's first argument."""
    manager = mitm.context.master.commands
    definition = manager.commands[f"toolstream.{command}"].parameters[0]
    return list(manager.execute(definition.type.options_command))  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_are_documented(mitm: Interface, command: str) -> None:
    """Each command has a help text in mitmproxy."""
    assert mitm.context.master.commands.commands[f"toolstream.{command}"].help


@pytest.mark.parametrize("command", ["repair", "shape", "fault"])
def test_each_completed_name_can_be_set(mitm: Interface, command: str) -> None:
    """Each name sets the option, and `off` clears it."""
    option = f"toolstream_{command}"
    for name in names(mitm, command):
        settings = REQUIRED_SETTINGS.get(name, "")
        run(mitm, f"toolstream.{command} {name} {settings}".rstrip())
        spec = f"{name}:{settings}" if settings else name
        assert list(getattr(mitm.context.options, option)) == ([] if name == "off" else [spec])
    run(mitm, f"toolstream.{command} off")
    assert list(getattr(mitm.context.options, option)) == []


def test_several_repairs_and_settings_of_a_fault(mitm: Interface) -> None:
    """The syntax is that of the command line."""
    run(mitm, "toolstream.repair empty-id missing-finish")
    assert list(mitm.context.options.toolstream_repair) == ["empty-id", "missing-finish"]
    run(mitm, "toolstream.fault empty-id p=0.5 times=2")
    assert list(mitm.context.options.toolstream_fault) == ["empty-id:p=0.5,times=2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("toolstream.repair emptyid", "Invalid choice"),
        ("toolstream.repair off safe", "off stands alone. Expected off, or safe"),
        ("toolstream.repair", "missing name. toolstream_repair is off"),
        ("toolstream.fault empty-id p=2", "p"),
        ("toolstream.view @all page.html", "no LLM response with its body"),
    ],
)
def test_an_invalid_command_is_rejected(mitm: Interface, text: str, expected: str) -> None:
    """The error says what is wrong, and no option changes."""
    with pytest.raises(CommandError, match=expected):
        run(mitm, text)
    assert list(mitm.context.options.toolstream_repair) == list(mitm.context.options.toolstream_fault) == []


def test_names_are_explained(mitm: Interface) -> None:
    """The explanation is that of `toolstream explain`."""
    for name in names(mitm, "explain"):
        assert "\n".join(run(mitm, f"toolstream.explain '{name}'")) == (explained(name) or "").rstrip("\n")


def test_the_page_of_flows(mitm: Interface, tmp_path: Path) -> None:
    """The page has the verdict and the next request, without secrets."""
    flow = misread_response(mitm)
    run(mitm, f"toolstream.view @{flow.id} {tmp_path}/page.html")
    page = (tmp_path / "page.html").read_text()
    assert '"next_request":' in page
    assert "The client returned call 0 ls with other arguments" in page
    assert flow.id in page
    assert SECRET not in page
    run(mitm, f'toolstream.view "~meta toolstream_misread" {tmp_path}/misread.html')
    assert (tmp_path / "misread.html").read_text() == page


def test_the_report_on_flows(mitm: Interface, tmp_path: Path) -> None:
    """The report is that of `toolstream report`, without secrets."""
    misread_response(mitm)
    run(mitm, f"toolstream.report @marked {tmp_path}/report.md")
    report = (tmp_path / "report.md").read_text()
    assert "wrong-arguments" in report
    assert SECRET not in report


def test_the_fixtures_of_flows(mitm: Interface, tmp_path: Path) -> None:
    """Each conversation becomes one fixture that reads like its flows."""
    mitm.load(FLOWS / "glm-5.flow")
    mitm.pass_through(socket(conversation.two_responses()))
    run(mitm, f"toolstream.extract @all {tmp_path}/new")
    fixtures = [fixture for path in sorted((tmp_path / "new").glob("*.flow")) for fixture in load(path)]
    assert [call.name for fixture in fixtures for call in fixture.record.calls] == ["get_weather", "web_search"]
    assert len(fixtures) == 4
    assert all(SOCKET_SECRET.encode() not in path.read_bytes() for path in (tmp_path / "new").iterdir())


@pytest.mark.parametrize("command", ["view", "report", "extract"])
def test_no_file_is_overwritten(mitm: Interface, command: str, tmp_path: Path) -> None:
    """An existing file or folder is an error and does not change."""
    mitm.load(FLOWS / "glm-5.flow")
    run(mitm, f"toolstream.{command} @all {tmp_path}/new")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    with pytest.raises(CommandError, match=r"exists\. Name "):
        run(mitm, f"toolstream.{command} @all {tmp_path}/new")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_missing_folder_is_an_error(mitm: Interface, tmp_path: Path) -> None:
    """Nothing is written."""
    mitm.load(FLOWS / "glm-5.flow")
    with pytest.raises(CommandError, match="is not a folder"):
        run(mitm, f"toolstream.view @all {tmp_path}/none/page.html")


def test_kept_bodies_are_written_as_the_provider_sent_them(tmp_path: Path) -> None:
    """The files also say what was repaired for the client."""
    with interface(toolstream_repair=["empty-id"]) as mitm:
        flow = shown_response(mitm, FIRST_FRAGMENT, EMPTY_ID, DONE)
        assert isinstance(flow, http.HTTPFlow)
        for command in ("view", "report", "extract"):
            run(mitm, f"toolstream.{command} @all {tmp_path}/{command}")
        (fixture,) = [loaded for path in (tmp_path / "extract").glob("*.flow") for loaded in load(path)]
        assert b"".join(chunk.data for chunk in fixture.chunks) == FIRST_FRAGMENT + EMPTY_ID + DONE
        assert "empty-id" in (tmp_path / "report").read_text()
        assert "empty-id" in (tmp_path / "view").read_text()
        assert flow.response is not None
        assert flow.response.content != FIRST_FRAGMENT + EMPTY_ID + DONE
        assert CHUNK not in (flow.response.content or b"")
