"""The answers to a probe, kept as fixtures without secrets."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING

from toolstream_core.sources.interaction import Interaction

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from toolstream_core.probing.asking import Answer
    from toolstream_core.probing.probe import Probe


def keep(probe: Probe, folder: Path, say: Callable[[str], None]) -> None:
    """Write a flow file with its expectation for each case: the streamed answers, then the whole ones."""
    from toolstream_core.fixtures.answers import fixtures_in, flow_bytes
    from toolstream_core.fixtures.atomic import write_atomic
    from toolstream_core.fixtures.expectation import dumps, expect_path, expectation_of
    from toolstream_core.fixtures.extraction.conversion import flow_of
    from toolstream_core.fixtures.extraction.naming import stem_of

    for number, one in enumerate(probe.verdicts, 1):
        answers = [resolved.answer for resolved in (*one.streamed, *one.whole) if resolved.answer.status]
        if not answers:
            continue
        stems = (stem_of(probe.target.protocol, probe.target.model, answers[0].started, at) for at in count(number))
        paths = (folder / f"probe-{stem}.flow" for stem in stems)
        path = next(path for path in paths if not (path.exists() or expect_path(path).exists()))
        data = flow_bytes(flow_of(_interaction(answer, str(path))) for answer in answers)
        fixtures = fixtures_in(data, str(path))
        write_atomic(path, data)
        write_atomic(expect_path(path), dumps(expectation_of(fixtures)).encode())
        say(f"kept {path}")


def _interaction(answer: Answer, source: str) -> Interaction:
    return Interaction(
        source=f"{source} {answer.started}",
        url=answer.url,
        request_headers=tuple(answer.asked_with.items()),
        request_body=json.dumps(answer.request).encode(),
        status=answer.status,
        response_headers=answer.headers,
        body=answer.body,
        started=answer.started,
        chunks=tuple((after, len(data)) for after, data in answer.chunks),
        broken=answer.broken,
    )
