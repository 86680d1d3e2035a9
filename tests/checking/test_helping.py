"""What may help a client in a case that it failed."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from toolstream_core.checking.cases import Case, Kind
from toolstream_core.checking.runner import candidates


def case(kind: str, name: str) -> Case:
    """A case, as far as that is looked at."""
    return Case(protocol="openai-chat", kind=Kind(kind), name=name, title="")


def exchanges(*advised: tuple[str, ...]) -> Any:
    """Exchanges with verdicts that advise something, after one without a verdict."""
    verdicts = [None, *(SimpleNamespace(advice=one) for one in advised)]
    return [SimpleNamespace(verdict=one) for one in verdicts]


@pytest.mark.parametrize(
    ("failed", "options"),
    [
        (case("fault", "late-id"), ["--set toolstream_repair=late-id"]),
        (case("preset", "openclaw"), ["--set toolstream_repair=empty-id,empty-name"]),
        (case("fault", "missing-calls"), []),
        (case("fault", "lost-arguments"), []),
        (case("shape", "whole-calls"), []),
        (case("transit", "stall"), []),
    ],
)
def test_the_safe_repairs_of_what_was_injected_are_tried(failed: Case, options: list[str]) -> None:
    """A repair that guesses is not."""
    assert candidates(failed, exchanges(())) == options


def test_the_advice_of_a_verdict_is_tried_first() -> None:
    """Of several, the first."""
    shape, repair = "--set toolstream_shape=a", "--set toolstream_repair=late-id"
    found = exchanges((), (shape, "--set toolstream_shape=b"), ("--set toolstream_shape=c",))
    assert candidates(case("fault", "late-id"), found) == [shape, repair]
    assert candidates(case("fault", "late-id"), exchanges((repair,))) == [repair]


def test_nothing_is_tried_with_the_clients_own_provider() -> None:
    """Each run costs money there."""
    failed = case("fault", "late-id")
    assert candidates(failed, exchanges(("--set toolstream_shape=a",)), upstream=True) == []
    assert candidates(failed, exchanges(("--set toolstream_shape=a",))) != []
