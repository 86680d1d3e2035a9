"""The text of a fault."""

from __future__ import annotations

import pytest

from toolstream_core.errors import ToolstreamError
from toolstream_core.faults.spec import Fault, parse_fault

KNOWN = {"empty-id", "glm-5"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("empty-id", Fault(name="empty-id")),
        (" glm-5 ", Fault(name="glm-5")),
        ("empty-id:p=0.5,times=2,model=glm*", Fault(name="empty-id", p=0.5, times=2, model="glm*")),
        ("empty-id:turn=0, nth=2,tool=ls,host=*.ai", Fault(name="empty-id", turn=0, nth=2, tool="ls", host="*.ai")),
    ],
)
def test_specifications(text: str, fault: Fault) -> None:
    """The shortest form of a fault is parsed to the same fault."""
    assert parse_fault(text, KNOWN) == fault
    assert parse_fault(fault.spec, KNOWN) == fault


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense", "unknown fault 'nonsense'"),
        ("empty-id:", "key=value"),
        ("empty-id:p", "key=value"),
        ("empty-id:q=1", "keys are host, path, model"),
        ("empty-id:p=2", "a number from 0 to 1"),
        ("empty-id:p=x", "a number from 0 to 1"),
        ("empty-id:times=-1", "must be an integer, at least 0"),
        ("empty-id:nth=0", "must be an integer, at least 1"),
    ],
)
def test_an_invalid_specification_is_an_error(text: str, message: str) -> None:
    """The message names what was expected."""
    with pytest.raises(ToolstreamError, match=message):
        parse_fault(text, KNOWN)


def test_targets() -> None:
    """Targets are globs without case, turns and tools."""
    fault = parse_fault("empty-id:model=GLM*,turn=1,path=/v1/*,tool=get_*", KNOWN)
    assert fault.reaches(host="h", path="/v1/chat/completions?x=1", model="glm-5", turn=1)
    assert not fault.reaches(host="h", path="/v1/chat/completions", model="glm-5", turn=0)
    assert not fault.reaches(host="h", path="/v2", model="glm-5", turn=1)
    assert not fault.reaches(host="h", path="/v1/x", model=None, turn=1)
    assert fault.hits("get_weather")
    assert not fault.hits("set_weather")
