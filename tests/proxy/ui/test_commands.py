"""mitmproxy's commands of toolstream."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import http
from mitmproxy.exceptions import CommandError

from tests.proxy.flows import CHUNK, DONE, SECRET
from tests.proxy.ui.shown import FLOWS, Shown, interface
from tests.proxy.ui.test_bodies import BEGUN, EMPTY_ID, shown_in
from tests.proxy.ui.test_marks import misread
from tests.saved.test_sockets import SECRET as SOCKET_SECRET
from tests.saved.test_sockets import socket
from tests.sockets import conversation
from toolstream_core.report.catalogue import explained
from toolstream_core.saved.read import load

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ALL = ("repair", "shape", "fault", "explain", "view", "report", "extract")

NEEDED = {"recut": "events=2"}
"""Settings of faults that need some."""


@pytest.fixture
def shown() -> Iterator[Shown]:
    """An interface of mitmproxy with toolstream."""
    with interface() as made:
        yield made


def run(shown: Shown, text: str) -> Any:
    """Execute a command as a user types it, until its file is written."""

    async def running() -> Any:
        result = shown.context.master.commands.execute(text)
        await asyncio.gather(*shown.addon.interface.commands.writing)
        return result

    return asyncio.run(running())


def names(shown: Shown, command: str) -> list[str]:
    """What completes the first argument of a command."""
    manager = shown.context.master.commands
    found = manager.commands[f"toolstream.{command}"].parameters[0]
    return list(manager.execute(found.type.options_command))  # type: ignore[attr-defined]


@pytest.mark.parametrize("command", ALL)
def test_commands_are_documented(shown: Shown, command: str) -> None:
    """In mitmproxy's own help."""
    assert shown.context.master.commands.commands[f"toolstream.{command}"].help


@pytest.mark.parametrize("command", ["repair", "shape", "fault"])
def test_all_names_that_complete_can_be_set(shown: Shown, command: str) -> None:
    """Each switches its option on; `off` switches it off."""
    option = f"toolstream_{command}"
    for name in names(shown, command):
        settings = NEEDED.get(name, "")
        run(shown, f"toolstream.{command} {name} {settings}".rstrip())
        spec = f"{name}:{settings}" if settings else name
        assert list(getattr(shown.context.options, option)) == ([] if name == "off" else [spec])
    run(shown, f"toolstream.{command} off")
    assert list(getattr(shown.context.options, option)) == []


def test_several_repairs_and_settings_of_a_fault(shown: Shown) -> None:
    """As on the command line."""
    run(shown, "toolstream.repair empty-id missing-finish")
    assert list(shown.context.options.toolstream_repair) == ["empty-id", "missing-finish"]
    run(shown, "toolstream.fault empty-id p=0.5 times=2")
    assert list(shown.context.options.toolstream_fault) == ["empty-id:p=0.5,times=2"]


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("toolstream.repair emptyid", "Invalid choice"),
        ("toolstream.repair off safe", "off stands alone. Expected off, or safe"),
        ("toolstream.repair", "missing name. toolstream_repair is off"),
        ("toolstream.fault empty-id p=2", "p"),
        ("toolstream.view @all page.html", "no LLM response with its body"),
    ],
)
def test_wrong_commands(shown: Shown, text: str, right: str) -> None:
    """The error says what is wrong; nothing is changed."""
    with pytest.raises(CommandError, match=right):
        run(shown, text)
    assert list(shown.context.options.toolstream_repair) == list(shown.context.options.toolstream_fault) == []


def test_names_are_explained(shown: Shown) -> None:
    """As `toolstream explain` prints them."""
    for name in names(shown, "explain"):
        assert "\n".join(run(shown, f"toolstream.explain '{name}'")) == (explained(name) or "").rstrip("\n")


def test_the_page_of_flows(shown: Shown, tmp_path: Path) -> None:
    """With the verdict and the request that shows it, and without secrets."""
    flow = misread(shown)
    run(shown, f"toolstream.view @{flow.id} {tmp_path}/page.html")
    page = (tmp_path / "page.html").read_text()
    assert '"next_request":' in page
    assert "The client returned call 0 ls with other arguments" in page
    assert flow.id in page
    assert SECRET not in page
    run(shown, f'toolstream.view "~meta toolstream_misread" {tmp_path}/misread.html')
    assert (tmp_path / "misread.html").read_text() == page


def test_the_report_on_flows(shown: Shown, tmp_path: Path) -> None:
    """As `toolstream report` writes it of a capture."""
    misread(shown)
    run(shown, f"toolstream.report @marked {tmp_path}/report.md")
    report = (tmp_path / "report.md").read_text()
    assert "wrong-arguments" in report
    assert SECRET not in report


def test_the_fixtures_of_flows(shown: Shown, tmp_path: Path) -> None:
    """One for each conversation, which read as the flows do."""
    shown.load(FLOWS / "glm-5.flow")
    shown.pass_through(socket(conversation.two_answers()))
    run(shown, f"toolstream.extract @all {tmp_path}/new")
    fixtures = [one for path in sorted((tmp_path / "new").glob("*.flow")) for one in load(path)]
    assert [call.name for one in fixtures for call in one.record.calls] == ["get_weather", "web_search"]
    assert len(fixtures) == 4
    assert all(SOCKET_SECRET.encode() not in path.read_bytes() for path in (tmp_path / "new").iterdir())


@pytest.mark.parametrize("command", ["view", "report", "extract"])
def test_no_file_is_overwritten(shown: Shown, command: str, tmp_path: Path) -> None:
    """A file that is there stays as it is; a folder keeps its fixtures."""
    shown.load(FLOWS / "glm-5.flow")
    run(shown, f"toolstream.{command} @all {tmp_path}/new")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in files}
    with pytest.raises(CommandError, match=r"exists\. Name "):
        run(shown, f"toolstream.{command} @all {tmp_path}/new")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_a_folder_that_is_not_there(shown: Shown, tmp_path: Path) -> None:
    """Nothing is written."""
    shown.load(FLOWS / "glm-5.flow")
    with pytest.raises(CommandError, match="is not a folder"):
        run(shown, f"toolstream.view @all {tmp_path}/none/page.html")


def test_kept_bodies_are_written_as_captures_are(tmp_path: Path) -> None:
    """What the provider sent, with what the client got."""
    with interface(toolstream_repair=["empty-id"]) as shown:
        flow = shown_in(shown, BEGUN, EMPTY_ID, DONE)
        assert isinstance(flow, http.HTTPFlow)
        for command in ("view", "report", "extract"):
            run(shown, f"toolstream.{command} @all {tmp_path}/{command}")
        (fixture,) = [one for path in (tmp_path / "extract").glob("*.flow") for one in load(path)]
        assert b"".join(chunk.data for chunk in fixture.chunks) == BEGUN + EMPTY_ID + DONE
        assert "empty-id" in (tmp_path / "report").read_text()
        assert "empty-id" in (tmp_path / "view").read_text()
        assert flow.response is not None
        assert flow.response.content != BEGUN + EMPTY_ID + DONE
        assert CHUNK not in (flow.response.content or b"")
