"""Options that help a client, found by trying them: the reports that this project answers, and others."""

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
from toolstream_core.clients.model import STANDARD, Adding, Arguments, Id, Invalid, Kept, Key, Name
from toolstream_core.clients.received import Received, ReceivedBytes, rewritten
from toolstream_core.clients.stepping import reads
from toolstream_core.faults.presets import PRESETS
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.protocols.requests.conversation import EchoedCall
from toolstream_core.report.judging import Explaining
from toolstream_core.settings import Words, settings

TOOLS = [
    {"type": "function", "name": name, "function": {"name": name, "parameters": {"required": ["x"]}}}
    for name in ("f", "g")
]
EXCHANGE = StreamFacts(path="/v1/chat/completions", content_type="text/event-stream", request={"tools": TOOLS})
RESPONSES = StreamFacts(path="/v1/responses", content_type="text/event-stream", request={"tools": TOOLS})
HEADER = {"tool_calls": [entry(id="call_a", type="function", name="f", arguments="")]}


def more(text: str, **said: Any) -> dict[str, Any]:
    """A delta with a piece of arguments."""
    return {"tool_calls": [entry(arguments=text, **said)]}


def response(*deltas: dict[str, Any], finish: str | None = "tool_calls", done: bool = True) -> ReceivedBytes:
    """An answer of Chat Completions with these deltas."""
    choices: list[dict[str, Any]] = [{"index": 0, "delta": one, "finish_reason": None} for one in deltas]
    choices += [{"index": 0, "delta": {}, "finish_reason": finish}] if finish else []
    said = [{"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [one]} for one in choices]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in said)
    return ReceivedBytes(EXCHANGE, body + (b"data: [DONE]\n\n" if done else b""))


LAWFUL = response(HEADER, more('{"x":'), more("1}"))
EMPTY_IDS = response(HEADER, more('{"x":', id=""), more("1}", id=""))
REUSED = response(
    HEADER, more('{"x":1}'), {"tool_calls": [entry(id="call_b", type="function", name="g", arguments="")]}, more("{}")
)


def two_choices(*order: int, **continuation: Any) -> ReceivedBytes:
    """A call in each of two choices; the fragments that continue it come in this order of choices."""
    names = {0: "f", 1: "g"}
    deltas = [(at, entry(id=f"call_{names[at]}", type="function", name=names[at], arguments="")) for at in order]
    deltas += [(at, entry(arguments=text, **continuation)) for text in ('{"x":', f"{1}}}") for at in order]
    choices: list[dict[str, Any]] = [
        {"index": at, "delta": {"tool_calls": [one]}, "finish_reason": None} for at, one in deltas
    ]
    choices += [{"index": at, "delta": {}, "finish_reason": "tool_calls"} for at in order]
    said = [{"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [one]} for one in choices]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in said)
    exchange = replace(EXCHANGE, request={"tools": TOOLS, "n": 2})
    return ReceivedBytes(exchange, body + b"data: [DONE]\n\n")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize(("used", "name"), [(0, "f"), (1, "g")])
def test_the_choice_that_the_client_used(order: tuple[int, int], used: int, name: str) -> None:
    """What the client is to understand is that choice, whichever comes first in the stream."""
    sent = two_choices(*order, id="")
    lost = [EchoedCall(f"call_{name}", name, ""), EchoedCall("", "", '{"x":'), EchoedCall("", "", "1}")]
    explained = Explaining()(sent, lost)
    assert explained.explanation is not None
    assert explained.explanation.choice == used
    assert [one.name for one in Received(sent, used).intended] == [name]
    assert explained.advice == ("--set toolstream_shape=whole-calls",)
    read = reads(explained.explanation.model, CallForm.DELTAS, Received(sent).entries, used)
    assert [one.name for one in read] == [name, "", ""]
    assert Received(sent, used).is_understood(STANDARD, Received(sent, used).intended)
    assert Received(sent).is_understood(STANDARD, Received(sent).intended)


NEVER = STANDARD.having([Key.ENTRY, Name.OVERWRITTEN, Arguments.AFTER_OPENING])
"""No option helps this client."""


def options(model: Any, given: ReceivedBytes) -> list[str]:
    """What is advised, as options."""
    return [one.options for one in advise(model, given) or ()]


@pytest.mark.parametrize("ids", [("call_b", "call_c"), ("", "call_c"), ("call_c", None)])
def test_an_id_of_an_item_explains_nothing_where_there_are_no_items(ids: tuple[str | None, ...]) -> None:
    """A client that keeps the last id gets advice: a model that cannot be meant does not stand against it."""
    sent = response(HEADER, *(more(text, id=one) for text, one in zip(('{"x":', "1}"), ids, strict=True)))
    explained = Explaining()(sent, [EchoedCall("call_c", "f", '{"x":1}')])
    assert explained.explanation is not None
    assert Id.LAST in explained.explanation.model.deviations
    assert explained.advice
    models = [explained.explanation.model, *explained.explanation.others, *explained.explanation.common]
    assert not any(Id.ITEM in one.deviations for one in models)


def test_nothing_is_advised_where_nothing_is_wrong() -> None:
    """Nor where no option helps, which is known only after trying."""
    assert advise(STANDARD, LAWFUL) is None
    assert advise(NEVER, LAWFUL) == []


def test_the_fix_is_said_where_no_option_helps() -> None:
    """A client that needs a valid stream is told nothing about a fix."""
    got = Received(LAWFUL)
    echo = [EchoedCall(*one[:3]) for one in reads(NEVER, CallForm.DELTAS, got.entries)]
    explained = Explaining()(LAWFUL, echo)
    assert explained.advice == ()
    assert explained.fix.startswith("no repair or shape of toolstream helps: fix the client: ")
    unknown = Explaining()(LAWFUL, [EchoedCall("call_a", "f", '{"never": "sent"}')])
    assert (unknown.text, unknown.fix) == ("", "no client bug that toolstream knows has this effect")
    helped = Explaining()(REUSED, [EchoedCall("call_a", "f", '{"x":1}{}')])
    assert (helped.advice[0], helped.fix) == ("--set toolstream_repair=reused-index", "")


def test_a_long_answer_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each option costs a run over the whole answer."""
    assert options(STANDARD, REUSED)
    monkeypatch.setattr(advice, "MAX_BODY", 100)
    assert advise(STANDARD, REUSED) is None


def test_what_is_no_answer_of_an_llm_gets_no_advice() -> None:
    """Nothing is known of its protocol."""
    assert options(STANDARD, ReceivedBytes(StreamFacts(content_type="text/event-stream"), b"data: {}\n\n")) == []


@pytest.mark.parametrize(
    ("model", "given", "advised"),
    [
        (STANDARD.having([Key.INDEX_AND_ID]), LAWFUL, "--set toolstream_shape=whole-calls"),
        (STANDARD.having([Key.PRESENT_ID]), EMPTY_IDS, "--set toolstream_repair=empty-id"),
        (STANDARD.having([Key.ENTRY]), LAWFUL, "--set toolstream_shape=whole-calls"),
        (STANDARD, REUSED, "--set toolstream_repair=reused-index"),
        (STANDARD.having([Name.LAST, Id.LAST]), REUSED, "--set toolstream_repair=reused-index"),
    ],
    ids=["aichat", "Spring AI", "OpenClaw", "one index", "last name"],
)
def test_the_smallest_option_that_helps_comes_first(model: Any, given: ReceivedBytes, advised: str) -> None:
    """A repair of what was found, before a shape."""
    assert options(model, given)[0] == advised


def test_arguments_under_another_key_that_are_passed_over_are_mended_by_their_own_repair() -> None:
    """A client that knows one key is explained as such, and other clients' sets are not tried."""
    misnamed = response(HEADER, {"tool_calls": [{"index": 0, "function": {"parameters": {"x": 1}}}]})
    found = Explainer().explain_response(misnamed, [EchoedCall("call_a", "f", "")])
    assert found is not None
    assert (found.names, found.others) == (["odd-arguments-passed-over"], ())
    assert options(found.model, misnamed) == ["--set toolstream_repair=misnamed-arguments"]


def test_advice_helps_every_client_that_it_may_be() -> None:
    """Of two that read a stream alike, the repair helps one, the shape both."""
    takes_present, takes_all = STANDARD.having([Key.PRESENT_ID]), STANDARD.having([Key.ENTRY])
    assert advise(takes_present, EMPTY_IDS) == [Advice(repair="empty-id")]
    assert advise(takes_present, EMPTY_IDS, [takes_all]) == [Advice(shape="whole-calls")]
    assert advise(takes_present, EMPTY_IDS, [NEVER]) == []


def test_a_repair_that_helps_one_of_them_alone_is_not_advised() -> None:
    """The other one loses the call behind it too."""
    header = {"tool_calls": [entry(type="function", name="f", arguments="")]}
    late = response(header, more('{"x":', id="call_a"), more("1}"))
    changed, every = STANDARD.having([Key.CHANGED_ID]), STANDARD.having([Key.INDEX_AND_ID, Id.OWN])
    assert advise(changed, late) == [Advice(repair="late-id")]
    assert advise(changed, late, [every]) == [Advice(shape="whole-calls")]


def test_calls_of_the_final_message_are_streamed_for_a_client_that_reads_deltas_alone() -> None:
    """As Pi did: its list of calls was empty."""
    call = {"id": "call_a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}
    said = [{"index": 0, "delta": {}, "message": {"tool_calls": [call]}, "finish_reason": "tool_calls"}]
    body = b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": said}).encode() + b"\n\n"
    assert options(STANDARD, ReceivedBytes(EXCHANGE, body + b"data: [DONE]\n\n")) == [
        "--set toolstream_repair=unstreamed-calls"
    ]


def test_a_responses_client_that_parses_each_delta_alone_needs_one_that_says_all() -> None:
    """As ruby_llm did: a delta's id opens a call, which has the delta's name and arguments."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_a", "name": "f", "arguments": ""}
    whole = {**item, "arguments": '{"x":1}', "status": "completed"}
    delta = {"type": "response.function_call_arguments.delta", "output_index": 0, "item_id": "fc_1"}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"object": "response", "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        *({**delta, "delta": text} for text in ('{"x":', "1}")),
        {"type": "response.function_call_arguments.done", "output_index": 0, "item_id": "fc_1", "arguments": '{"x":1}'},
        {"type": "response.output_item.done", "output_index": 0, "item": whole},
        {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": [whole]}},
    ]
    body = b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)
    model = STANDARD.having([Key.ID, Adding.REPLACE])
    assert options(model, ReceivedBytes(RESPONSES, body))[:1] == ["--set toolstream_shape=self-contained-deltas"]


def test_a_call_that_was_cut_off_is_to_be_left_alone() -> None:
    """The answer then ends as a break, and no client runs half of it."""
    cut = response(HEADER, more('{"x": 1, "y'), finish=None, done=False)
    model = STANDARD.having([Invalid.COMPLETED])
    assert options(model, cut) == ["--set toolstream_repair=cut-off-call"]
    assert rewritten(cut, settings(Words(repair=["cut-off-call"]))) is None


def test_ids_count_unless_the_client_makes_up_its_own() -> None:
    """Calls that cannot be told apart are not understood."""
    without = response(*({"tool_calls": [entry(at, name="f", arguments='{"x":1}')]} for at in range(2)))
    assert options(STANDARD, without) == ["--set toolstream_repair=missing-id"]
    assert options(STANDARD.having([Id.OWN]), without) == []


def test_a_repair_that_guesses_comes_behind_the_safe_ones() -> None:
    """What follows the finish reason is read by few."""
    late = response(HEADER, more('{"x":'), finish=None, done=False)
    rest = response(more("1}")).body
    early = response(finish="tool_calls", done=False).body
    found = advise(STANDARD.having([Adding.FINISH]), ReceivedBytes(EXCHANGE, late.body + early + rest))
    assert found == [Advice(repair="early-finish")]


KEYED = [
    STANDARD.having([key, *kept])
    for key in KEYS[CallForm.DELTAS]
    for kept in ((), (Kept.NAMED,))
    if key not in {Key.ONE, Key.PLACE}  # with one call at a time, those read whatever comes
]


@pytest.mark.parametrize("preset", ["glm-5", "deepseek", "openclaw", "kimi", "qwen", "nim-glm", "poolside", "qianfan"])
def test_advice_helps_the_client_that_it_is_given_to(preset: str) -> None:
    """Each client by its key, in front of each provider: under the first option it reads the calls of the provider.

    The advice knows only what came back, as in a log; the calls are those of the healthy stream.
    """
    healthy = next(one for one in streams() if one.dialect == "openai-chat" and one.name == "fragments of two")
    intended = Received(ReceivedBytes(healthy.exchange, healthy.body)).intended
    parts = next(one.parts for one in PRESETS if one.name == preset)
    given = ReceivedBytes(healthy.exchange, injected(healthy.body, healthy.exchange, *parts).out)
    got = Received(given)
    misreading = [one for one in KEYED if not got.is_understood(one, intended)]
    assert misreading
    for model in misreading:
        echo = [EchoedCall(*one[:3]) for one in reads(model, CallForm.DELTAS, got.entries)]
        found = Explainer().explain_response(given, echo)
        assert found is not None, model.deviations
        for one in advise(found.model, given, [*found.others, *found.common]) or ():
            sent = rewritten(given, settings(Words([one.repair], [one.shape])))
            assert sent is not None
            assert sent.body != given.body
            assert Received(sent).is_understood(model, intended), (model.deviations, one)


@pytest.mark.parametrize("preset", ["glm-5", "deepseek"])
@pytest.mark.parametrize("kept", list(Kept)[:2])
def test_a_client_keyed_by_id_needs_whole_calls(preset: str, kept: Kept) -> None:
    """The repair of `""` leaves its continuations without an id, which is another key for it too."""
    healthy = next(one for one in streams() if one.dialect == "openai-chat" and one.name == "fragments")
    parts = next(one.parts for one in PRESETS if one.name == preset)
    given = ReceivedBytes(healthy.exchange, injected(healthy.body, healthy.exchange, *parts).out)
    model = STANDARD.having([Key.INDEX_AND_ID, kept])
    echo = [EchoedCall(*one[:3]) for one in reads(model, CallForm.DELTAS, Received(given).entries)]
    found = Explainer().explain_response(given, echo)
    assert found is not None
    assert advise(found.model, given, found.others) == [Advice(shape="whole-calls")]


def test_the_same_options_are_advised_once() -> None:
    """Several repairs together, where none of them guesses."""
    headers = [{"tool_calls": [entry(id="", type="function", name=name, arguments="")]} for name in "fg"]
    given = response(headers[0], more('{"x":1}'), headers[1], more('{"x":2}'))
    assert advise(STANDARD, given) == [Advice(repair="missing-id,reused-index")]


def test_repairs_are_tried_where_no_client_is_known() -> None:
    """Only those of errors and warnings that change the answer, so that the protocol's own reading gets the calls."""
    assert tried_repairs(REUSED) == "--set toolstream_repair=reused-index"
    assert tried_repairs(EMPTY_IDS) == ""
    assert tried_repairs(LAWFUL) == ""
    cut = response(HEADER, more('{"x": 1, "y'), finish=None, done=False)
    assert tried_repairs(cut) == "--set toolstream_repair=cut-off-call"


def test_options_are_told_as_they_are_given() -> None:
    """A repair, a shape, or both."""
    assert Advice("safe", "for:aichat").options == "--set toolstream_repair=safe --set toolstream_shape=for:aichat"


def test_the_events_of_an_answer_are_those_that_say_something() -> None:
    """Numbered as in the log; what they mean beside them."""
    got = Received(EMPTY_IDS)
    assert got.protocol is not None
    assert [one.number for one in got.events if one.content.fragments] == [0, 1, 2]
    assert [(one.id, one.name, one.arguments) for one in got.intended] == [("call_a", "f", '{"x":1}')]
