"""The document of the session view. Shape: `docs/view.schema.json`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from toolstream_core.clients.deviations import PROJECTS
from toolstream_core.defects.table import DEFECTS
from toolstream_core.model import Json
from toolstream_core.printable import first_difference
from toolstream_core.report.judging import Judging, cause, reason
from toolstream_core.report.verdict import ReportedVerdict, as_flags, headline, without_verdict
from toolstream_core.saved.exchange import Exchange, messages_of
from toolstream_core.version import __version__
from toolstream_core.view.readings import Models
from toolstream_core.view.received import Alignment
from toolstream_core.view.response import NONE, UNKNOWN, ReadResponse, as_received, read, without_secrets

FORM: Final = "toolstream-view"
VERSION: Final = 1


class ViewBuilder:
    """Builds the document from saved responses, in their order."""

    def __init__(self, *, raw: bool = False, live: bool = False, codes: frozenset[str] = frozenset()) -> None:
        """With `raw`, secrets stay. `live`: the document grows while it is shown.

        With `codes`, only responses with findings of these codes are in it, and of their findings only these.
        """
        self._codes = codes
        self._raw = raw
        self._live = live
        self._responses: list[ReadResponse] = []
        self.requests: dict[str, Json] = {}
        """The bodies of the requests, by their sources."""
        self._verdicts: dict[str, ReportedVerdict] = {}
        self._judging = Judging()
        self._models = Models()

    @property
    def empty(self) -> bool:
        return not self._responses

    def take(self, saved: Exchange) -> bool:
        """Add the next saved response. Returns whether it is an LLM's."""
        clean = saved.decoded() if self._raw else without_secrets(saved)
        response = read(clean)
        self.requests[clean.facts.source] = clean.facts.request
        for verdict in self._judging.take(clean, response.record):
            self._verdicts[verdict.source] = replace(verdict, hide=str) if self._raw else verdict
        if response.record is None:
            return False
        if self._codes:
            response.record.findings = [one for one in response.record.findings if one.code in self._codes]
        if response.record.findings or not self._codes:
            self._responses.append(response)
        return True

    def document(self, files: Sequence[str]) -> dict[str, Any]:
        verdicts = self._verdicts
        return self.assembled(
            [self.object_of(one, verdicts.get(one.saved.facts.source)) for one in self._responses], files
        )

    def assembled(self, responses: Sequence[dict[str, Any]], files: Sequence[str] = ()) -> dict[str, Any]:
        """The document of responses that `object_of` made."""
        found = {finding["code"] for one in responses for finding in one["findings"]}
        models = self._models.table
        return {
            "form": FORM,
            "version": VERSION,
            "generated": {
                "by": f"toolstream {__version__}",
                "files": [*files],
                "live": self._live,
                "redacted": not self._raw,
            },
            "conversations": _conversations(responses),
            "responses": responses,
            "models": models,
            "projects": {name: PROJECTS[name] for one in models.values() for name in one["projects"]},
            "defects": {
                defect.code: {"meaning": defect.meaning, "requirement": defect.must}
                for defect in DEFECTS
                if defect.code in found
            },
        }

    def object_of(self, response: ReadResponse, judged: ReportedVerdict | None) -> dict[str, Any]:
        """A response in the document; `judged`: its verdict, if any."""
        record = response.record
        assert record is not None
        theirs = as_received(response)
        alignment = None if theirs is None else Alignment(response, theirs)
        shown = response.object({} if alignment is None else alignment.objects())
        shown["verdict"] = _verdict(response, judged, alignment)
        if record.calls and response.protocol is not None:
            explanation = None if judged is None else judged.explained.explanation
            shown["readings"] = self._models.readings(response, alignment, explanation)
        if judged is not None and judged.request in self.requests:
            before, after = messages_of(response.saved.facts.request), messages_of(self.requests[judged.request])
            shared = first_difference(before, after)
            shown["next_request"] = {"source": judged.request, "shared": shared, "added": after[shared:]}
        return shown


def _verdict(response: ReadResponse, judged: ReportedVerdict | None, alignment: Alignment | None) -> dict[str, Any]:
    record = response.record
    assert record is not None
    if judged is None:
        none = UNKNOWN if record.calls else NONE
        return {"verdict": none, "understood": None, "headline": without_verdict(record)}
    verdict, explained = judged.object, judged.explained
    event = verdict["event"] if alignment is None else alignment.of(verdict["event"])
    explanation = explained.explanation
    return {
        "verdict": verdict["verdict"],
        "understood": verdict["understood"],
        "headline": judged.hide(headline(judged.verdict, judged.calls)),
        "reason": "" if explanation is None else reason(explanation, event),
        "cause": _capitalized(explained.fix) if explanation is None else cause(explanation),
        "fix": "" if explanation is None else explanation.fix,
        "event": event,
        "value": "" if explanation is None else explanation.seen,
        "projects": [] if explanation is None else [*explanation.projects],
        "advice": [{"options": one, "run": f"toolstream run {as_flags(one)} -- CMD"} for one in verdict["advice"]],
        "problems": verdict["problems"],
        "count": verdict["count"],
        "next": verdict["request"],
        "returned": verdict["sent"],
    }


def _capitalized(clause: str) -> str:
    """A clause as a sentence; an empty one stays empty."""
    return f"{clause[0].upper()}{clause[1:]}." if clause else ""


def _conversations(responses: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The responses that follow one another, each conversation with its first prompt."""
    place_of = {one["source"]: place for place, one in enumerate(responses)}
    before: dict[int, int] = {}
    for place, one in enumerate(responses):
        following = place_of.get(one["verdict"].get("next") or "")
        if following is not None:
            before[following] = place
    found: dict[int, list[int]] = {}
    first: dict[int, int] = {}
    for place in range(len(responses)):
        first[place] = first.get(before[place], before[place]) if place in before else place
        found.setdefault(first[place], []).append(place)
    return [_conversation(responses, places) for places in found.values()]


def _conversation(responses: Sequence[dict[str, Any]], places: Sequence[int]) -> dict[str, Any]:
    opening = responses[places[0]]
    conversation = {"title": opening["request"]["prompt"] or opening["source"], "responses": [*places]}
    if (repeats := _repeats(responses[place] for place in places)) > 1:
        conversation["repeats"] = repeats
    return conversation


def _repeats(responses: Iterable[dict[str, Any]]) -> int:
    """The number of times that the same calls were misread in the same way."""
    misread = [
        json.dumps([[[call["name"], call["arguments"]] for call in one["calls"]], one["verdict"]["verdict"]])
        for one in responses
        if one["verdict"]["understood"] is False
    ]
    return max(map(misread.count, misread), default=0)
