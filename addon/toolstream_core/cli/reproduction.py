"""A flow file as a candidate of the search, and candidates as flow files. Knows both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.fixtures.answers import turn_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from toolstream_core.fixtures.answers import Answered
    from toolstream_core.shrinking.candidate import Candidate


class Reproduction:
    """The answers in a flow file, without secrets."""

    def __init__(self, answers: Sequence[Answered], note: str = "") -> None:
        """These."""
        self._flows = {one.number: one.flow for one in answers}
        self.original: Candidate = tuple(turn_of(one.number, one.fixture) for one in answers)
        self.note = note
        """Which of two answers these are, where faults changed what the provider said; else empty."""

    def flow_bytes(self, candidate: Candidate) -> bytes:
        """A candidate as a flow file."""
        from toolstream_core.fixtures.answers import flow_bytes, with_answer

        return flow_bytes(with_answer(self._flows[one.number], one.exchange.request, one.chunks) for one in candidate)

    def write(self, candidate: Candidate, path: Path, *, replace: bool) -> None:
        """Write a candidate as a fixture, with its expectation beside it."""
        from toolstream_core.fixtures.answers import fixtures_in
        from toolstream_core.fixtures.atomic import write_atomic
        from toolstream_core.fixtures.expectation import dumps, expect_path, expectation_of

        data = self.flow_bytes(candidate)
        write_atomic(path, data, replace=replace)
        expected = dumps(expectation_of(fixtures_in(data, str(path)))).encode()
        write_atomic(expect_path(path), expected, replace=replace)


def reproduction(path: Path, shows: Callable[[Candidate], bool] | None) -> Reproduction:
    """What is in a flow file: of an answer that a fault changed, what the client got, as that is what failed.

    `shows` says whether the bug shows, where that costs little to ask: if it shows only in what the provider said, that
    is taken. Raises `FixtureError`.
    """
    from toolstream_core.fixtures.answers import as_client_got, read_answers

    said = read_answers(path)
    got = [as_client_got(one) for one in said]
    changed = [one.fixture for one, other in zip(said, got, strict=True) if one is not other]
    if not changed:
        return Reproduction(said)
    specs = ", ".join(dict.fromkeys(spec for one in changed for spec in one.caused.specs))
    broken = f"{', '.join(one.source for one in changed)}: changed by fault {specs}"
    provider = Reproduction(said, f"{broken}; shrinking the response of the provider, because only it shows the bug")
    client = Reproduction(got, f"{broken}; shrinking the response that the client received")
    return provider if shows is not None and shows(provider.original) and not shows(client.original) else client
