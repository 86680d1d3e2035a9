"""Responses with several choices, one JSON body, or WebSocket messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.sessions import CALLS, Stream, exchange, returned, text_only, user, write_session
from tests.cli.inspected import save
from tests.view.test_document import document, played, written_out

if TYPE_CHECKING:
    from pathlib import Path


def first_of(session: str, folder: Path) -> dict[str, Any]:
    """The first response of a session."""
    response: dict[str, Any] = written_out(document(write_session(session, folder)))["responses"][0]
    return response


def test_several_choices(tmp_path: Path) -> None:
    """Each call has a lane, and the headline names the calls of the choice that the client used."""
    response = first_of("choices", tmp_path)
    assert (response["choices"], [one["choice"] for one in response["calls"]]) == (2, [0, 1])
    assert response["lanes"] == ["text", "call-0", "call-1"]
    assert response["verdict"]["headline"] == "The client read call 0 read_file as sent"


def test_a_non_streaming_response(tmp_path: Path) -> None:
    """It is one event, and a client that follows the protocol gets the intended calls."""
    response = first_of("unstreamed", tmp_path)
    assert (response["streamed"], len(response["events"])) == (False, 1)
    readings = response["readings"]
    assert [(one["model"], one["correct"]) for one in readings["models"]] == [("protocol", True), ("intended", True)]
    calls = played(response, readings["traces"][0])
    assert [one["arguments"] for one in calls] == [one["arguments"] for one in response["calls"]]


def test_a_websocket(tmp_path: Path) -> None:
    """Each message is an event."""
    response = first_of("socket", tmp_path)
    assert response["transport"] == "websocket"
    assert response["streamed"]
    assert len(response["events"]) > len(response["calls"]) > 1


def test_the_choice_that_the_client_used(tmp_path: Path) -> None:
    """The client's model ends with the calls that the client returned of the second choice."""
    stream = Stream()
    for choice, call in enumerate(CALLS):
        stream.call(0, call, choice=choice, id="")
        stream.end("tool_calls", choice)
    identity, name, _ = CALLS[1]
    messages = [*user(), *returned((identity, name, "{}"))]
    flow = save(tmp_path / "x.flow", exchange(user(), stream.done(), 0, n=2), exchange(messages, text_only(), 1))
    response = written_out(document(flow))["responses"][0]
    readings = response["readings"]
    trace = next(one["trace"] for one in readings["models"] if one["model"] == readings["client"])
    calls = [one for one in played(response, readings["traces"][trace]) if "dropped" not in one]
    assert [(one["id"], one["name"], one["arguments"]) for one in calls] == [(identity, name, "")]
    assert response["verdict"]["headline"] == "The client returned call 1 list_issues without arguments"
