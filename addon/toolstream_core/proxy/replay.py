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
    facts: dict[str, Any] = {
        "version": VERSION,
        "answer": str(match.outcome),
        "dialect": match.wanted.dialect,
        "protocol": match.wanted.dialect,
        "model": match.wanted.model and redacted(match.wanted.model, secrets_of(flow.request)),
        "source": match.fixture.source if match.fixture else None,
    }
    if match.parting is not None:
        facts |= match.parting._asdict()
    if match.near:
        facts["near"] = [near._asdict() for near in match.near]
    flow.metadata[REPLAY] = facts
    source = (
        f"answered from {match.fixture.source}: " if match.fixture and match.outcome is not Outcome.FINISHED else ""
    )
    flow.comment = f"{source}{_outcome(facts)}"


def report(flow: http.HTTPFlow, *, line: Callable[[str], None] | None, jsonl: Callable[[str], None] | None) -> None:
    """Report it, if the response was a saved one."""
    facts = flow.metadata.get(REPLAY)
    if facts is None:
        return
    if line is not None:
        words = [flow.request.pretty_host, facts["model"], facts["source"]]
        line(f"replay {' '.join(word(one) for one in words if one)} {_outcome(facts)}")
    if jsonl is not None:
        more = {key: value for key, value in facts.items() if key != "version"}
        jsonl(json.dumps({"type": "replay", "flow": flow.id, "host": flow.request.pretty_host, **more}))


def _outcome(values: dict[str, Any]) -> str:
    if values["answer"] == Outcome.DIVERGED:
        differs = f"the request differs at {values['at']}: recorded {values['recorded']}, requested {values['asked']}"
        return f"diverged (best match; {differs})"
    if values["answer"] == Outcome.FINISHED:
        return "finished: the request has the results of its calls; the response is a final text"
    if values["answer"] == Outcome.REFUSED:
        return "refused: " + ("; ".join(f"{near['source']} {near['why']}" for near in values["near"]))
    return str(values["answer"])
