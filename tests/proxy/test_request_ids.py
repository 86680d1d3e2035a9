"""Ids of requests that follow a rewritten answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.test import tflow, tutils

from toolstream_core.protocols.requests.conversation import mentions
from toolstream_core.proxy.own_ids import response_ids, restore, restored, upstream
from toolstream_core.stages.response_ids import Ids, Own

MADE, OTHER = "call_0123456789abcdef01234567", "call_fedcba9876543210fedcba98______"


def own(**known: str) -> dict[str, Own]:
    """What is behind made-up ids, each of a call of `f`."""
    return {made: Own(identity, "f", "") for made, identity in known.items()}


def chat(*calls: tuple[str, str], results: tuple[str, ...] | None = None) -> dict[str, Any]:
    """A conversation with these calls, by id and name, and a result of each."""
    made = [{"id": one, "type": "function", "function": {"name": name, "arguments": "{}"}} for one, name in calls]
    ids = [one for one, _ in calls] if results is None else results
    said = [{"role": "tool", "tool_call_id": one, "content": one} for one in ids]
    return {"messages": [{"role": "assistant", "content": MADE, "tool_calls": made}, *said]}


def ids_of(request: bytes) -> list[list[str]]:
    """Those of the calls and of the results."""
    first, *results = json.loads(request)["messages"]
    return [[call["id"] for call in first["tool_calls"]], [result["tool_call_id"] for result in results]]


def test_nothing_but_ids_changes() -> None:
    """Spelling, order, spaces, numbers and text that quotes an id stay as they were."""
    body = (
        f'{{ "z":1e400,"messages" :[{{"tool_calls":[{{"function":{{"name":"f","arguments":"{{\\"a\\":\\"{MADE}\\"}}"}},'
        f'"id" : "{MADE}"}}],"content":"{MADE}"}},\n{{"tool_call_id":"{MADE}","content":["{MADE}","\\"{MADE}"]}}],'
        f'"a":"é\\u00e9","{MADE}":"{MADE}"}}'
    ).encode()
    after = restored(body, own(**{MADE: 'x"1'}).get)
    assert after == body.replace(b'"id" : "' + MADE.encode(), b'"id" : "x\\"1').replace(
        b'"tool_call_id":"' + MADE.encode(), b'"tool_call_id":"x\\"1'
    )
    assert after.count(MADE.encode()) == body.count(MADE.encode()) - 2


@pytest.mark.parametrize(
    ("request_", "known", "calls", "results"),
    [
        (chat((MADE, "f"), (OTHER, "f")), {MADE: "a", OTHER: "b"}, ["a", "b"], ["a", "b"]),
        (chat((MADE, "f"), (OTHER, "f")), {MADE: "a", OTHER: "a"}, ["a", OTHER], ["a", OTHER]),
        (chat((MADE, "f"), ("a", "f")), {MADE: "a"}, [MADE, "a"], [MADE, "a"]),
        (chat(("a", "f"), (MADE, "f")), {MADE: "a"}, ["a", MADE], ["a", MADE]),
        (chat((MADE, "g")), {MADE: "a"}, [MADE], [MADE]),
        (chat((MADE, "f"), (MADE, "f")), {MADE: "a"}, [MADE, MADE], [MADE, MADE]),
        (chat(results=(MADE,)), {MADE: "a"}, [], [MADE]),
        (chat((MADE, "f"), results=("a",)), {MADE: "a"}, ["a"], ["a"]),
    ],
    ids=[
        "two",
        "the same behind both",
        "the other call's",
        "an earlier call's",
        "another tool's",
        "of two calls",
        "no call",
        "a result under the provider's id",
    ],
)
def test_each_result_has_its_call(request_: Any, known: dict[str, str], calls: list[str], results: list[str]) -> None:
    """And no two calls an id."""
    assert ids_of(restored(json.dumps(request_).encode(), own(**known).get)) == [calls, results]


@pytest.mark.parametrize("kept", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {}])
def test_results_of_calls_that_the_server_keeps(kept: dict[str, str]) -> None:
    """They come without their calls; nowhere else does a result count alone."""
    output = [{"type": "function_call_output", "call_id": one, "output": ""} for one in (MADE, OTHER)]
    body = json.dumps({**kept, "input": output}).encode()
    after = json.loads(restored(body, own(**{MADE: "a", OTHER: "a"}).get))
    assert [one["call_id"] for one in after["input"]] == (["a", OTHER] if kept else [MADE, OTHER])


@pytest.mark.parametrize("body", [b'"%s"', b'{"messages":[{"tool_call_id":"%s"}', b'\xff"%s"', b"[" * 5000 + b'"%s"'])
def test_what_is_no_conversation_stays(body: bytes) -> None:
    """Broken or foreign JSON."""
    body = body % MADE.encode()
    assert restored(body, own(**{MADE: "a"}).get) is body


def remembered(flow: Any) -> tuple[Ids, str]:
    """A made-up id of the flow's upstream, with `x` behind it."""
    ids = Ids()
    response = ids.for_response(upstream(flow))
    made = response.make("call_")
    response.stands_for(made, "x", "f")
    return ids, made


def test_ids_are_put_back_in_every_coding() -> None:
    """The body is coded again as it was; one that is not what its coding says stays as it is."""
    for coding in ("gzip", "zstd", "br", "deflate", "identity"):
        flow = tflow.tflow()
        ids, made = remembered(flow)
        body = json.dumps(chat((made, "f"))).encode()
        flow.request = tutils.treq(content=body, headers=((b"content-length", b"1"),))
        flow.request.encode(coding)
        restore(flow, ids)
        assert flow.request.raw_content
        assert flow.request.headers["content-encoding"] == coding
        assert flow.request.headers["content-length"] == str(len(flow.request.raw_content))
        assert flow.request.content
        assert ids_of(flow.request.content) == [["x"], ["x"]]
        flow.request.headers["content-encoding"] = "gzip"
        flow.request.raw_content = body
        restore(flow, ids)
        assert flow.request.raw_content == body


def test_a_chunked_request_gets_no_length() -> None:
    """Servers refuse one that has both (https://www.rfc-editor.org/rfc/rfc9112#section-6.1)."""
    flow = tflow.tflow()
    ids, made = remembered(flow)
    body = json.dumps(chat((made, "f"))).encode()
    flow.request = tutils.treq(content=body, headers=((b"transfer-encoding", b"chunked"),))
    restore(flow, ids)
    assert b'"x"' in (flow.request.raw_content or b"")
    assert "content-length" not in flow.request.headers


@pytest.mark.parametrize(
    ("field", "value"), [("scheme", "https"), ("port", 8443), ("host", "b.example"), ("path", "/other")]
)
def test_another_upstream_gets_its_request_as_it_is(field: str, value: object) -> None:
    """An id means nothing to who has not said it."""
    flow = tflow.tflow()
    ids, made = remembered(flow)
    flow.request.content = body = json.dumps(chat((made, "f"))).encode()
    setattr(flow.request, field, value)
    restore(flow, ids)
    assert flow.request.raw_content == body


def test_a_flow_from_a_file_has_the_same_ids_each_time() -> None:
    """One that comes by, or is sent again, has its own each time, although nothing else tells them apart."""
    flow = tflow.tflow()
    ids = Ids()
    for live, replay, equal in ((True, None, False), (False, "request", False), (False, None, True)):
        flow.live, flow.is_replay = live, replay
        made = [response_ids(flow, ids).make("call_") for _ in range(2)]
        assert (made[0] == made[1]) is equal


MADES = [f"call_{at:024x}" for at in range(4)]
REAL = ["a", "b", "é", MADES[0][:-1]]


@st.composite
def conversations(draw: st.DrawFn) -> list[list[tuple[str, str]]]:
    """Turns of calls, told apart within a turn by the client."""
    call = st.tuples(st.sampled_from([*MADES, *REAL]), st.sampled_from("fg"))
    return draw(st.lists(st.lists(call, min_size=1, max_size=4, unique_by=lambda one: one[0]), max_size=4))


@given(turns=conversations(), known=st.dictionaries(st.sampled_from(MADES), st.sampled_from(REAL)))
def test_no_conversation_is_worse_for_it(turns: list[list[tuple[str, str]]], known: dict[str, str]) -> None:
    """Calls that were told apart still are, results stay with their calls, and texts that quote an id stay."""
    messages = [message for said in turns for message in chat(*said)["messages"]]
    body = json.dumps({"messages": messages}, ensure_ascii=False).encode()
    after = restored(body, own(**known).get)
    before_ids = [one.id for one in mentions(json.loads(body))]
    after_ids = [one.id for one in mentions(json.loads(after))]
    renamed = dict(zip(before_ids, after_ids, strict=True))
    assert [renamed[one] for one in before_ids] == after_ids
    assert len(set(renamed.values())) == len(renamed)
    assert all(new in {old, known.get(old)} for old, new in renamed.items())
    after_messages = json.loads(after)["messages"]
    assert [message.get("content") for message in after_messages] == [message.get("content") for message in messages]
