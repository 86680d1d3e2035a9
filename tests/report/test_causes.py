"""Sentences that explain why a client misread a response, for each deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.clients.streams import CHAT, chat, echoed, entry
from tests.clients.test_deviations import CASES
from toolstream_core.clients.explanation import Explainer, Explanation
from toolstream_core.clients.model import AXES, STANDARD, Id, Kept, Key
from toolstream_core.clients.stepping import Change, What
from toolstream_core.report.judging import cause, reason

if TYPE_CHECKING:
    from tests.clients.test_deviations import Case
    from toolstream_core.clients.model import Deviation

DEVIATIONS = [deviation for values in AXES.values() for deviation in values[1:]]
MOST_WORDS = 25
OWN = {Id.OWN, Id.UNIQUE, Id.ITEM}


@pytest.mark.parametrize("deviation", DEVIATIONS)
def test_every_deviation_has_a_sentence_with_the_event(deviation: Deviation) -> None:
    """It mentions the client, and has at most 25 words."""
    change = Change(7, 0, 0, What.APPENDED)
    text = reason(Explanation(STANDARD.with_deviations([deviation]), 7, shows=deviation, change=change))
    assert "event 7 " in text.replace(",", " ")
    assert "client" in text
    assert "{" not in text.replace("`{}`", "")
    assert text.endswith(".")
    assert len(text.split()) <= MOST_WORDS, text


@pytest.mark.parametrize("case", [one for one in CASES if one.deviation not in OWN], ids=lambda case: case.deviation)
def test_the_sentence_is_about_a_deviation_of_the_client(case: Case) -> None:
    """If several deviations explain the calls, it is about one of the model's."""
    found = Explainer().explain(case.protocol.call_form, case.events, echoed(*case.returned))
    assert found is not None
    assert found.shows in found.model.deviations
    assert f"event {found.event} " in reason(found).replace(",", " ")


@pytest.mark.parametrize("case", [one for one in CASES if one.deviation in OWN], ids=lambda case: case.deviation)
def test_ids_of_its_own_are_no_bug_of_a_client(case: Case) -> None:
    """A client may tell calls apart by other ids than those of the stream."""
    found = Explainer().explain(case.protocol.call_form, case.events, echoed(*case.returned))
    assert found is not None
    assert not OWN & {*found.model.deviations}


def test_the_sentence_is_about_the_event() -> None:
    """The event opened a call, so the sentence is about the key of calls, and not about dropped ones."""
    fragments = [[entry(id="", arguments=text)] for text in ('{"a":', "1}")]
    events = chat([entry(id="call_1", name="f", arguments="")], *fragments, "tool_calls")
    found = Explainer().explain(CHAT.call_form, events, echoed(("call_1", "f", "")))
    assert found is not None
    assert found.shows is Key.INDEX_AND_ID
    assert reason(found) == (
        "At event 1 the client started a new call, because it compares index and id with those of the event before "
        '(here `index 0, id ""`).'
    )
    assert cause(found).endswith(", and drops calls without a name.")
    assert reason(found, 5).startswith("At event 5 ")


def test_a_client_without_deviations_has_a_cause_and_no_event() -> None:
    """The cause is the malformed stream."""
    found = Explanation(STANDARD)
    assert reason(found) == ""
    assert cause(found) == "The client followed the protocol, but the stream is malformed."
    dropped = Explanation(STANDARD.with_deviations([Kept.NAMED]), 3, shows=Kept.NAMED)
    assert reason(dropped) == "The client dropped the call that ends at event 3, because it has no name."
