"""The client models that read a response, and their order."""

from __future__ import annotations

from typing import Any

from tests.calls.patterns import patterns
from tests.invariants.healthy import streams
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.saved.exchange import Exchange
from toolstream_core.view.document import ViewBuilder


def kind(name: str, table: dict[str, Any]) -> int:
    """The rank of a model: protocol, intended calls, client versions, single deviations."""
    if name in ("protocol", "intended"):
        return ("protocol", "intended").index(name)
    return 2 if "client" in table[name] else 3


def test_client_versions_are_listed_before_single_deviations() -> None:
    """A client version has its project."""
    builder = ViewBuilder()
    for pattern in patterns():
        builder.take(Exchange(facts=pattern.exchange, chunks=[pattern.body]))
    document = builder.document([])
    listed = 0
    for response in document["responses"]:
        names = [one["model"] for one in response.get("readings", {"models": []})["models"]]
        kinds = [kind(name, document["models"]) for name in names]
        assert kinds == sorted(kinds)
        assert kinds.count(0) == kinds.count(1) == min(1, len(kinds))
        listed += 2 in kinds
        if 2 in kinds:
            assert response["protocol"] == "openai-chat"
    assert listed
    versions = [one for one in document["models"].values() if "client" in one]
    assert {one["client"]["name"] for one in versions} >= {"agno", "pi-ai"}
    assert all(one["projects"] and one["projects"][0] in document["projects"] for one in versions)


def test_bugs_of_a_single_variable_need_an_event_that_opens_a_call() -> None:
    """Chat Completions and protocols with complete calls have no such event."""
    builder = ViewBuilder()
    announced = {protocol.name: protocol.call_form is CallForm.ANNOUNCED for protocol in PROTOCOLS}
    for healthy in streams():
        builder.take(Exchange(facts=healthy.exchange, chunks=[healthy.body]))
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for response in builder.document([])["responses"]:
        models = response.get("readings", {"models": []})["models"]
        found[announced[response["protocol"]]] |= {one["model"] for one in models}
    bugs = {"first-opened", "buffer-never-reset"}
    assert bugs <= found[True]
    assert not bugs & found[False]
