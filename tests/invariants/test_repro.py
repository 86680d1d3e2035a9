"""Recorded streams on which a repair once did harm, with the right results."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

import pytest

from tests.conftest import needs_shared, shared_dir
from tests.fuzz.case import Case
from tests.fuzz.hunt import violations
from tests.fuzz.invariants import END_INVARIANTS, ClientOutcome
from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_shared
RESET = "the connection was reset"


@cache
def streams() -> dict[str, Path]:
    """Return the streams by file name."""
    folder = shared_dir()
    return {path.name: path for path in sorted((folder / "repro").glob("*.sse"))} if folder else {}


FRAGMENTS = ("msg-fragments.sse", "writer-unstreamed.broken.sse")


def case(name: str, end: str | None = None) -> Case:
    """Return a case with safe repairs for a file, with the recorded request."""
    path = streams()[name]
    request_path = path.with_suffix(".request.json")
    request = json.loads(request_path.read_text(encoding="utf-8")) if request_path.exists() else ABSENT
    return Case("", path.read_bytes(), "text/event-stream", request=request, broken=end)


def outcome_of(name: str) -> ClientOutcome:
    """Run a file with safe repairs."""
    return ClientOutcome(case(name))


def complete(outcome: ClientOutcome) -> list[tuple[str, object]]:
    """Return the complete calls of the repaired stream."""
    return [(name, json.loads(arguments)) for name, arguments, is_complete in outcome.reread.calls if is_complete]


@pytest.mark.parametrize("end", [None, RESET], ids=["clean", "broken"])
@pytest.mark.parametrize("name", streams())
def test_no_invariant_is_violated(name: str, end: str | None) -> None:
    """The stream violates no invariant of ends, with a clean end and a reset connection."""
    assert list(violations(case(name, end), END_INVARIANTS)) == []


@pytest.mark.parametrize("name", [name for name in streams() if name.startswith("trunc-")])
def test_a_header_alone_is_not_a_complete_call(name: str) -> None:
    """A truncated stream with only a header is reported as truncated, and has no complete call."""
    outcome = outcome_of(name)
    assert "truncated-stream" in outcome.off.finding_names
    assert [is_complete for _, _, is_complete in outcome.off.calls] == [False]
    assert complete(outcome) == []
    assert not outcome.repaired.finished


HEADLESS = (
    "double-encoded-cut-anthropic",
    "double-encoded-cut-chat",
    "no-audit-anthropic",
    *(
        f"calls-changed-{name}"
        for name in ("changing-stream-id", "cut-off-call-empty-id", "empty-id", "unclosed-call", "unknown-block")
    ),
    "calls-changed-missing-id",
)


@pytest.mark.parametrize("name", HEADLESS)
def test_arguments_without_their_beginning_are_forwarded(name: str) -> None:
    """Arguments whose beginning is lost are forwarded unchanged, and the call stays incomplete."""
    outcome = outcome_of(f"{name}.sse")
    texts = [call.text for call in outcome.repaired.calls.values()]
    assert texts == [call.text for call in outcome.raw.calls.values()]
    assert complete(outcome) == complete_before(outcome)


def complete_before(outcome: ClientOutcome) -> list[tuple[str, object]]:
    """Return the calls that are complete for a plain client of the raw bytes."""
    return [(call.name, call.value) for call in outcome.raw.calls.values() if call.value is not None]


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments_in_messages_are_joined(name: str) -> None:
    """Calls whose fragments are in `message` objects are complete and have arguments."""
    outcome = outcome_of(name)
    plain = [(call.name, call.value) for call in outcome.repaired.calls.values()]
    assert plain == complete(outcome) != []
    assert all(value for _, value in plain)


def test_null_from_a_tool_without_parameters_is_an_empty_object() -> None:
    """Arguments `null` of a tool without parameters are sent as `{}`, with an unchanged finish reason."""
    outcome = outcome_of("null-arguments-no-parameter-tool.sse")
    assert [call.value for call in outcome.repaired.calls.values()] == [{}]
    assert outcome.off.record is not None
    assert outcome.reread.record is not None
    assert outcome.reread.record.finish == outcome.off.record.finish


def test_no_delta_is_sent_twice() -> None:
    """A delta is sent once, although the name was late."""
    outcome = outcome_of("late-name-noargs-responses.broken.sse")
    assert outcome.on.out.count(b'"delta":"{}"') == 1


def test_one_stream_has_one_id() -> None:
    """All repaired chunks have the same id."""
    outcome = outcome_of("changing-stream-id-partial.sse")
    assert len({block.payload["id"] for block in outcome.repaired_split.blocks if isinstance(block.payload, dict)}) == 1


@pytest.mark.parametrize("name", [name for name in streams() if name.startswith("resumed-")])
def test_a_resumed_stream_is_forwarded_unchanged(name: str) -> None:
    """A resumed stream without its first events is forwarded unchanged."""
    outcome = outcome_of(name)
    assert outcome.on.out == outcome.case.body


def test_items_of_one_call_are_one_call() -> None:
    """The items of one call are joined, even if a fragment is only punctuation."""
    outcome = outcome_of("ipf.broken.sse")
    assert len(complete(outcome)) == len(outcome.repaired.calls) == 1


def test_a_header_after_the_finish_reason_names_its_call() -> None:
    """A call gets its name from a header after the finish reason."""
    outcome = outcome_of("nat-chat-header-after-finish.sse")
    assert [call.name for call in outcome.repaired.calls.values()] == [name for name, _, _ in outcome.off.calls] != [""]


@pytest.mark.parametrize("name", [name for name in streams() if "trailing-garbage" in name])
def test_garbage_is_removed_only_after_an_object(name: str) -> None:
    """Trailing garbage is removed only after an object: `2}` is not changed to `2`."""
    outcome = outcome_of(name)
    assert [call.text for call in outcome.repaired.calls.values()] == [call.text for call in outcome.raw.calls.values()]
