"""Why clients sent what they sent: in words, with what was learned of them, and for recorded conversations."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.streams import CHAT, RESPONSES, chat, completed, echoed, entry, item, piece, received, responses
from tests.conftest import needs_shared
from toolstream_core.clients import explanation
from toolstream_core.clients.advice import Advice, advise
from toolstream_core.clients.explanation import Explainer, Explanation, explain
from toolstream_core.clients.model import STANDARD, Adding, Arguments, Invalid, Key, entries_of, shortened
from toolstream_core.clients.received import Received, ReceivedBytes, rewritten
from toolstream_core.clients.stepping import reads
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests.conversation import EchoedCall, conversation
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse
from toolstream_core.report.judging import Explaining
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.clients.model import ReceivedEvent

FORM = CHAT.call_form
HEADER = [entry(id="call_1", name="get_weather", arguments="")]
EMPTY_IDS = chat(
    HEADER,
    [entry(id="", arguments='{"lo')],
    [entry(id="", arguments='cation":"Tokyo"}')],
    "tool_calls",
)
CUT = chat(HEADER, [entry(arguments='{"x": 1, "y": "Os')], "length")


def test_the_words_name_the_bug_and_where_the_readings_part() -> None:
    """A client that takes each present id for a new call, behind an endpoint that says `""` on continuations."""
    sent = echoed(("call_1", "get_weather", "{}"), ("", "", '{"lo'), ("", "", 'cation":"Tokyo"}'))
    found = explain(FORM, EMPTY_IDS, sent)
    assert found is not None
    assert found.names == ["by-present-id"]
    assert found.event == 1
    assert found.text == "starts a new call for every id, also an empty one"
    assert found.where == 'first misreads event 1: id ""'
    assert "Spring AI" in found.projects
    assert [one.key for one in found.others] == [Key.ENTRY]


def test_the_arguments_that_a_client_never_got_are_explained_by_its_key() -> None:
    """The report on GLM-5: valid continuations without an id, and the call comes back with `{}`."""
    pieces = ("", '{"max_results": 10, "query": "x"', "}")
    events = chat(HEADER, *([entry(arguments=text)] for text in pieces), "tool_calls")
    found = explain(FORM, events, echoed(("call_1", "get_weather", "{}")))
    assert found is not None
    assert found.names == ["by-index-and-id", "nameless-dropped"]
    assert found.seen == "index 0, id absent"
    assert next(iter(found.projects)) == "aichat"


def test_a_client_that_may_have_read_an_empty_custom_is_not_given_anothers_bug() -> None:
    """The report on pi: each entry has `custom` beside `function`, and the call comes back with `{}`."""
    pieces = ("", '{"city":', '"Oslo"}')
    events = chat([HEADER[0] | {"custom": {}}], *([entry(arguments=text, custom={})] for text in pieces), "tool_calls")
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


def test_a_client_that_reads_as_the_protocol_says_has_no_deviation() -> None:
    """Two calls at one index: whoever goes by the index makes one of them."""
    events = chat(HEADER, [entry(arguments='{"x": 1}')], [entry(id="b", name="g", arguments='{"y": 2}')])
    found = explain(FORM, events, echoed(("call_1", "get_weather", '{"x": 1}{"y": 2}')))
    assert found is not None
    assert (found.names, found.event, found.projects) == ([], None, {})
    assert found.text.startswith("followed the protocol")


def test_what_no_small_set_of_deviations_gives_is_not_explained() -> None:
    """Arguments that were never sent, a name from nowhere, a call too many."""
    for sent in (("call_1", "f", "{}"), ("call_1", "get_weather", '{"location":"Paris"}')):
        assert explain(FORM, EMPTY_IDS, echoed(sent)) is None
    right = ("call_1", "get_weather", '{"location": "Tokyo"}')
    assert explain(FORM, EMPTY_IDS, echoed(right, right, right, right)) is None


def test_all_calls_lost_are_explained_where_a_rule_loses_them() -> None:
    """A client that drops what is not valid JSON; nothing at all needs no rule."""
    lost = explain(FORM, CUT, [])
    assert lost is not None
    assert lost.names == ["invalid-dropped"]
    nothing = explain(FORM, chat("tool_calls"), [])
    assert nothing is not None
    assert nothing.names == []


def test_values_of_keys_are_shown_as_they_were_seen() -> None:
    """Absent, null and empty are three things; long ids are shortened."""
    long = "call_" + "0" * 40
    again = chat([entry(id=long, name="f", arguments="")], [entry(id=long, arguments="{}")])
    found = explain(FORM, again, echoed((long, "f", ""), (long, "", "{}")))
    assert found is not None
    assert found.seen == 'id "call_0000000…00000000000"'
    absent = chat(HEADER, [entry(arguments="{}")])
    found = explain(FORM, absent, echoed(("call_1", "get_weather", "{}"), ("", "", "{}")))
    assert found is not None
    assert (found.names, found.seen) == (["by-index-and-id"], "index 0, id absent")


def test_what_is_learned_of_a_client_decides_between_equals() -> None:
    """`{}` says little: of a client that was seen to keep the head of its arguments, it is that again."""
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


def explained_by(explainer: Explainer, events: list[ReceivedEvent], sent: list[Any], client: str) -> list[str]:
    """The names of the deviations."""
    found = explainer.explain(FORM, events, sent, client)
    assert found is not None
    return found.names


def test_only_what_an_answer_needs_is_named_of_what_is_known() -> None:
    """And what turns out otherwise is learned anew."""
    explainer = Explainer()
    names = chat(HEADER, [entry(name="get_weather", arguments="{}")])
    explained_by(explainer, names, echoed(("call_1", "get_weatherget_weather", "{}")), "c")
    assert explained_by(explainer, CUT, echoed(("call_1", "get_weather", "{}")), "c") == ["invalid-to-empty"]
    assert explainer.known("c").deviations != STANDARD.deviations
    assert explained_by(explainer, names, echoed(("call_1", "get_weatherget_weather", "{}")), "c") == ["joined-names"]
    completed = echoed(("call_1", "get_weather", '{"x": 1, "y": "Os"}'))
    assert explained_by(explainer, CUT, completed, "c") == ["invalid-completed"]
    assert explainer.known("c").invalid is Invalid.COMPLETED


def test_not_more_clients_are_remembered_than_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one not met for longest is forgotten."""
    monkeypatch.setattr(explanation, "MAX_CLIENTS", 2)
    explainer = Explainer()
    for client in ("one", "two", "one", "three"):
        explained_by(explainer, CUT, echoed(("call_1", "get_weather", "{}")), client)
    assert explainer.known("two") == STANDARD
    assert STANDARD not in (explainer.known("one"), explainer.known("three"))


def test_a_client_goes_on_with_any_of_several_choices() -> None:
    """The calls of the second one came back."""
    said = [
        {"choices": [{"index": at, "delta": {"tool_calls": [entry(id=call, name="f", arguments="{")]}}]}
        for at, call in enumerate("ab")
    ]
    found = explain(FORM, received("openai-chat", said), echoed(("b", "f", "{}")))
    assert found is not None
    assert found.names == ["invalid-to-empty"]


def test_a_long_answer_is_looked_at_in_part() -> None:
    """The middles of runs are joined, so the calls stay the same."""
    pieces = [[entry(arguments=str(at % 10))] for at in range(1000)]
    events = chat(HEADER, [entry(arguments='{"x": "')], *pieces, [entry(arguments='"')], "length")
    assert len(shortened(entries_of(events))) < 20
    text = '{"x": "' + "0123456789" * 100 + '"'
    found = explain(FORM, events, echoed(("call_1", "get_weather", text + "}")))
    assert found is not None
    assert found.names == ["invalid-completed"]


def test_a_client_that_treats_every_fragment_as_a_call_is_explained_in_a_long_response() -> None:
    """It returns as many calls as there were fragments; the event is that of the first fragment."""
    pieces = [f"word {at} " for at in range(1000)]
    events = chat(HEADER, "", *([entry(arguments=text)] for text in pieces), "tool_calls")
    sent = echoed(("call_1", "get_weather", ""), *(("", "", text) for text in pieces))
    found = explain(FORM, events, sent)
    assert found is not None
    assert (found.names, found.event) == (["every-entry"], 2)


def test_responses_deltas_that_each_replace_their_call() -> None:
    """The client takes a delta's item id for a call's id, and parses each delta alone."""
    events = responses(
        item(0, "added", "call_1", "f", item_id="fc_1"), piece(0, '{"x"', "fc_1"), piece(0, ": 1}", "fc_1")
    )
    sent = echoed(("call_1", "f", ""), ("fc_1", "", ": 1}"))
    found = explain(RESPONSES.call_form, events, sent)
    assert found is not None
    assert set(found.model.deviations) >= {Key.ID}
    assert {Adding.REPLACE, Arguments.LAST} & set(found.model.deviations)


def test_bytes_that_are_no_answer_of_an_llm_are_not_explained() -> None:
    """Nothing is known of their protocol."""
    assert Explainer().explain_response(ReceivedBytes(StreamFacts(content_type="text/html"), b"<p>"), []) is None


PATHS = {"openai-chat": "/v1/chat/completions", "openai-responses": "/v1/responses", "anthropic": "/v1/messages"}
TOOLS = [
    {"type": "function", "name": name, "function": {"name": name, "parameters": {"required": ["x"]}}}
    for name in ("web_search", "get_weather")
]


def conversations(folder: Path) -> Iterator[tuple[dict[str, Any], ReceivedBytes, list[EchoedCall]]]:
    """The recorded conversations: each response, and the calls that came back."""
    for line in (folder / "cells.jsonl").read_text().splitlines():
        cell = json.loads(line)
        exchange = StreamFacts(path=PATHS[cell["dialect"]], content_type="text/event-stream", request={"tools": TOOLS})
        key = "input" if cell["dialect"] == "openai-responses" else "messages"
        asked, said = (conversation({key: cell[part] or []}).calls for part in ("asked", "next"))
        response = ReceivedBytes(exchange, (folder / "streams" / cell["stream"]).read_bytes())
        yield cell, response, [*said[len(asked) :]]


def misunderstood(folder: Path) -> Iterator[tuple[dict[str, Any], ReceivedBytes, Received, list[EchoedCall]]]:
    """The recorded conversations in which calls came back, and not as they were meant."""
    for cell, response, sent in conversations(folder):
        if cell["next"] is not None and cell["verdict"] != "ok" and cell["sent"]:
            yield cell, response, Received(response), sent


def test_a_client_that_reads_the_closing_event_gets_its_name() -> None:
    """As Codex does: no other model is needed where only that event has an empty name."""
    first, last = item(0, "added", "c1", "f"), item(0, "done", "c1", "", "{}")
    events = responses(first, piece(0, "{}"), last, completed(item(0, "done", "c1", "f", "{}")))
    found = explain(RESPONSES.call_form, events, echoed(("c1", "", "{}")))
    assert found is not None
    assert (found.names, found.others) == (["item-done-only"], ())


@needs_shared
def test_what_real_clients_sent_is_explained(shared: Path) -> None:
    """At least 95 of 100 conversations exactly, and few of them in several ways."""
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


def test_a_nameless_part_that_continues_nothing_is_a_call_of_its_own() -> None:
    """A client that returns it as it was sent has no bug."""
    part = {"functionCall": {"args": {"x": 1}}}
    events = received("gemini", [{"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}])
    found = explain(named("gemini").call_form, events, echoed((None, "", '{"x": 1}')))
    assert found is not None
    assert (found.names, found.text) == ([], "followed the protocol, but the stream is malformed")


def test_a_client_that_keeps_complete_calls_apart_has_no_bug() -> None:
    """Arguments that come in a part of their own are a call for it, as any other part; partial arguments are not."""
    parts = [{"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"args": {"x": 1}}}]
    events = received("gemini", [{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}])
    sent = echoed((None, "f", "{}"), (None, "", '{"x": 1}'))
    found = explain(named("gemini").call_form, events, sent)
    assert found is not None
    assert (found.names, found.text, found.where) == ([], "followed the protocol, but the stream is malformed", "")
    more = {"functionCall": {"partialArgs": [{"jsonPath": "$.x", "numberValue": 1}]}}
    opened = {"functionCall": {"name": "f", "willContinue": True}}
    streamed = received("gemini", [{"candidates": [{"content": {"parts": [opened, more]}, "finishReason": "STOP"}]}])
    models = [one for one in (explain(named("gemini").call_form, streamed, sent),) if one is not None]
    assert not any(one.separate for one in models)


def test_a_closing_event_without_arguments_is_where_a_client_may_have_looked() -> None:
    """Many clients read no other event; none is known to read only the opening one."""
    pieces = piece(0, '{"x":'), piece(0, "1}")
    events = responses(item(0, "added", "a", "f"), *pieces, item(0, "done", "a", "f"))
    found = explain(RESPONSES.call_form, events, echoed(("a", "f", "")))
    assert found is not None
    assert found.names == ["item-done-only"]


def test_a_malformed_response_is_explained_only_by_clients_that_read_healthy_ones() -> None:
    """A client that reads only the opening event, or only one fragment, has failed before."""
    response = HealthyResponse(model="m", request={}, calls=(HealthyCall("f", '{"x": "a b"}'),))
    valid = ReceivedBytes(StreamFacts(), b"".join(named("anthropic").healthy_stream(response)))
    (sent,) = Received(valid).intended
    names = []
    for fault in ([], ["unclosed-call"], ["double-encoded-arguments"]):
        got = rewritten(valid, settings(Words(fault=fault)))
        assert got is not None
        found = explain_alone(got, echoed((sent.id, "f", "{}")))
        names.append(found and found.names)
    assert names == [["start-only"], None, ["invalid-to-empty", "string-as-invalid"]]


def faulty(protocol: str, fault: str) -> tuple[ReceivedBytes, str]:
    """A response with one call of `get_weather` under a fault, and the call's id."""
    response = HealthyResponse(model="m", request={}, calls=(HealthyCall("get_weather", '{"city": "Oslo"}'),))
    valid = ReceivedBytes(StreamFacts(), b"".join(named(protocol).healthy_stream(response)))
    got = rewritten(valid, settings(Words(fault=[fault])))
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
def test_a_client_is_not_explained_by_what_misreads_a_response_that_it_understood(
    protocol: str, fault: str, understood: int, names: list[str] | None
) -> None:
    """A client that lost the arguments under a fault understood fragments with an index and without an id."""
    got, its_id = faulty(protocol, fault)
    found = Explainer(understood).explain_response(got, echoed((its_id, "get_weather", "{}")))
    assert (found and found.names) == names


def test_a_client_that_understood_two_calls_does_not_keep_only_the_last() -> None:
    """It keeps calls by index, and an event that opens a call replaces the one before."""
    calls = (HealthyCall("get_weather", '{"city": "Oslo"}'), HealthyCall("read_file", '{"path": "a"}'))
    healthy = b"".join(named("cohere-v2").healthy_stream(HealthyResponse(model="m", request={}, calls=calls)))
    got = rewritten(ReceivedBytes(StreamFacts(), healthy), settings(Words(fault=["reused-index"])))
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
    """No option helps a client that treats every event as a call, which says nothing about this one."""
    got, its_id = faulty("anthropic", fault)
    found = explain_alone(got, echoed((its_id, "get_weather", "{}")))
    assert found is not None
    assert found.names == ["invalid-to-empty"]
    assert advise(found.model, got, [*found.others, *found.common], found.choice) == [Advice(repair=fault)]


@pytest.mark.parametrize("protocol", ["anthropic", "bedrock"])
def test_a_repeated_start_may_continue_the_call_at_its_index(protocol: str) -> None:
    """The client does not treat all entries as one call: it merges those of one index."""
    got, its_id = faulty(protocol, "repeated-start")
    found = explain_alone(got, echoed((its_id, "get_weatherget_weather", '{"city": "Oslo"}')))
    assert found is not None
    assert found.names == ["by-index-alone", "joined-names"]


def test_lost_calls_are_explained_by_one_deviation_or_none() -> None:
    """Nothing came back: nearly every two deviations would explain it."""
    right = chat(HEADER, [entry(arguments='{"x":')], [entry(arguments=" 1}")], "tool_calls")
    assert explain(FORM, right, []) is None


@needs_shared
def test_explanations_of_recorded_conversations_stay_the_same(shared: Path) -> None:
    """Models, event, value and other models of each; `explained.txt` lists all but clients that follow the protocol."""
    found = [
        f"{cell['client']} {cell['stream']}: {written(explain_alone(response, sent))}"
        for cell, response, sent in conversations(recorded(shared))
    ]
    assert len(found) > 600
    expected = (Path(__file__).parent / "explained.txt").read_text().splitlines()
    assert [one for one in found if not one.endswith(": ")] == expected


def explain_alone(response: ReceivedBytes, sent: list[EchoedCall]) -> Explanation | None:
    """The explanation of one response, without what other responses taught about its client."""
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
def test_what_nobody_sent_is_not_explained(shared: Path) -> None:
    """The same conversations, but with a word in the arguments that was in no stream."""
    for cell, _, got, sent in [*misunderstood(recorded(shared))][::7]:
        other = [replace(one, arguments=one.arguments.replace("command", "other")) for one in sent]
        if other != sent:
            assert explain(named(cell["dialect"]).call_form, got.events, other) is None, cell["client"]


@needs_shared
def test_advice_for_real_clients_gives_them_the_calls_that_were_meant(shared: Path) -> None:
    """The first option for each conversation; a call that never came whole is not run, as its answer breaks."""
    for cell, response, got, sent in misunderstood(recorded(shared)):
        found = explain(named(cell["dialect"]).call_form, got.events, sent)
        assert found is not None
        for one in (advise(found.model, response, found.others) or ())[:1]:
            tried = rewritten(response, settings(Words([one.repair], [one.shape])))
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
