"""The settings of option values."""

from __future__ import annotations

import pytest

from tests.tables import INJECTORS
from toolstream_core.defects.table import DEFECTS
from toolstream_core.errors import ToolstreamError
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.settings import NOTHING, SAFE, Words, settings, shape_names


def test_without_options_nothing_is_changed() -> None:
    """Without options, the settings change no stream."""
    assert settings(Words()) == NOTHING
    assert not NOTHING.rewrites


def test_option_values_are_parsed() -> None:
    """Values are separated by commas, shapes keep their order, and a client adds its shapes and repairs."""
    assert settings(Words(repair=["safe"])).repairs == SAFE
    assert settings(Words(repair=["empty-id,TS111"])).repairs == {"TS102", "TS111"}
    parsed = settings(Words(shape=["sequential", "for:aichat,sequential"]))
    assert parsed.shapes == ("sequential", "whole-calls", "one-call-per-event", "even-ids")
    assert parsed.repairs == SAFE | {"TS309"}
    assert settings(Words(repair=["-empty-id"], shape=["for:pi-ai"])).repairs == SAFE - {"TS102"}
    [(fault, budget)] = settings(Words(fault=["glm-5:times=2"])).faults
    assert (fault.name, budget.left) == ("glm-5", 2)


@pytest.mark.parametrize(
    ("text", "specs"),
    [
        ("empty-id", ["empty-id"]),
        ("empty-id,stall", ["empty-id", "stall"]),
        (" empty-id , stall:ms=5,at=event:3 ,cut", ["empty-id", "stall:ms=5,at=event:3", "cut"]),
        ("cut:at=event:3,how=reset,glm-5:p=0.5,times=2", ["cut:at=event:3,how=reset", "glm-5:p=0.5,times=2"]),
        ("empty-id,,", ["empty-id"]),
    ],
)
def test_several_faults_in_one_value(text: str, specs: list[str]) -> None:
    """In a fault option, a comma precedes the next fault or a key of the same fault."""
    made = settings(Words(fault=[text]))
    assert settings(Words(fault=specs)) == made
    parsed_specs = {fault.spec for fault, _ in made.faults} | {fault.spec for _, fault, _ in made.transit}
    assert {spec.partition(":")[0] for spec in specs} == {spec.partition(":")[0] for spec in parsed_specs}
    assert len(parsed_specs) == len(specs)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (Words(repair=["safe,emtpy-id"]), "^unknown defect 'emtpy-id'; did you mean empty-id[?]"),
        (Words(shape=["whole-call"]), "^unknown shape 'whole-call'; did you mean whole-calls[?]"),
        (Words(shape=["for:openai-streams"]), "did you mean for:openai-stream[?] "),
        (Words(fault=["empty-id,stal:ms=5"]), "^unknown fault 'stal'; did you mean stall[?]"),
        (Words(fault=["empty-id,p=0.5"]), "as in empty-id:p=0.5"),
        (Words(fault=["empty-id:model=glm,kimi2"]), "unknown fault 'kimi2'"),
        (Words(repair=["nonsense"]), "toolstream list"),
        (Words(repair=["truncated-stream"]), "cannot be repaired"),
        (Words(shape=["nonsense"]), "toolstream list"),
        (Words(shape=["for:nobody"]), "Expected one of: for:aichat, "),
        (Words(fault=["nonsense"]), "toolstream list"),
    ],
)
def test_an_invalid_value_gives_a_suggestion(words: Words, message: str) -> None:
    """The error for an invalid value contains a suggestion."""
    with pytest.raises(ToolstreamError, match=message):
        settings(words)


def test_presets_and_clients_use_known_names() -> None:
    """The parts of presets are injectable defects or shapes, and the shapes and repairs of clients exist."""
    injectors = {name for one in INJECTORS.values() for name in one}
    for preset in PRESETS:
        assert set(preset.parts) <= injectors | shape_names(), preset.name
        assert preset.source.startswith("https://")
    for client in CLIENTS:
        assert set(client.shapes) <= shape_names(), client.name
        assert settings(Words(repair=client.repairs)).repairs
    names = [*(preset.name for preset in PRESETS), *(client.name for client in CLIENTS)]
    assert not {defect.name for defect in DEFECTS} & set(names)
    assert len({preset.name for preset in PRESETS}) == len(PRESETS)
