"""Reports a response from a saved flow: in the flow, in the log, as a JSON line. Knows mitmproxy's flow."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolstream_core.printable import word
from toolstream_core.redact import redacted
from toolstream_core.saved.flow import secrets_of
from toolstream_core.saved.matching import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from mitmproxy import http

    from toolstream_core.saved.matching import Match

REPLAY = "toolstream_replay"
"""The key of `flow.metadata` under which it is."""
VERSION = 1


def note(flow: http.HTTPFlow, match: Match) -> None:
    """Keep with the flow its fixture, and whether its request was the recorded one."""
    said: dict[str, Any] = {
        "version": VERSION,
        "answer": str(match.outcome),
        "dialect": match.wanted.dialect,
        "protocol": match.wanted.dialect,
        "model": match.wanted.model and redacted(match.wanted.model, secrets_of(flow.request)),
        "source": match.fixture.source if match.fixture else None,
    }
    if match.parting is not None:
        said |= match.parting._asdict()
    if match.near:
        said["near"] = [near._asdict() for near in match.near]
    flow.metadata[REPLAY] = said
    source = (
        f"answered from {match.fixture.source}: " if match.fixture and match.outcome is not Outcome.FINISHED else ""
    )
    flow.comment = f"{source}{_outcome(said)}"


def report(flow: http.HTTPFlow, *, line: Callable[[str], None] | None, jsonl: Callable[[str], None] | None) -> None:
    """Report it, if the response was a saved one."""
    said = flow.metadata.get(REPLAY)
    if said is None:
        return
    if line is not None:
        words = [flow.request.pretty_host, said["model"], said["source"]]
        line(f"replay {' '.join(word(one) for one in words if one)} {_outcome(said)}")
    if jsonl is not None:
        more = {key: value for key, value in said.items() if key != "version"}
        jsonl(json.dumps({"type": "replay", "flow": flow.id, "host": flow.request.pretty_host, **more}))


def _outcome(said: dict[str, Any]) -> str:
    if said["answer"] == Outcome.DIVERGED:
        differs = f"the request differs at {said['at']}: recorded {said['recorded']}, requested {said['asked']}"
        return f"diverged (best match; {differs})"
    if said["answer"] == Outcome.FINISHED:
        return "finished: the request has the results of its calls; the response is a final text"
    if said["answer"] == Outcome.REFUSED:
        return "refused: " + ("; ".join(f"{near['source']} {near['why']}" for near in said["near"]))
    return str(said["answer"])
