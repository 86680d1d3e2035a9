"""What a check keeps, and what it tries to help a client."""

from __future__ import annotations

import stat
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.checking.cases import Case, Kind
from toolstream_core.checking.runner import CheckState, candidates
from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from pathlib import Path


ABOUT = {"clients": {"a": ["python"]}, "calls": ("x",)}


def test_finished_cases_are_kept(tmp_path: Path) -> None:
    """Also where the last line was cut off; for their owner's eyes."""
    path = tmp_path / "state"
    with CheckState(path, ABOUT) as state:
        state.add(("a", "p/fault/x"), {"id": "p/fault/x", "grade": "ok"})
        state.add(("b", "p/fault/x"), {"id": "p/fault/x", "grade": "failed"})
    with path.open("a") as file:
        file.write('{"client": "a", "ca')
    with CheckState(path, ABOUT) as state:
        assert state.get(("a", "p/fault/x")) == {"id": "p/fault/x", "grade": "ok"}
        assert state.get(("b", "p/fault/x")) == {"id": "p/fault/x", "grade": "failed"}
        assert state.get(("a", "p/fault/y")) is None
        state.add(("a", "p/fault/y"), {"id": "p/fault/y", "grade": "ok"})
    with CheckState(path, ABOUT) as state:
        assert state.get(("a", "p/fault/y")) is not None
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_check_is_refused(tmp_path: Path) -> None:
    """And so is any other file."""
    path = tmp_path / "state"
    CheckState(path, ABOUT).__exit__()
    with pytest.raises(ToolstreamError, match="belongs to another command"):
        CheckState(path, {**ABOUT, "calls": ()})
    path.write_text("hello\n")
    with pytest.raises(ToolstreamError, match="is not a state file of"):
        CheckState(path, ABOUT)


def test_without_a_file_it_is_forgotten() -> None:
    """It is kept for this run."""
    with CheckState() as state:
        state.add(("a", "i"), {"id": "i", "grade": "ok"})
        assert state.get(("a", "i")) is not None


def case(kind: str, name: str) -> Case:
    """A case, as far as that is looked at."""
    return Case(protocol="openai-chat", kind=Kind(kind), name=name, title="")


def exchanges(*advised: tuple[str, ...], protocol: str = "openai-chat", calls: int = 0) -> Any:
    """Exchanges with verdicts that advise something, after one without a verdict."""
    verdicts = [None, *(SimpleNamespace(advice=one) for one in advised)]
    request = SimpleNamespace(protocol=protocol)
    return [SimpleNamespace(verdict=one, request=request, calls=[None] * calls) for one in verdicts]


ALL_SAFE = "--set toolstream_repair=safe"


@pytest.mark.parametrize(
    ("failed", "options"),
    [
        (case("fault", "late-id"), ["--set toolstream_repair=late-id", ALL_SAFE]),
        (case("preset", "openclaw"), ["--set toolstream_repair=empty-id,empty-name", ALL_SAFE]),
        (case("fault", "missing-calls"), [ALL_SAFE]),
        (case("fault", "lost-arguments"), [ALL_SAFE]),
        (case("shape", "whole-calls"), []),
        (case("transit", "stall"), []),
    ],
)
def test_the_safe_repairs_of_what_was_injected_are_tried(failed: Case, options: list[str]) -> None:
    """A repair that guesses is not."""
    assert candidates(failed, exchanges(())) == options


def test_the_advice_of_a_verdict_is_tried_before_all_repairs() -> None:
    """Of several, the first; a shape after the repair of the fault, which changes less."""
    shape, repair = "--set toolstream_shape=a", "--set toolstream_repair=late-id"
    found = exchanges((), (shape, "--set toolstream_shape=b"), ("--set toolstream_shape=c",))
    assert candidates(case("fault", "late-id"), found) == [repair, shape, ALL_SAFE]
    assert candidates(case("fault", "late-id"), exchanges((repair,))) == [repair, ALL_SAFE]
    other = "--set toolstream_repair=empty-id"
    assert candidates(case("fault", "late-id"), exchanges((other,))) == [other, repair, ALL_SAFE]


def test_whole_calls_are_tried_last() -> None:
    """Where there are calls and the protocol has the shape: a client that crashed on fragments may read them."""
    whole = "--set toolstream_shape=whole-calls"
    assert candidates(case("healthy", "healthy"), exchanges(calls=1)) == [whole]
    assert candidates(case("fault", "late-id"), exchanges(calls=1)) == [
        "--set toolstream_repair=late-id",
        ALL_SAFE,
        whole,
    ]
    assert candidates(case("healthy", "healthy"), exchanges(calls=1, protocol="ollama")) == []


def test_plain_lines_are_tried_where_other_lines_fail() -> None:
    """Whatever of them the client cannot read."""
    plain = "--set toolstream_shape=plain-lines"
    whole = "--set toolstream_shape=whole-calls"  # rewritten events have plain lines too, but text has not
    assert candidates(case("shape", "no-space"), exchanges(calls=1)) == [plain, whole]
    assert plain not in candidates(case("shape", "tiny-fragments"), exchanges(()))


def test_nothing_is_tried_with_the_clients_own_provider() -> None:
    """Each run costs money there."""
    failed = case("fault", "late-id")
    assert candidates(failed, exchanges(("--set toolstream_shape=a",)), upstream=True) == []
    assert candidates(failed, exchanges(("--set toolstream_shape=a",))) != []
