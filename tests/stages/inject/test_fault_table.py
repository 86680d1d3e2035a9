"""The table of injected causes: one entry for each defect and protocol, independent of the protocol's keys."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import injected
from tests.invariants.healthy import Healthy, streams
from tests.tables import INJECTORS
from toolstream_core.defects.identity import MISSING_NAME
from toolstream_core.protocols.anthropic.stages import PROTOCOL as ANTHROPIC
from toolstream_core.protocols.bedrock.stages import PROTOCOL as BEDROCK
from toolstream_core.protocols.chat.inject import ChatCodec
from toolstream_core.protocols.cohere.stages import PROTOCOL as COHERE
from toolstream_core.protocols.responses.inject import ResponsesCodec
from toolstream_core.repair.blocks.faults import BlockCodec
from toolstream_core.stages.inject.fault_table import CAUSES
from toolstream_core.stages.inject.injector import injectors
from toolstream_core.stages.inject.rule import START, it, on, per_call
from toolstream_core.stages.inject.words import has, later_call

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.stages.inject.codec import EventCodec

CODECS: dict[str, Callable[[], EventCodec]] = {
    "openai-chat": ChatCodec,
    "openai-responses": ResponsesCodec,
    "anthropic": lambda: BlockCodec(ANTHROPIC),
    "bedrock": lambda: BlockCodec(BEDROCK),
    "cohere-v2": lambda: BlockCodec(COHERE),
}
TWO = [one for one in streams() if one.name == "fragments of two" and one.protocol in CODECS]


def test_a_defect_has_one_cause_in_each_protocol() -> None:
    """Each defect has at most one cause in a protocol."""
    counts = Counter((one.defect.name, protocol) for one in CAUSES for protocol in one.protocols)
    assert [defect for defect, count in counts.items() if count > 1] == []
    assert all(one.protocols for one in CAUSES)


@pytest.mark.parametrize("protocol", [name for name, injectors in INJECTORS.items() if injectors])
def test_every_cause_of_a_protocol_is_an_injector_of_it(protocol: str) -> None:
    """Each cause of a protocol is one of its injectors."""
    assert {one.defect.name for one in CAUSES if protocol in one.protocols} <= INJECTORS[protocol].keys()


@pytest.mark.parametrize("healthy", TWO, ids=str)
def test_a_cause_works_in_every_protocol_with_the_field(healthy: Healthy, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cause that names fields, not keys of a protocol, works in every protocol with those fields."""
    defect = per_call(MISSING_NAME, on(START & later_call & has("name"), it(name="other")))
    added = injectors(healthy.protocol, CODECS[healthy.protocol], [defect])
    monkeypatch.setitem(INJECTORS[healthy.protocol], "missing-name", added["missing-name"])
    outcome = injected(healthy.body, healthy.exchange, "missing-name")
    assert outcome.record.faults[0].changes == 1
    assert [call.name for call in outcome.record.calls] == ["get_weather", "other"]
