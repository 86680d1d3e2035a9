"""Marks, comments and metadata in the list of flows."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import flowfilter, http
from mitmproxy.test import tflow
from mitmproxy.tools.web.webaddons import WebAddon

from tests.proxy.flows import CHUNK, DONE, SECRET
from tests.proxy.ui.shown import FLOWS, Shown, flows_in, interface
from tests.proxy.ui.test_bodies import BEGUN, EMPTY_ID, shown_in
from tests.proxy.ui.test_views import answered, call
from tests.saved.test_sockets import socket
from tests.sockets import conversation

if TYPE_CHECKING:
    from collections.abc import Iterator

FINISH = (
    b'data: {"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},'
    b'"finish_reason":"tool_calls"}]}\n\n'
)
TYPED = CHUNK.replace(b'"id":"c1"', b'"type":"function","id":"c1"')
HEALTHY = TYPED + FINISH + DONE
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}


@pytest.fixture
def shown() -> Iterator[Shown]:
    """An interface of mitmproxy with toolstream."""
    with interface() as made:
        yield made


def misread(shown: Shown, *, before: Any = None) -> http.HTTPFlow:
    """A response that its client misread; `before` changes its flow before the verdict comes."""
    first, second = answered(HEALTHY), answered(DONE, call("c1", '{"x":1}'), RESULT)
    shown.pass_through(first)
    if before is not None:
        before(first)
    shown.pass_through(second)
    return first


def test_a_misread_response_is_marked(shown: Shown) -> None:
    """The verdict comes first in the comment; filters find it; the list is refreshed."""
    updated: list[str] = []

    def note(flow: Any) -> None:
        updated.append(flow.id)

    shown.view.sig_view_update.connect(note)
    flow = misread(shown)
    assert flow.marked == ":x:"
    assert flow.comment == "wrong-arguments", "no event: no known client bug has this effect"
    assert updated[-1] == flow.id
    for expression in (
        "~meta toolstream_misread",
        '~meta "toolstream_verdict: wrong-arguments"',
        "~meta toolstream_protocol:.openai-chat",
        "~comment wrong-arguments",
        "~marked",
        "~marker :x:",
    ):
        assert flowfilter.match(expression, flow), expression
        assert not flowfilter.match(expression, tflow.tflow(resp=True)), expression


@pytest.mark.parametrize("web", [False, True])
def test_a_verdict_makes_mitmweb_load_the_messages_again(web: bool) -> None:
    """It does so when a hash changes. The bodies are the same afterwards."""
    with interface() as shown:
        if web:
            shown.context.master.addons.add(WebAddon())
        first, second = answered(HEALTHY), answered(DONE, call("c1", '{"x":1}'), RESULT)
        shown.pass_through(first)
        bodies: list[tuple[bytes | None, bytes | None]] = []

        def note(flow: Any) -> None:
            assert first.response is not None
            bodies.append((first.response.raw_content, second.request.raw_content))

        shown.view.sig_view_update.connect(note)
        shown.pass_through(second)
        response, request = HEALTHY, second.request.raw_content
        assert bodies[-1] == (response, request)
        assert ((response + b"\n", request) in bodies) == web
        assert ((response, (request or b"") + b"\n") in bodies) == web


def test_a_response_that_was_read_well_has_no_mark(shown: Shown) -> None:
    """Filters find its verdict and its protocol."""
    first, second = answered(HEALTHY), answered(DONE, call("c1", "{}"), RESULT)
    shown.pass_through(first, second)
    assert (first.marked, first.comment) == ("", "")
    assert flowfilter.match('~meta "toolstream_verdict: ok"', first)
    assert not flowfilter.match("~meta toolstream_misread", first)


@pytest.mark.parametrize(
    ("mark", "comment"), [("", "mine"), (":red_circle:", ""), (":red_circle:", "mine")], ids=["comment", "mark", "both"]
)
def test_what_a_user_set_stays(shown: Shown, mark: str, comment: str) -> None:
    """Whatever comes after."""

    def mine(flow: http.HTTPFlow) -> None:
        flow.marked, flow.comment = mark, comment

    flow = misread(shown, before=mine)
    assert flow.marked == (mark or ":x:")
    assert flow.comment.startswith(comment or "wrong-arguments")


def test_what_a_user_removed_stays_removed(shown: Shown) -> None:
    """A mark of ours too; a worse one does not come back in its place."""
    flow = answered(CHUNK + DONE)
    shown.pass_through(flow)
    assert flow.marked == ":warning:"
    flow.marked = flow.comment = ""
    shown.pass_through(answered(DONE, call("c1", '{"x":1}'), RESULT))
    assert (flow.marked, flow.comment) == ("", "")
    assert flowfilter.match("~meta toolstream_misread", flow)


def test_a_saved_mark_is_still_ours(shown: Shown) -> None:
    """A flow that was saved with it gets the verdict when it is loaded again."""
    flow = answered(CHUNK + DONE)
    shown.pass_through(flow)
    loaded = http.HTTPFlow.from_state(flow.get_state())
    assert isinstance(loaded, http.HTTPFlow)
    with interface() as other:
        other.pass_through(loaded, answered(DONE, call("c1", '{"x":1}'), RESULT))
    assert loaded.marked == ":x:"
    assert loaded.comment.startswith("wrong-arguments")


def test_a_response_in_the_place_of_another_has_its_own_mark(shown: Shown) -> None:
    """A flow that is replayed loses what its first response got."""
    flow = misread(shown)
    assert flow.marked == ":x:"
    assert flow.response is not None
    flow.response.content = HEALTHY
    shown.pass_through(flow)
    assert (flow.marked, flow.comment) == ("", "")
    assert not flowfilter.match("~meta toolstream_misread", flow)


def test_findings_are_marked(shown: Shown) -> None:
    """Errors and warnings in front of notes."""
    flow = answered(CHUNK + DONE)
    shown.pass_through(flow)
    assert flow.marked == ":warning:"
    assert re.fullmatch(r"missing-finish at event \d", flow.comment)
    assert flowfilter.match("~meta toolstream_findings:.*missing-finish", flow)
    (noted, *_) = shown.load(FLOWS / "deepseek-empty-id.flow")
    assert (noted.marked, noted.comment) == (":small_red_triangle_down:", "empty-id at event 2")


def test_repairs_and_faults_are_marked() -> None:
    """A finding that was repaired is no warning."""
    with interface(toolstream_repair=["empty-id", "missing-type"]) as shown:
        flow = shown_in(shown, BEGUN, EMPTY_ID, FINISH, DONE)
        assert flow.marked == ":wrench:"
        assert re.match(r"\d events? repaired \(.*empty-id", flow.comment)
    with interface(toolstream_fault=["empty-id"]) as shown:
        flow = shown_in(shown, TYPED.replace(b'"{}"', b'"{"'), EMPTY_ID.replace(b'"id":"",', b""), FINISH, DONE)
        assert (flow.marked, flow.comment) == (":zap:", "fault empty-id")


def test_a_socket_has_the_mark_of_its_worst_response(shown: Shown) -> None:
    """Its responses share one flow."""
    flow = socket(conversation.two_answers())
    shown.pass_through(flow)
    assert flow.metadata["toolstream_protocol"] == "openai-responses"
    assert flow.metadata["toolstream_verdict"] == "results-only"
    assert flow.marked == ""


def test_no_secret_is_in_a_comment(shown: Shown) -> None:
    """Of a provider's error either."""
    flow = answered(b'data: {"error":{"message":"key ' + SECRET.encode() + b' is wrong","code":401}}\n\n')
    shown.pass_through(flow)
    assert flow.marked == ":warning:"
    assert SECRET not in str(flow.metadata) + flow.comment


def test_loaded_flows_are_as_they_were_but_for_marks(shown: Shown) -> None:
    """Their messages are the same bytes."""
    for path in sorted(FLOWS.glob("*.flow")):
        before = flows_in(path)
        after = shown.load(path)
        assert [one.request.raw_content for one in before] == [one.request.raw_content for one in after]
        assert [one.response and one.response.raw_content for one in before] == [
            one.response and one.response.raw_content for one in after
        ]
