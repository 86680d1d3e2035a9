"""Options that help a client, found by trying them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.clients.streams import entry
from tests.invariants.driven import injected
from tests.invariants.healthy import streams
from toolstream_core.clients import advice
from toolstream_core.clients.advice import Advice, advise, tried_repairs
from toolstream_core.clients.explanation import Explainer
from toolstream_core.clients.fit import KEYS
from toolstream_core.clients.model import STANDARD, Adding, Arguments, Entries, Id, Invalid, Kept, Key, Name
from toolstream_core.clients.received import Received, ReceivedBytes, repair
from toolstream_core.clients.stepping import reads
from toolstream_core.faults.presets import PRESETS
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.protocols.requests.conversation import ReturnedCall
from toolstream_core.report.judging import Explaining
from toolstream_core.settings import Words, settings

TOOLS = [
    {"type": "function", "name": name, "function": {"name": name, "parameters": {"required": ["x"]}}}
    for name in ("f", "g")
]
EXCHANGE = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream", request={"tools": TOOLS})
RESPONSES = StreamFacts(path="/v1/responses", content_type="text/event-stream", request={"tools": TOOLS})
HEADER = {"tool_calls": [entry(id="call_a", type="function", name="f", arguments="")]}


def more(text: str, **fields: Any) -> dict[str, Any]:
    """A delta with a fragment of arguments."""
    return {"tool_calls": [entry(arguments=text, **fields)]}


def response(*deltas: dict[str, Any], finish: str | None = "tool_calls", done: bool = True) -> ReceivedBytes:
    """A response of Chat Completions with these deltas."""
    choices: list[dict[str, Any]] = [{"index": 0, "delta": one, "finish_reason": None} for one in deltas]
    choices += [{"index": 0, "delta": {}, "finish_reason": finish}] if finish else []
    chunks = [{"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [one]} for one in choices]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks)
    return ReceivedBytes(EXCHANGE, body + (b"data: [DONE]\n\n" if done else b""))


VALID = response(HEADER, more('{"x":'), more("1}"))
EMPTY_IDS = response(HEADER, more('{"x":', id=""), more("1}", id=""))
REUSED = response(
    HEADER, more('{"x":1}'), {"tool_calls": [entry(id="call_b", type="function", name="g", arguments="")]}, more("{}")
)


def two_choices(*order: int, **continuation: Any) -> ReceivedBytes:
    """A call in each of two choices. The fragments arrive in this order of choices."""
    names = {0: "f", 1: "g"}
    deltas = [(at, entry(id=f"call_{names[at]}", type="function", name=names[at], arguments="")) for at in order]
    deltas += [(at, entry(arguments=text, **continuation)) for text in ('{"x":', f"{1}}}") for at in order]
    choices: list[dict[str, Any]] = [
        {"index": at, "delta": {"tool_calls": [one]}, "finish_reason": None} for at, one in deltas
    ]
    choices += [{"index": at, "delta": {}, "finish_reason": "tool_calls"} for at in order]
    chunks = [{"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [one]} for one in choices]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks)
    exchange = replace(EXCHANGE, request={"tools": TOOLS, "n": 2})
    return ReceivedBytes(exchange, body + b"data: [DONE]\n\n")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("used", "name"), [(0, "f"), (1, "g")])
def test_only_the_choice_that_the_client_used_counts(order: tuple[int, int], used: int, name: str) -> None:
    """The verdict and its advice concern this choice, also if it is not the first in the stream."""
    sent = two_choices(*order, id="")
    lost = [ReturnedCall(f"call_{name}", name, ""), ReturnedCall("", "", '{"x":'), ReturnedCall("", "", "1}")]
    explained = Explaining()(sent, lost)
    assert explained.explanation is not None
    assert explained.explanation.choice == used
    assert [one.name for one in Received(sent, used).intended] == [name]
    assert explained.advice == ("--set toolstream_shape=whole-calls",)
    read = reads(explained.explanation.model, CallForm.DELTAS, Received(sent).entries, used)
    assert [one.name for one in read] == [name, "", ""]
    assert Received(sent, used).is_understood(STANDARD, Received(sent, used).intended)
    assert Received(sent).is_understood(STANDARD, Received(sent).intended)


NEVER = STANDARD.with_deviations([Key.ENTRY, Name.OVERWRITTEN, Arguments.AFTER_OPENING])
"""No option helps this client."""


def options(model: Any, given: ReceivedBytes) -> list[str]:
    """The advised options."""
    return [one.options for one in advise(model, given) or ()]


@pytest.mark.parametrize("ids", [("call_b", "call_c"), ("", "call_c"), ("call_c", None)])
def test_item_ids_explain_nothing_in_a_protocol_without_items(ids: tuple[str | None, ...]) -> None:
    """A client that keeps the last id gets advice: models that use item ids are not among its explanations."""
    sent = response(HEADER, *(more(text, id=one) for text, one in zip(('{"x":', "1}"), ids, strict=True)))
    explained = Explaining()(sent, [ReturnedCall("call_c", "f", '{"x":1}')])
    assert explained.explanation is not None
    assert Id.LAST in explained.explanation.model.deviations
    assert explained.advice
    models = [explained.explanation.model, *explained.explanation.others, *explained.explanation.common]
    assert not any(Id.ITEM in one.deviations for one in models)


def test_no_advice_for_a_correct_client_or_if_no_option_helps() -> None:
    """`None` means that the client reads the response correctly, an empty list that no option helps."""
    assert advise(STANDARD, VALID) is None
    assert advise(NEVER, VALID) == []


def test_a_fix_is_named_if_no_option_helps() -> None:
    """The explanation names the client's bug, or reports that none is known. With advice it names no fix."""
    response_read = Received(VALID)
    echo = [ReturnedCall(*one[:3]) for one in reads(NEVER, CallForm.DELTAS, response_read.entries)]
    explained = Explaining()(VALID, echo)
    assert explained.advice == ()
    assert explained.fix.startswith("no repair or shape of toolstream helps: fix the client: ")
    unknown = Explaining()(VALID, [ReturnedCall("call_a", "f", '{"never": "sent"}')])
    assert (unknown.text, unknown.fix) == ("", "no client bug that toolstream knows has this effect")
    helped = Explaining()(REUSED, [ReturnedCall("call_a", "f", '{"x":1}{}')])
    assert (helped.advice[0], helped.fix) == ("--set toolstream_repair=reused-index", "")


def test_no_option_is_tried_on_a_long_response(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial reads the complete response."""
    assert options(STANDARD, REUSED)
    monkeypatch.setattr(advice, "MAX_BODY", 100)
    assert advise(STANDARD, REUSED) is None


def test_other_responses_get_no_advice() -> None:
    """A response without a known protocol gets no advice."""
    assert options(STANDARD, ReceivedBytes(StreamFacts(content_type="text/event-stream"), b"data: {}\n\n")) == []


@pytest.mark.parametrize(
    ("model", "given", "advised"),
    [
        (STANDARD.with_deviations([Key.INDEX_AND_ID]), VALID, "--set toolstream_shape=whole-calls"),
        (STANDARD.with_deviations([Key.PRESENT_ID]), EMPTY_IDS, "--set toolstream_repair=empty-id"),
        (STANDARD.with_deviations([Key.ENTRY]), VALID, "--set toolstream_shape=whole-calls"),
        (STANDARD, REUSED, "--set toolstream_repair=reused-index"),
        (STANDARD.with_deviations([Name.LAST, Id.LAST]), REUSED, "--set toolstream_repair=reused-index"),
    ],
    ids=["aichat", "Spring AI", "OpenClaw", "one index", "last name"],
)
def test_the_smallest_helpful_option_is_first(model: Any, given: ReceivedBytes, advised: str) -> None:
    """A repair of the finding is advised before a shape."""
    assert options(model, given)[0] == advised


def test_arguments_under_another_key_have_their_own_repair() -> None:
    """The explanation is a client that knows only the standard key, and the advice repairs only the key."""
    misnamed = response(HEADER, {"tool_calls": [{"index": 0, "function": {"parameters": {"x": 1}}}]})
    found = Explainer().explain_response(misnamed, [ReturnedCall("call_a", "f", "")])
    assert found is not None
    assert (found.names, found.others) == (["odd-arguments-passed-over"], ())
    assert options(found.model, misnamed) == ["--set toolstream_repair=misnamed-arguments"]


def test_advice_helps_every_client_that_explains_the_calls() -> None:
    """If two clients read a stream alike, and a repair helps only the first, the shape that helps both is advised."""
    by_present_id, every_entry = STANDARD.with_deviations([Key.PRESENT_ID]), STANDARD.with_deviations([Key.ENTRY])
    assert advise(by_present_id, EMPTY_IDS) == [Advice(repair="empty-id")]
    assert advise(by_present_id, EMPTY_IDS, [every_entry]) == [Advice(shape="whole-calls")]
    assert advise(by_present_id, EMPTY_IDS, [NEVER]) == []


def test_a_repair_that_helps_only_one_possible_client_is_not_advised() -> None:
    """With `late-id` repaired, the second client still loses the arguments."""
    header = {"tool_calls": [entry(type="function", name="f", arguments="")]}
    late = response(header, more('{"x":', id="call_a"), more("1}"))
    by_changed_id, by_index_and_id = (
        STANDARD.with_deviations([Key.CHANGED_ID]),
        STANDARD.with_deviations([Key.INDEX_AND_ID, Id.OWN]),
    )
    assert advise(by_changed_id, late) == [Advice(repair="late-id")]
    assert advise(by_changed_id, late, [by_index_and_id]) == [Advice(shape="whole-calls")]


def test_calls_of_the_final_message_are_streamed_for_a_client_that_reads_only_deltas() -> None:
    """Pi read only deltas, and got no calls."""
    call = {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}
    chunks = [{"index": 0, "delta": {}, "message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]
    body = b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": chunks}).encode() + b"\n\n"
    assert options(STANDARD, ReceivedBytes(EXCHANGE, body + b"data: [DONE]\n\n")) == [
        "--set toolstream_repair=unstreamed-calls"
    ]


def test_a_responses_client_that_parses_each_delta_alone_needs_self_contained_deltas() -> None:
    """In ruby_llm, each delta's id opens a call, which has the name and arguments of this delta."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "f", "arguments": ""}
    completed_item = {**item, "arguments": '{"x":1}', "status": "completed"}
    delta = {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({**delta, "delta": text} for text in ('{"x":', "1}")),
        {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": '{"x":1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": completed_item},
        {
            "type": "response.completed",
            "response": {"object": "response", "status": "completed", "output": [completed_item]},
        },
    ]
    body = b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)
    model = STANDARD.with_deviations([Key.ID, Adding.REPLACE])
    assert options(model, ReceivedBytes(RESPONSES, body))[:1] == ["--set toolstream_shape=self-contained-deltas"]


def test_a_cut_off_call_is_repaired_by_a_disconnect() -> None:
    """With `cut-off-call`, the response ends as a disconnect, and no client runs the incomplete call."""
    decorated = response({"tool_calls": [entry(id="a", type="function", name="functions.g", arguments="{}")]})
    offered = replace(decorated.facts, request={"tools": [{"type": "function", "function": {"name": "g"}}]})
    assert tried_repairs(replace(decorated, facts=offered)) == "--set toolstream_repair=decorated-name"
    cut = response(HEADER, more('{"x": 1, "y'), finish=None, done=False)
    model = STANDARD.with_deviations([Invalid.COMPLETED])
    assert options(model, cut) == ["--set toolstream_repair=cut-off-call"]
    assert repair(cut, settings(Words(repair=["cut-off-call"]))).response is None


def test_missing_ids_matter_unless_the_client_makes_up_its_own() -> None:
    """A client that keeps the provider's ids is helped by `missing-id`."""
    without = response(*({"tool_calls": [entry(at, name="f", arguments='{"x":1}')]} for at in range(2)))
    assert options(STANDARD, without) == ["--set toolstream_repair=missing-id"]
    assert options(STANDARD.with_deviations([Id.OWN]), without) == []


def test_an_unsafe_repair_is_advised_if_no_safe_one_helps() -> None:
    """The client stops at the finish reason, so only `early-finish` helps."""
    late = response(HEADER, more('{"x":'), finish=None, done=False)
    rest = response(more("1}")).body
    early = response(finish="tool_calls", done=False).body
    found = advise(STANDARD.with_deviations([Adding.FINISH]), ReceivedBytes(EXCHANGE, late.body + early + rest))
    assert found == [Advice(repair="early-finish")]


def test_a_finish_reason_with_a_fragment_is_sent_apart() -> None:
    """A client that skips the calls of the event with the finish reason is helped by `finish-apart`."""
    model = STANDARD.with_deviations([Entries.BEFORE_FINISH])
    both = repair(VALID, settings(Words(shape=["finish-with-calls"]))).response
    assert both is not None
    assert options(model, both)[:1] == ["--set toolstream_shape=finish-apart"]


KEYED = [
    STANDARD.with_deviations([key, *kept])
    for key in KEYS[CallForm.DELTAS]
    for kept in ((), (Kept.NAMED,))
    if key not in {Key.ONE, Key.PLACE}  # these read any stream with one call at a time
]


@pytest.mark.parametrize("preset", ["glm-5", "deepseek", "openclaw", "kimi", "qwen", "nim-glm", "poolside", "qianfan"])
def test_advice_for_presets_helps_each_client(preset: str) -> None:
    """With the first advised option, each client reads the calls of the healthy stream from each provider preset."""
    healthy = next(one for one in streams() if one.protocol == "openai-chat" and one.name == "fragments of two")
    intended = Received(ReceivedBytes(healthy.exchange, healthy.body)).intended
    parts = next(one.parts for one in PRESETS if one.name == preset)
    given = ReceivedBytes(healthy.exchange, injected(healthy.body, healthy.exchange, *parts).out)
    response_read = Received(given)
    misreading = [one for one in KEYED if not response_read.is_understood(one, intended)]
    assert misreading
    for model in misreading:
        echo = [ReturnedCall(*one[:3]) for one in reads(model, CallForm.DELTAS, response_read.entries)]
        found = Explainer().explain_response(given, echo)
        assert found is not None, model.deviations
        for one in advise(found.model, given, [*found.others, *found.common]) or ():
            sent = repair(given, settings(Words([one.repair], [one.shape]))).response
            assert sent is not None
            assert sent.body != given.body
            assert Received(sent).is_understood(model, intended), (model.deviations, one)


@pytest.mark.parametrize("preset", ["glm-5", "deepseek"])
@pytest.mark.parametrize("kept", list(Kept)[:2])
def test_a_client_keyed_by_id_needs_whole_calls(preset: str, kept: Kept) -> None:
    """Repaired continuations have no id, and the client still starts a new call for them."""
    healthy = next(one for one in streams() if one.protocol == "openai-chat" and one.name == "fragments")
    parts = next(one.parts for one in PRESETS if one.name == preset)
    given = ReceivedBytes(healthy.exchange, injected(healthy.body, healthy.exchange, *parts).out)
    model = STANDARD.with_deviations([Key.INDEX_AND_ID, kept])
    echo = [ReturnedCall(*one[:3]) for one in reads(model, CallForm.DELTAS, Received(given).entries)]
    found = Explainer().explain_response(given, echo)
    assert found is not None
    assert advise(found.model, given, found.others) == [Advice(shape="whole-calls")]


def test_the_same_options_are_advised_once() -> None:
    """Several safe repairs are advised together."""
    headers = [{"tool_calls": [entry(id="", type="function", name=name, arguments="")]} for name in "fg"]
    given = response(headers[0], more('{"x":1}'), headers[1], more('{"x":2}'))
    assert advise(STANDARD, given) == [Advice(repair="missing-id,reused-index")]


def test_repairs_are_advised_without_a_client_model() -> None:
    """The repairs of errors and warnings are advised if they change the calls that a correct client reads."""
    assert tried_repairs(REUSED) == "--set toolstream_repair=reused-index"
    assert tried_repairs(EMPTY_IDS) == ""
    assert tried_repairs(VALID) == ""
    decorated = response({"tool_calls": [entry(id="a", type="function", name="functions.g", arguments="{}")]})
    offered = replace(decorated.facts, request={"tools": [{"type": "function", "function": {"name": "g"}}]})
    assert tried_repairs(replace(decorated, facts=offered)) == "--set toolstream_repair=decorated-name"
    cut = response(HEADER, more('{"x": 1, "y'), finish=None, done=False)
    assert tried_repairs(cut) == "--set toolstream_repair=cut-off-call"


def test_advice_is_printed_as_options() -> None:
    """Repairs and shapes are printed as options of the command."""
    assert Advice("safe", "for:aichat").options == "--set toolstream_repair=safe --set toolstream_shape=for:aichat"


def test_events_are_numbered_as_in_the_log() -> None:
    """The fragments are in the events 0, 1 and 2, and belong to one intended call."""
    response_read = Received(EMPTY_IDS)
    assert response_read.protocol is not None
    assert [one.number for one in response_read.events if one.content.fragments] == [0, 1, 2]
    assert [(one.id, one.name, one.arguments) for one in response_read.intended] == [("call_a", "f", '{"x":1}')]
