"""Marks, comments and metadata in the list of flows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from mitmproxy import flowfilter, http
from mitmproxy.test import tflow
from mitmproxy.tools.web.webaddons import WebAddon

from tests.conftest import FLOWS
from tests.proxy.flows import CHUNK, DONE, SECRET, flows_in
from tests.proxy.ui.interfaces import Interface, interface
from tests.proxy.ui.test_bodies import EMPTY_ID, FIRST_FRAGMENT, shown_response
from tests.proxy.ui.test_views import response_flow, returned_call
from tests.saved.test_sockets import socket
from tests.sockets import conversation

FINISH = (
    b'data: {"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{},'
    b'"finish_reason":"tool_calls"}]}\n\n'
)
WITH_TYPE = CHUNK.replace(b'"id":"c1"', b'"type":"function","id":"c1"')
HEALTHY = WITH_TYPE + FINISH + DONE
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}


def misread_response(mitm: Interface, *, before: Any = None) -> http.HTTPFlow:
    """Return a response that its client misread; `before` changes its flow before the verdict."""
    first, second = response_flow(HEALTHY), response_flow(DONE, returned_call("c1", '{"x":1}'), RESULT)
    mitm.pass_through(first)
    if before is not None:
        before(first)
    mitm.pass_through(second)
    return first


def test_a_misread_response_is_marked(mitm: Interface) -> None:
    """The comment starts with the verdict, filters match it, and the list is updated."""
    updated: list[str] = []

    def note(flow: Any) -> None:
        updated.append(flow.id)

    mitm.view.sig_view_update.connect(note)
    flow = misread_response(mitm)
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
def test_a_verdict_makes_mitmweb_reload_the_messages(web: bool) -> None:
    """Mitmweb reloads a message when its hash changes; the bodies are the same afterwards."""
    with interface() as mitm:
        if web:
            mitm.context.master.addons.add(WebAddon())
        first, second = response_flow(HEALTHY), response_flow(DONE, returned_call("c1", '{"x":1}'), RESULT)
        mitm.pass_through(first)
        bodies: list[tuple[bytes | None, bytes | None]] = []

        def note(flow: Any) -> None:
            assert first.response is not None
            bodies.append((first.response.raw_content, second.request.raw_content))

        mitm.view.sig_view_update.connect(note)
        mitm.pass_through(second)
        response, request = HEALTHY, second.request.raw_content
        assert bodies[-1] == (response, request)
        assert ((response + b"\n", request) in bodies) == web
        assert ((response, (request or b"") + b"\n") in bodies) == web


def test_a_correctly_read_response_has_no_mark(mitm: Interface) -> None:
    """Filters match its verdict and its protocol."""
    first, second = response_flow(HEALTHY), response_flow(DONE, returned_call("c1", "{}"), RESULT)
    mitm.pass_through(first, second)
    assert (first.marked, first.comment) == ("", "")
    assert flowfilter.match('~meta "toolstream_verdict: ok"', first)
    assert not flowfilter.match("~meta toolstream_misread", first)


@pytest.mark.parametrize(
    ("mark", "comment"), [("", "mine"), (":red_circle:", ""), (":red_circle:", "mine")], ids=["comment", "mark", "both"]
)
def test_a_users_mark_and_comment_stay(mitm: Interface, mark: str, comment: str) -> None:
    """A later verdict does not replace them."""

    def set_by_user(flow: http.HTTPFlow) -> None:
        flow.marked, flow.comment = mark, comment

    flow = misread_response(mitm, before=set_by_user)
    assert flow.marked == (mark or ":x:")
    assert flow.comment.startswith(comment or "wrong-arguments")


def test_a_removed_mark_is_not_set_again(mitm: Interface) -> None:
    """A later verdict sets no mark after the user removed one."""
    flow = response_flow(CHUNK + DONE)
    mitm.pass_through(flow)
    assert flow.marked == ":warning:"
    flow.marked = flow.comment = ""
    mitm.pass_through(response_flow(DONE, returned_call("c1", '{"x":1}'), RESULT))
    assert (flow.marked, flow.comment) == ("", "")
    assert flowfilter.match("~meta toolstream_misread", flow)


def test_a_saved_mark_is_updated(mitm: Interface) -> None:
    """A mark of toolstream in a loaded flow is replaced by a later verdict."""
    flow = response_flow(CHUNK + DONE)
    mitm.pass_through(flow)
    loaded = http.HTTPFlow.from_state(flow.get_state())
    assert isinstance(loaded, http.HTTPFlow)
    with interface() as other:
        other.pass_through(loaded, response_flow(DONE, returned_call("c1", '{"x":1}'), RESULT))
    assert loaded.marked == ":x:"
    assert loaded.comment.startswith("wrong-arguments")


def test_a_replayed_flow_gets_a_new_mark(mitm: Interface) -> None:
    """A replayed flow loses the mark of its first response."""
    flow = misread_response(mitm)
    assert flow.marked == ":x:"
    assert flow.response is not None
    flow.response.content = HEALTHY
    mitm.pass_through(flow)
    assert (flow.marked, flow.comment) == ("", "")
    assert not flowfilter.match("~meta toolstream_misread", flow)


def test_findings_are_marked(mitm: Interface) -> None:
    """Errors and warnings precede notes."""
    flow = response_flow(CHUNK + DONE)
    mitm.pass_through(flow)
    assert flow.marked == ":warning:"
    assert re.fullmatch(r"missing-finish at event \d", flow.comment)
    assert flowfilter.match("~meta toolstream_findings:.*missing-finish", flow)
    (with_note, *_) = mitm.load(FLOWS / "deepseek-empty-id.flow")
    assert (with_note.marked, with_note.comment) == (":small_red_triangle_down:", "empty-id at event 2")


def test_repairs_and_faults_are_marked() -> None:
    """A repaired finding is not marked as a warning."""
    with interface(toolstream_repair=["empty-id", "missing-type"]) as mitm:
        flow = shown_response(mitm, FIRST_FRAGMENT, EMPTY_ID, FINISH, DONE)
        assert flow.marked == ":wrench:"
        assert re.match(r"\d events? repaired \(.*empty-id", flow.comment)
    with interface(toolstream_fault=["empty-id"]) as mitm:
        flow = shown_response(
            mitm, WITH_TYPE.replace(b'"{}"', b'"{"'), EMPTY_ID.replace(b'"id":"",', b""), FINISH, DONE
        )
        assert (flow.marked, flow.comment) == (":zap:", "fault empty-id")


def test_a_socket_has_the_mark_of_its_worst_response(mitm: Interface) -> None:
    """The responses of a socket share one flow."""
    flow = socket(conversation.two_responses())
    mitm.pass_through(flow)
    assert flow.metadata["toolstream_protocol"] == "openai-responses"
    assert flow.metadata["toolstream_verdict"] == "results-only"
    assert flow.marked == ""


def test_no_secret_is_in_a_comment(mitm: Interface) -> None:
    """A secret in a provider's error is hidden."""
    flow = response_flow(b'data: {"error":{"message":"key ' + SECRET.encode() + b' is wrong","code":401}}\n\n')
    mitm.pass_through(flow)
    assert flow.marked == ":warning:"
    assert SECRET not in str(flow.metadata) + flow.comment


def test_marks_do_not_change_messages(mitm: Interface) -> None:
    """The messages of a loaded flow have the same bytes."""
    for path in sorted(FLOWS.glob("*.flow")):
        before = flows_in(path)
        after = mitm.load(path)
        assert [flow.request.raw_content for flow in before] == [flow.request.raw_content for flow in after]
        assert [flow.response and flow.response.raw_content for flow in before] == [
            flow.response and flow.response.raw_content for flow in after
        ]
