"""Explanations of returned calls: their text, the use of earlier responses of a client, and recorded conversations."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.streams import CHAT, RESPONSES, chat, completed, delta, echoed, entry, item, received, responses
from tests.conftest import needs_shared
from toolstream_core.clients import explanation
from toolstream_core.clients.advice import Advice, advise
from toolstream_core.clients.explanation import Explainer, Explanation
from toolstream_core.clients.model import STANDARD, Adding, Arguments, Invalid, Kept, Key
from toolstream_core.clients.received import Received, ReceivedBytes, repair
from toolstream_core.clients.stepping import reads
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests.conversation import ReturnedCall, conversation
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse
from toolstream_core.report.judging import Explaining
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.clients.model import ResolvedEvent

FORM = CHAT.call_form
HEADER = [entry(id="call_1", name="get_weather", arguments="")]
EMPTY_IDS = chat(
    HEADER,
    [entry(id="", arguments='{"lo')],
    [entry(id="", arguments='cation":"Tokyo"}')],
    "tool_calls",
)
CUT = chat(HEADER, [entry(arguments='{"x": 1, "y": "Os')], "length")


def test_an_explanation_names_the_bug_and_the_first_misread_event() -> None:
    """The client starts a new call for each id, and the provider sends `""` in continuations."""
    sent = echoed(("call_1", "get_weather", "{}"), ("", "", '{"lo'), ("", "", 'cation":"Tokyo"}'))
    found = Explainer().explain(FORM, EMPTY_IDS, sent)
    assert found is not None
    assert found.names == ["by-present-id"]
    assert found.event == 1
    assert found.text == "starts a new call for every id, also an empty one"
    assert found.where == 'first misreads event 1: id ""'
    assert "Spring AI" in found.projects
    assert [one.key for one in found.others] == [Key.ENTRY]


def test_lost_arguments_are_explained_by_the_key_of_the_client() -> None:
    """As reported for GLM-5: continuations without an id are valid, and the call comes back with `{}`."""
    fragments = ("", '{"max_results": 10, "query": "x"', "}")
    events = chat(HEADER, *([entry(arguments=text)] for text in fragments), "tool_calls")
    found = Explainer().explain(FORM, events, echoed(("call_1", "get_weather", "{}")))
    assert found is not None
    assert found.names == ["by-index-and-id", "nameless-dropped"]
    assert found.seen == "index 0, id absent"
    assert next(iter(found.projects)) == "aichat"


def test_an_empty_custom_makes_the_explanation_doubtful() -> None:
    """As reported for pi: each entry has `custom` next to `function`, and the call comes back with `{}`."""
    fragments = ("", '{"city":', '"Oslo"}')
    events = chat(
        [HEADER[0] | {"custom": {}}], *([entry(arguments=text, custom={})] for text in fragments), "tool_calls"
    )
    explainer = Explainer()
    lost, kept = (("call_1", "get_weather", text) for text in ("{}", '{"city":"Oslo"}'))
    found = explainer.explain(FORM, events, echoed(lost), "client")
    assert found is not None
    assert found.doubtful
    assert explainer.known("client") == STANDARD
    right = explainer.explain(FORM, events, echoed(kept))
    assert right is not None
    assert not right.names
    assert not right.doubtful


def test_free_text_of_a_custom_tool_is_no_invalid_json() -> None:
    """A custom call that comes back as a function call has its text in an object; that does not treat bad JSON."""
    opened = {"type": "custom_tool_call", "id": "ctc", "call_id": "c1", "name": "patch", "input": ""}
    place = {"output_index": 0, "item_id": "ctc"}
    events = responses(
        {"type": "response.output_item.added", "output_index": 0, "item": opened},
        {"type": "response.custom_tool_call_input.delta", "delta": "*** Begin", **place},
        {"type": "response.custom_tool_call_input.done", "input": "*** Begin", **place},
        {"type": "response.output_item.done", "output_index": 0, "item": opened | {"input": "*** Begin"}},
    )
    form = RESPONSES.call_form
    assert Explainer().explain(form, events, echoed(("c1", "patch", '{"input":"*** Begin"}'))) is None
    right = Explainer().explain(form, events, echoed(("c1", "patch", "*** Begin")))
    assert right is not None
    assert not right.names


def test_a_client_that_follows_the_protocol_has_no_deviation() -> None:
    """A client that keys by index merges two calls at one index."""
    events = chat(HEADER, [entry(arguments='{"x": 1}')], [entry(id="b", name="g", arguments='{"y": 2}')])
    found = Explainer().explain(FORM, events, echoed(("call_1", "get_weather", '{"x": 1}{"y": 2}')))
    assert found is not None
    assert (found.names, found.event, found.projects) == ([], None, {})
    assert found.text.startswith("followed the protocol")


def test_a_client_may_read_half_of_a_surrogate_pair_as_the_replacement_character() -> None:
    """As decoders of Go do: the client follows the protocol, and the stream is malformed."""
    events = chat(HEADER, [entry(arguments='{"x": "\ud83c')], [entry(arguments='\udf0d"}')], "tool_calls")
    found = Explainer().explain(FORM, events, echoed(("call_1", "get_weather", '{"x": "\ufffd\ufffd"}')))
    assert found is not None
    assert found.text == "followed the protocol, but the stream is malformed"


def test_a_name_before_the_id_is_lost_by_a_client_that_opens_calls_at_ids() -> None:
    """The client opens a call at the id, and has lost the name that came before; no id is repeated."""
    events = chat([entry(name="f", arguments="")], [entry(id="a", arguments='{"x": 1}')], "tool_calls")
    found = Explainer().explain(FORM, events, echoed(("a", "", '{"x": 1}')))
    assert found is not None
    assert found.names == ["opened-by-id"]
    assert found.where == "first misreads event 0: id absent"


def test_calls_that_no_small_set_of_deviations_gives_are_not_explained() -> None:
    """Arguments and names that were never sent, and additional calls, have no explanation."""
    for sent in (("call_1", "f", "{}"), ("call_1", "get_weather", '{"location":"Paris"}')):
        assert Explainer().explain(FORM, EMPTY_IDS, echoed(sent)) is None
    right = ("call_1", "get_weather", '{"location": "Tokyo"}')
    assert Explainer().explain(FORM, EMPTY_IDS, echoed(right, right, right, right)) is None


def test_the_loss_of_all_calls_is_explained_by_a_deviation() -> None:
    """A client that drops invalid JSON loses a truncated call. A response without calls needs no deviation."""
    lost = Explainer().explain(FORM, CUT, [])
    assert lost is not None
    assert lost.names == ["invalid-dropped"]
    nothing = Explainer().explain(FORM, chat("tool_calls"), [])
    assert nothing is not None
    assert nothing.names == []


def test_an_explanation_shows_the_key_of_the_misread_event() -> None:
    """Absent, null and empty ids are distinguished, and long ids are shortened."""
    long = "call_" + "0" * 40
    again = chat([entry(id=long, name="f", arguments="")], [entry(id=long, arguments="{}")])
    found = Explainer().explain(FORM, again, echoed((long, "f", ""), (long, "", "{}")))
    assert found is not None
    assert found.seen == 'id "call_0000000…00000000000"'
    absent = chat(HEADER, [entry(arguments="{}")])
    found = Explainer().explain(FORM, absent, echoed(("call_1", "get_weather", "{}"), ("", "", "{}")))
    assert found is not None
    assert (found.names, found.seen) == (["by-index-and-id"], "index 0, id absent")


def test_earlier_responses_of_a_client_decide_between_explanations() -> None:
    """A client that kept the first value of its arguments before has probably done it again."""
    explainer = Explainer()
    trailing = chat(HEADER, [entry(arguments='{"x": 1}}')])
    first = explainer.explain(FORM, trailing, echoed(("call_1", "get_weather", '{"x": 1}')), "pi")
    assert first is not None
    assert explainer.known("pi").invalid in (Invalid.HEAD, Invalid.COMPLETED)
    cut = chat(HEADER, [entry(arguments="{x")])
    sent = echoed(("call_1", "get_weather", "{}"))
    assert explained_by(explainer, cut, sent, "pi") == first.names
    assert explained_by(explainer, cut, sent, "another") == ["invalid-to-empty"]
    assert explained_by(explainer, cut, sent, "") == ["invalid-to-empty"]


def explained_by(explainer: Explainer, events: list[ResolvedEvent], sent: list[Any], client: str) -> list[str]:
    """The names of the deviations that explain the calls."""
    found = explainer.explain(FORM, events, sent, client)
    assert found is not None
    return found.names


def test_only_deviations_that_a_response_needs_are_named() -> None:
    """A known deviation is replaced when the client later contradicts it."""
    explainer = Explainer()
    names = chat(HEADER, [entry(name="get_weather", arguments="{}")])
    explained_by(explainer, names, echoed(("call_1", "get_weatherget_weather", "{}")), "c")
    assert explained_by(explainer, CUT, echoed(("call_1", "get_weather", "{}")), "c") == ["invalid-to-empty"]
    assert explainer.known("c").deviations != STANDARD.deviations
    assert explained_by(explainer, names, echoed(("call_1", "get_weatherget_weather", "{}")), "c") == ["joined-names"]
    completed = echoed(("call_1", "get_weather", '{"x": 1, "y": "Os"}'))
    assert explained_by(explainer, CUT, completed, "c") == ["invalid-completed"]
    assert explainer.known("c").invalid is Invalid.COMPLETED


def test_the_number_of_remembered_clients_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client that was not seen for the longest time is forgotten."""
    monkeypatch.setattr(explanation, "MAX_CLIENTS", 2)
    explainer = Explainer()
    for client in ("one", "two", "one", "three"):
        explained_by(explainer, CUT, echoed(("call_1", "get_weather", "{}")), client)
    assert explainer.known("two") == STANDARD
    assert STANDARD not in (explainer.known("one"), explainer.known("three"))


def test_a_client_may_use_any_choice() -> None:
    """The client returned the calls of the second choice."""
    chunks = [
        {"choices": [{"index": at, "delta": {"tool_calls": [entry(id=call, name="f", arguments="{")]}}]}
        for at, call in enumerate("ab")
    ]
    found = Explainer().explain(FORM, received("openai-chat", chunks), echoed(("b", "f", "{}")))
    assert found is not None
    assert found.names == ["invalid-to-empty"]


def test_a_long_response_is_explained() -> None:
    """A client that completes truncated arguments is found by a thousand fragments, too."""
    fragments = [[entry(arguments=str(at % 10))] for at in range(1000)]
    events = chat(HEADER, [entry(arguments='{"x": "')], *fragments, [entry(arguments='"')], "length")
    text = '{"x": "' + "0123456789" * 100 + '"'
    found = Explainer().explain(FORM, events, echoed(("call_1", "get_weather", text + "}")))
    assert found is not None
    assert found.names == ["invalid-completed"]


def test_a_client_that_treats_every_fragment_as_a_call_is_explained_in_a_long_response() -> None:
    """It returns as many calls as fragments, and the reported event is that of the first fragment."""
    fragments = [f"word {at} " for at in range(1000)]
    events = chat(HEADER, "", *([entry(arguments=text)] for text in fragments), "tool_calls")
    sent = echoed(("call_1", "get_weather", ""), *(("", "", text) for text in fragments))
    found = Explainer().explain(FORM, events, sent)
    assert found is not None
    assert (found.names, found.event) == (["every-entry"], 2)


def test_a_client_that_replaces_the_arguments_with_each_delta() -> None:
    """The client uses a delta's item id as a call id, and parses each delta alone."""
    events = responses(
        item(0, "added", "call_1", "f", item_id="fc_1"), delta(0, '{"x"', "fc_1"), delta(0, ": 1}", "fc_1")
    )
    sent = echoed(("call_1", "f", ""), ("fc_1", "", ": 1}"))
    found = Explainer().explain(RESPONSES.call_form, events, sent)
    assert found is not None
    assert set(found.model.deviations) >= {Key.ID}
    assert {Adding.REPLACE, Arguments.LAST} & set(found.model.deviations)


def test_other_responses_are_not_explained() -> None:
    """A response without a known protocol has no explanation."""
    assert Explainer().explain_response(ReceivedBytes(StreamFacts(content_type="text/html"), b"<p>"), []) is None


PATHS = {"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages"}
TOOLS = [
    {"type": "function", "name": name, "function": {"name": name, "parameters": {"required": ["x"]}}}
    for name in ("web_search", "get_weather")
]


def conversations(folder: Path) -> Iterator[tuple[dict[str, Any], ReceivedBytes, list[ReturnedCall]]]:
    """The recorded conversations: the response and the returned calls of each."""
    for line in (folder / "cells.jsonl").read_text().splitlines():
        cell = json.loads(line)
        exchange = StreamFacts(path=PATHS[cell["dialect"]], content_type="text/event-stream", request={"tools": TOOLS})
        key = "input" if cell["dialect"] == "openai-responses" else "messages"
        before, after = (conversation({key: cell[part] or []}).calls for part in ("asked", "next"))
        response = ReceivedBytes(exchange, (folder / "streams" / cell["stream"]).read_bytes())
        yield cell, response, [*after[len(before) :]]


def misunderstood(folder: Path) -> Iterator[tuple[dict[str, Any], ReceivedBytes, Received, list[ReturnedCall]]]:
    """The recorded conversations whose returned calls differ from the intended ones."""
    for cell, response, sent in conversations(folder):
        if cell["next"] is not None and cell["verdict"] != "ok" and cell["sent"]:
            yield cell, response, Received(response), sent


def test_a_client_that_reads_only_the_closing_event() -> None:
    """Codex returned an empty name that only this event has, so no other model explains it."""
    first, last = item(0, "added", "c1", "f"), item(0, "done", "c1", "", "{}")
    events = responses(first, delta(0, "{}"), last, completed(item(0, "done", "c1", "f", "{}")))
    found = Explainer().explain(RESPONSES.call_form, events, echoed(("c1", "", "{}")))
    assert found is not None
    assert (found.names, found.others) == (["item-done-only"], ())


@needs_shared
def test_calls_of_recorded_clients_are_explained(shared: Path) -> None:
    """At least 95 of 100 conversations have an explanation, and few have several."""
    explainer = Explainer()
    count: Counter[str] = Counter()
    for cell, response, _, sent in misunderstood(recorded(shared)):
        found = explainer.explain_response(response, sent, cell["client"])
        count["all"] += 1
        if found is not None:
            count["explained"] += 1
            count["ambiguous"] += bool(found.others)
    assert count["all"] > 70
    assert count["explained"] >= 0.95 * count["all"]
    assert count["ambiguous"] <= 0.25 * count["explained"]


def test_a_nameless_part_at_the_start_is_a_call() -> None:
    """A client that returns the part as it was sent has no bug."""
    part = {"functionCall": {"args": {"x": 1}}}
    events = received("gemini", [{"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}])
    found = Explainer().explain(named("gemini").call_form, events, echoed((None, "", '{"x": 1}')))
    assert found is not None
    assert (found.names, found.text) == ([], "followed the protocol, but the stream is malformed")


def test_a_client_that_keeps_complete_calls_apart_has_no_bug() -> None:
    """It treats each part as a call, also one with only arguments. Partial arguments are not such a part."""
    parts = [{"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"args": {"x": 1}}}]
    events = received("gemini", [{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}])
    sent = echoed((None, "f", "{}"), (None, "", '{"x": 1}'))
    found = Explainer().explain(named("gemini").call_form, events, sent)
    assert found is not None
    assert (found.names, found.text, found.where) == ([], "followed the protocol, but the stream is malformed", "")
    more = {"functionCall": {"partialArgs": [{"jsonPath": "$.x", "numberValue": 1}]}}
    opened = {"functionCall": {"name": "f", "willContinue": True}}
    streamed = received("gemini", [{"candidates": [{"content": {"parts": [opened, more]}, "finishReason": "STOP"}]}])
    models = [one for one in (Explainer().explain(named("gemini").call_form, streamed, sent),) if one is not None]
    assert not any(one.separate for one in models)


def test_objects_are_not_invalid_arguments() -> None:
    """A client that drops the second part of a call does not replace or drop invalid JSON: objects are no text."""
    parts = [{"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"args": {"x": 1}}}]
    events = received("gemini", [{"candidates": [{"content": {"parts": [part]}}]} for part in parts])
    found = Explainer().explain(named("gemini").call_form, events, echoed((None, "f", "{}")))
    assert found is not None
    assert found.names == ["every-entry", "nameless-dropped"]
    dropped = Explainer().explain(named("gemini").call_form, events, [])
    assert dropped is not None
    assert Kept.VALID not in [one for model in (dropped.model, *dropped.others) for one in model.deviations]


def test_missing_arguments_are_explained_by_an_empty_closing_event() -> None:
    """Many clients read only the closing event, and no known client reads only the opening event."""
    fragments = delta(0, '{"x":'), delta(0, "1}")
    events = responses(item(0, "added", "a", "f"), *fragments, item(0, "done", "a", "f"))
    found = Explainer().explain(RESPONSES.call_form, events, echoed(("a", "f", "")))
    assert found is not None
    assert found.names == ["item-done-only"]


def test_a_malformed_response_is_explained_only_by_clients_that_read_healthy_ones() -> None:
    """Clients that read only the opening event, or only one fragment, are no explanation."""
    response = HealthyResponse(model="m", request={}, calls=(HealthyCall("f", '{"x": "a b"}'),))
    valid = ReceivedBytes(StreamFacts(), b"".join(named("anthropic").healthy_stream(response)))
    (sent,) = Received(valid).intended
    names = []
    for fault in ([], ["unclosed-call"], ["double-encoded-arguments"]):
        got = repair(valid, settings(Words(fault=fault))).response
        assert got is not None
        found = explain_alone(got, echoed((sent.id, "f", "{}")))
        names.append(found and found.names)
    assert names == [["start-only"], None, ["invalid-to-empty", "string-as-invalid"]]


@pytest.mark.parametrize(("protocol", "field"), [("openai-chat", "id"), ("openai-responses", "item_id")])
def test_a_client_with_ids_of_its_own_understood_a_valid_response(protocol: str, field: str) -> None:
    """The stream is not malformed: what the client did wrong concerns the results."""
    response = HealthyResponse(model="m", request={}, calls=(HealthyCall("f", '{"x": "a b"}'),))
    valid = ReceivedBytes(StreamFacts(), b"".join(named(protocol).healthy_stream(response)))
    returned = echoed((f"own-{getattr(Received(valid).entries[0].fragment, field)}", "f", '{"x": "a b"}'))
    found = explain_alone(valid, returned)
    assert found is not None
    assert found.understood
    assert "malformed" not in Explaining()(valid, returned).text


def faulty(protocol: str, fault: str) -> tuple[ReceivedBytes, str]:
    """A response with a call of `get_weather` and a fault, and the id of the call."""
    response = HealthyResponse(model="m", request={}, calls=(HealthyCall("get_weather", '{"city": "Oslo"}'),))
    valid = ReceivedBytes(StreamFacts(), b"".join(named(protocol).healthy_stream(response)))
    got = repair(valid, settings(Words(fault=[fault]))).response
    assert got is not None
    return got, Received(got).calls[0].id


@pytest.mark.parametrize(
    ("protocol", "fault", "understood", "names"),
    [
        ("openai-chat", "missing-index", 0, ["by-index-and-id", "nameless-dropped"]),
        ("openai-chat", "missing-index", 1, ["no-index-new-call", "nameless-dropped"]),
        ("openai-chat", "odd-index", 0, ["by-index-and-id", "nameless-dropped"]),
        ("openai-chat", "odd-index", 1, None),
    ],
)
def test_deviations_that_contradict_understood_responses_are_excluded(
    protocol: str, fault: str, understood: int, names: list[str] | None
) -> None:
    """A client that lost the arguments with a fault understood fragments with an index and without an id before."""
    got, its_id = faulty(protocol, fault)
    found = Explainer(understood).explain_response(got, echoed((its_id, "get_weather", "{}")))
    assert (found and found.names) == names


def test_a_client_that_understood_two_calls_does_not_keep_only_the_last() -> None:
    """It keys by index, and an opening event replaces the call before it."""
    calls = (HealthyCall("get_weather", '{"city": "Oslo"}'), HealthyCall("read_file", '{"path": "a"}'))
    healthy = b"".join(named("cohere-v2").healthy_stream(HealthyResponse(model="m", request={}, calls=calls)))
    got = repair(ReceivedBytes(StreamFacts(), healthy), settings(Words(fault=["reused-index"]))).response
    assert got is not None
    last = Received(got).calls[-1]
    returned = echoed((last.id, "read_file", '{"path": "a"}'))
    for understood, names in ((1, ["last-call-only"]), (2, ["by-index-alone", "entry-replaces"])):
        found = Explainer(understood).explain_response(got, returned)
        assert found is not None
        assert found.names == names


def test_a_fix_is_named_only_if_the_fixed_client_would_read_the_calls() -> None:
    """The first part of a split name is as wrong as the last: only the provider can fix it."""
    split, its_id = faulty("openai-chat", "split-name")
    found = explain_alone(split, echoed((its_id, "eather", '{"city": "Oslo"}')))
    assert found is not None
    assert (found.names, found.fix) == (["last-name"], "the provider has to send a valid stream")
    text = Explaining()(split, echoed((its_id, "eather", '{"city": "Oslo"}'))).text
    assert text.startswith("the stream is malformed, and the client probably uses the last name of a call")
    changing, its_id = faulty("openai-chat", "changing-id")
    last_id = Received(changing).entries[-1].fragment.id
    assert isinstance(last_id, str)
    found = explain_alone(changing, echoed((last_id, "get_weather", '{"city": "Oslo"}')))
    assert found is not None
    assert (found.names, found.fix) == (
        ["last-id"],
        "fix the client: keep the first `id` of a call, and ignore later ones",
    )


@pytest.mark.parametrize("fault", ["cumulative-arguments", "snapshot-arguments", "trailing-garbage"])
def test_advice_need_not_help_clients_that_cannot_read_healthy_responses(fault: str) -> None:
    """No option helps a client that treats every event as a call, and such a client is not considered."""
    got, its_id = faulty("anthropic", fault)
    found = explain_alone(got, echoed((its_id, "get_weather", "{}")))
    assert found is not None
    assert found.names == ["invalid-to-empty"]
    assert advise(found.model, got, [*found.others, *found.common], found.choice) == [Advice(repair=fault)]


@pytest.mark.parametrize("protocol", ["anthropic", "bedrock"])
def test_a_repeated_start_may_continue_the_call_at_its_index(protocol: str) -> None:
    """The client merges the entries of one index, and not all entries."""
    got, its_id = faulty(protocol, "repeated-start")
    found = explain_alone(got, echoed((its_id, "get_weatherget_weather", '{"city": "Oslo"}')))
    assert found is not None
    assert found.names == ["by-index-alone", "joined-names"]


def test_lost_calls_are_explained_by_one_deviation_or_none() -> None:
    """Nearly every pair of deviations would explain a response without returned calls."""
    right = chat(HEADER, [entry(arguments='{"x":')], [entry(arguments=" 1}")], "tool_calls")
    assert Explainer().explain(FORM, right, []) is None


@needs_shared
def test_explanations_of_recorded_conversations_stay_the_same(shared: Path) -> None:
    """`explained.txt` lists models, event, value and other models, except for clients that follow the protocol."""
    found = [
        f"{cell['client']} {cell['stream']}: {written(explain_alone(response, sent))}"
        for cell, response, sent in conversations(recorded(shared))
    ]
    assert len(found) > 600
    expected = (Path(__file__).parent / "explained.txt").read_text().splitlines()
    assert [one for one in found if not one.endswith(": ")] == expected


def explain_alone(response: ReceivedBytes, sent: list[ReturnedCall]) -> Explanation | None:
    """The explanation of a response for an unknown client."""
    return Explainer().explain_response(response, sent)


def written(found: Explanation | None) -> str:
    """An explanation on one line."""
    if found is None or not found.names:
        return "" if found else "none"
    seen = f" ({found.seen})" if found.seen else ""
    others = ", ".join(
        "+".join(one) for one in sorted([each.value for each in model.deviations] for model in found.others)
    )
    return f"{'+'.join(found.names)} @{found.event}{seen}{' | ' if others else ''}{others}"


@needs_shared
def test_arguments_that_were_never_sent_are_not_explained(shared: Path) -> None:
    """A word of the returned arguments is replaced by one that no stream contains."""
    for cell, _, got, sent in [*misunderstood(recorded(shared))][::7]:
        other = [replace(one, arguments=one.arguments.replace("command", "other")) for one in sent]
        if other != sent:
            assert Explainer().explain(named(cell["dialect"]).call_form, got.events, other) is None, cell["client"]


@needs_shared
def test_advice_for_recorded_clients_gives_them_the_intended_calls(shared: Path) -> None:
    """The first option is applied. If the call is incomplete, the response ends as a disconnect."""
    for cell, response, got, sent in misunderstood(recorded(shared)):
        found = Explainer().explain(named(cell["dialect"]).call_form, got.events, sent)
        assert found is not None
        for one in (advise(found.model, response, found.others) or ())[:1]:
            tried = repair(response, settings(Words([one.repair], [one.shape]))).response
            assert (tried is None) == (not got.intended), (cell["client"], cell["stream"], one)
            if tried is not None:
                entries = Received(tried).entries
                read = [
                    [call.name, json.loads(call.arguments)]
                    for call in reads(found.model, named(cell["dialect"]).call_form, entries)
                ]
                assert read == cell["meant"], (cell["client"], cell["stream"], one)


def recorded(shared: Path) -> Path:
    """The folder of recorded conversations."""
    folder = shared / "followups"
    if not folder.is_dir():
        pytest.skip("no recorded conversations")
    return folder
