"""Call ids in the requests after a rewritten response."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.test import tflow, tutils

from toolstream_core.protocols.requests.conversation import mentions
from toolstream_core.proxy.own_ids import response_ids, restore, restored, upstream
from toolstream_core.stages.response_ids import Ids, ProviderId

NEW, OTHER = "call_0123456789abcdef01234567", "call_fedcba9876543210fedcba98______"


def own(**known: str) -> dict[str, ProviderId]:
    """Return the provider's ids behind generated ids, each of a call of `f`."""
    return {generated: ProviderId(identity, "f", "") for generated, identity in known.items()}


def chat(*calls: tuple[str, str], results: tuple[str, ...] | None = None) -> dict[str, Any]:
    """Return a conversation with these calls, by id and name, and their results."""
    call_items = [{"id": id_, "type": "function", "function": {"name": name, "arguments": "{}"}} for id_, name in calls]
    ids = [id_ for id_, _ in calls] if results is None else results
    result_messages = [{"role": "tool", "tool_call_id": id_, "content": f"of {id_}"} for id_ in ids]
    return {"messages": [{"role": "assistant", "content": f"a {NEW}", "tool_calls": call_items}, *result_messages]}


def ids_of(request: bytes) -> list[list[str]]:
    """Return the ids of the calls and of the results."""
    first, *results = json.loads(request)["messages"]
    return [[call["id"] for call in first["tool_calls"]], [result["tool_call_id"] for result in results]]


def test_only_ids_change() -> None:
    """Spelling, order, whitespace, numbers and texts that quote an id do not change."""
    body = (
        f'{{ "z":1e400,"messages" :[{{"tool_calls":[{{"function":{{"name":"f","arguments":"{{\\"a\\":\\"{NEW}\\"}}"}},'
        f'"id" : "{NEW}"}}],"content":"a {NEW}"}},\n{{"tool_call_id":"{NEW}","content":["a {NEW}","\\"{NEW}\\""]}}],'
        f'"a":"é\\u00e9","{NEW} ":"{NEW} "}}'
    ).encode()
    after = restored(body, own(**{NEW: 'x"1'}).get)
    assert after == body.replace(b'"id" : "' + NEW.encode(), b'"id" : "x\\"1').replace(
        b'"tool_call_id":"' + NEW.encode(), b'"tool_call_id":"x\\"1'
    )
    assert after.count(NEW.encode()) == body.count(NEW.encode()) - 2


@pytest.mark.parametrize(
    ("request_", "known", "calls", "results"),
    [
        (chat((NEW, "f"), (OTHER, "f")), {NEW: "a", OTHER: "b"}, ["a", "b"], ["a", "b"]),
        (chat((NEW, "f"), (OTHER, "f")), {NEW: "a", OTHER: "a"}, ["a", OTHER], ["a", OTHER]),
        (chat((NEW, "f"), ("a", "f")), {NEW: "a"}, [NEW, "a"], [NEW, "a"]),
        (chat(("a", "f"), (NEW, "f")), {NEW: "a"}, ["a", NEW], ["a", NEW]),
        (chat((NEW, "g")), {NEW: "a"}, [NEW], [NEW]),
        (chat((NEW, "f"), (NEW, "f")), {NEW: "a"}, [NEW, NEW], [NEW, NEW]),
        (chat(results=(NEW,)), {NEW: "a"}, [], [NEW]),
        (chat((NEW, "f"), results=("a",)), {NEW: "a"}, ["a"], ["a"]),
    ],
    ids=[
        "two ids",
        "both stand for the same id",
        "id of the other call",
        "id of an earlier call",
        "another tool",
        "generated id of two calls",
        "no call",
        "result with the provider's id",
    ],
)
def test_each_result_keeps_its_call(request_: Any, known: dict[str, str], calls: list[str], results: list[str]) -> None:
    """No two calls get the same id."""
    assert ids_of(restored(json.dumps(request_).encode(), own(**known).get)) == [calls, results]


@pytest.mark.parametrize("kept", [{"previous_response_id": "resp_1"}, {"conversation": "conv_1"}, {}])
def test_results_of_calls_in_server_side_state(kept: dict[str, str]) -> None:
    """A result without its call is changed only if the request refers to stored calls."""
    output = [{"type": "function_call_output", "call_id": id_, "output": ""} for id_ in (NEW, OTHER)]
    body = json.dumps({**kept, "input": output}).encode()
    after = json.loads(restored(body, own(**{NEW: "a", OTHER: "a"}).get))
    assert [item["call_id"] for item in after["input"]] == (["a", OTHER] if kept else [NEW, OTHER])


@pytest.mark.parametrize("body", [b'"%s"', b'{"messages":[{"tool_call_id":"%s"}', b'\xff"%s"', b"[" * 5000 + b'"%s"'])
def test_other_json_is_not_changed(body: bytes) -> None:
    """Invalid JSON and JSON that is no conversation are forwarded unchanged."""
    body = body % NEW.encode()
    assert restored(body, own(**{NEW: "a"}).get) is body


def ids_for(flow: Any) -> tuple[Ids, str]:
    """Return ids with one generated id for the flow's upstream that stands for `x`, and that id."""
    ids = Ids()
    response = ids.for_response(upstream(flow, flow.request.host))
    generated = response.make("call_")
    response.map_to(generated, "x", "f")
    return ids, generated


def test_ids_are_restored_in_each_content_coding() -> None:
    """The body keeps its coding; a body that does not match its coding is not changed."""
    for coding in ("gzip", "zstd", "br", "deflate", "identity"):
        flow = tflow.tflow()
        ids, generated = ids_for(flow)
        body = json.dumps(chat((generated, "f"))).encode()
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
    """A server rejects a request with both (https://www.rfc-editor.org/rfc/rfc9112#section-6.1)."""
    flow = tflow.tflow()
    ids, generated = ids_for(flow)
    body = json.dumps(chat((generated, "f"))).encode()
    flow.request = tutils.treq(content=body, headers=((b"transfer-encoding", b"chunked"),))
    restore(flow, ids)
    assert b'"x"' in (flow.request.raw_content or b"")
    assert "content-length" not in flow.request.headers


@pytest.mark.parametrize(
    ("field", "value"), [("scheme", "https"), ("port", 8443), ("host", "b.example"), ("path", "/other")]
)
def test_a_request_to_another_upstream_is_not_changed(field: str, value: object) -> None:
    """A generated id stands for an id of one provider only."""
    flow = tflow.tflow()
    ids, generated = ids_for(flow)
    flow.request.content = body = json.dumps(chat((generated, "f"))).encode()
    setattr(flow.request, field, value)
    restore(flow, ids)
    assert flow.request.raw_content == body


def test_a_flow_from_a_file_has_the_same_ids_each_time() -> None:
    """A live or replayed flow gets new ids each time."""
    flow = tflow.tflow()
    ids = Ids()
    for live, replay, equal in ((True, None, False), (False, "request", False), (False, None, True)):
        flow.live, flow.is_replay = live, replay
        generated = [response_ids(flow, flow.request.host, ids).make("call_") for _ in range(2)]
        assert (generated[0] == generated[1]) is equal


GENERATED_IDS = [f"call_{at:024x}" for at in range(4)]
PROVIDER_IDS = ["a", "b", "é", GENERATED_IDS[0][:-1]]


@st.composite
def conversations(draw: st.DrawFn) -> list[list[tuple[str, str]]]:
    """Generate turns of calls whose ids differ within a turn."""
    call = st.tuples(st.sampled_from([*GENERATED_IDS, *PROVIDER_IDS]), st.sampled_from("fg"))
    return draw(st.lists(st.lists(call, min_size=1, max_size=4, unique_by=lambda pair: pair[0]), max_size=4))


@given(turns=conversations(), known=st.dictionaries(st.sampled_from(GENERATED_IDS), st.sampled_from(PROVIDER_IDS)))
def test_restored_ids_keep_calls_apart(turns: list[list[tuple[str, str]]], known: dict[str, str]) -> None:
    """Different ids stay different, results keep their calls, and texts that quote an id do not change."""
    messages = [message for calls in turns for message in chat(*calls)["messages"]]
    body = json.dumps({"messages": messages}, ensure_ascii=False).encode()
    after = restored(body, own(**known).get)
    before_ids = [mention.id for mention in mentions(json.loads(body))]
    after_ids = [mention.id for mention in mentions(json.loads(after))]
    renamed = dict(zip(before_ids, after_ids, strict=True))
    assert [renamed[id_] for id_ in before_ids] == after_ids
    assert len(set(renamed.values())) == len(renamed)
    assert all(new in {old, known.get(old)} for old, new in renamed.items())
    after_messages = json.loads(after)["messages"]
    assert [message.get("content") for message in after_messages] == [message.get("content") for message in messages]
