"""The ways in which a candidate is made smaller, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.shrinking.passes import cuts, fields, groups, merging, removal, requests, strings, texts
from toolstream_core.shrinking.passes.proposal import Pass

if TYPE_CHECKING:
    from toolstream_core.shrinking.candidate import Candidate


def passes(original: Candidate, *, lax: bool = False) -> tuple[Pass, ...]:
    """What is tried on `original`. Unless it is `lax`, fields that all objects of their kind have stay."""
    required = {} if lax else fields.required(original)
    return (
        Pass("chunks", cuts.proposals),
        Pass("answers", removal.answers),
        Pass("groups", groups.proposals),
        Pass("events", removal.pieces),
        Pass("fragments", merging.proposals),
        Pass("arguments and text", texts.proposals, careful=True),
        Pass("fields", fields.proposals(required), careful=True),
        Pass("strings", strings.proposals, careful=True),
        Pass("requests", requests.proposals, careful=True),
    )
