"""Verdicts on saved responses, and why a client misread one: the event, the client's bug, and options that help."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from toolstream_core.clients.advice import Advice, advise
from toolstream_core.clients.deviations import QUIRKS
from toolstream_core.clients.explanation import Explainer, Explanation
from toolstream_core.clients.received import ReceivedBytes
from toolstream_core.clients.stepping import Change, What
from toolstream_core.delivery.sent_bytes import response_id
from toolstream_core.engine.session import read_body
from toolstream_core.model import Record
from toolstream_core.protocols.requests.conversation import ReturnedCall, earlier_ids, without_history
from toolstream_core.redact import redacted
from toolstream_core.report.verdict import UNEXPLAINED, Explained, ReportedVerdict
from toolstream_core.saved.exchange import Exchange
from toolstream_core.stages.stream_checks import BY_CLIENT
from toolstream_core.verdict.conversations import Conversations, Judged, SentResponse


def cause(explanation: Explanation) -> str:
    """The client's deviation, in one sentence."""
    return f"The client {explanation.text}."


def reason(explanation: Explanation, event: int | None = None) -> str:
    """A sentence on what the client did at the first event that it misread; `""` without an event.

    `event`: the number of that event in the output, if it differs.
    """
    shows, place = explanation.shows, explanation.event if event is None else event
    if shows is None or place is None:
        return ""
    text = QUIRKS[shows].cause.format(event=place, did=_did(explanation.change))
    return f"{text} (here `{explanation.seen}`)." if explanation.seen else f"{text}."


def _did(change: Change | None) -> str:
    if change is None or change.what is What.SKIPPED:
        return "skipped the fragment"
    return "started a new call" if change.what is What.OPENED else f"added the fragment to its call {change.place}"


_PROJECTS: Final = 3
"""Maximum number of projects named as examples."""


_REMEMBERED: Final = 8
"""Number of responses whose advice is remembered: a client in a loop gets equal ones."""
NO_HELP: Final = "no repair or shape of toolstream helps: "
"""Precedes the fix of a client that no option helps: all were tried on its models."""
_UNKNOWN: Final = Explained(fix="no client bug that toolstream knows has this effect")
_DOUBTFUL: Final = Explained(
    fix="the calls have `function` and also `custom`, so the client may treat them as calls of custom tools; "
    "fix the client: use `custom` only if `function` is missing"
)


class Explaining:
    """Explains the calls that clients returned. A client's earlier behaviour decides ties."""

    def __init__(self, understood: int = 0) -> None:
        """`understood`: as for `Explainer`."""
        self._explainer = Explainer(understood)
        self._advised: deque[tuple[tuple[object, ...], list[Advice] | None]] = deque(maxlen=_REMEMBERED)

    def __call__(self, response: ReceivedBytes, returned: Sequence[ReturnedCall], client: str = "") -> Explained:
        """`response`: as the client received it; `returned`: its returned calls; `client` distinguishes clients."""
        found = self._explainer.explain_response(response, returned, client)
        if found is None or found.understood:
            return _UNKNOWN
        if found.doubtful:
            return _DOUBTFUL
        projects = ", ".join(list(found.projects)[:_PROJECTS])
        likely = "probably " if found.names else ""  # another bug can have the same effect
        # If no fix of the client is known, its bugs show in the calls, but the stream misleads every client.
        stream = "the stream is malformed, and " if found.names and found.wrong == () else ""
        notes = "; ".join(one for one in (found.where, projects and f"also seen in {projects}") if one)
        text = f"{stream}the client {likely}{found.text}{f' ({notes})' if notes else ''}"
        advised = self._advise(found, response)
        no_help = NO_HELP if advised == [] else ""
        fix = f"{no_help}{found.fix}" if found.names or no_help else ""
        return Explained(found.names, found.event, text, tuple(one.options for one in advised or ()), fix, found)

    def _advise(self, found: Explanation, response: ReceivedBytes) -> list[Advice] | None:
        """As `advise`; equal responses to requests with the same options and ids are tried once."""
        models, facts = [found.model, *found.others, *found.common], response.facts
        ids = found.protocol and earlier_ids(facts.request)
        alike = replace(facts, source="", request=without_history(facts.request))
        key = (models, found.choice, hashlib.sha256(response.body).digest(), response.broken, alike, ids)
        for known, advised in self._advised:
            if known == key:
                return advised
        advised = advise(models[0], response, models[1:], found.choice)
        self._advised.append((key, advised))
        return advised


_KEPT: Final = 32 * 1024 * 1024
"""Bytes of responses that are kept until the next request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedResponse(SentResponse):
    """A saved response."""

    secrets: tuple[str, ...]


class Judging:
    """Judges saved requests and responses in their order."""

    def __init__(self) -> None:
        self._decided: list[ReportedVerdict] = []
        self._secrets: tuple[str, ...] = ()
        self._conversations = Conversations[SavedResponse](self._judged)
        self._received: dict[str, ReceivedBytes] = {}
        """The newest responses with calls as the client got them, by their tokens, `_KEPT` bytes in all."""
        self._explaining = Explaining()

    def take(self, saved: Exchange, record: Record | None) -> Sequence[ReportedVerdict]:
        """Add the next exchange. Returns the decided verdicts. `record` is `None` without an LLM response."""
        decided = self._decided = list[ReportedVerdict]()
        facts, self._secrets = saved.facts, saved.secrets
        file = facts.source.rpartition("#")[0]
        if not self._conversations.llm_request(facts.source, facts, source=file, began=saved.began):
            return decided
        if record is None or saved.is_rewritten:
            self._conversations.no_response(facts.source)
            return decided
        got = as_sent(saved) or record
        body = saved.body if got.calls else b""
        name = response_id([body], facts)
        response = SavedResponse.of(
            got, facts.request, body, response_id=name, ended=saved.ended, secrets=saved.secrets
        )
        if got.calls:
            self._keep(facts.source, received(saved))
        left = bool(saved.broken and BY_CLIENT.search(saved.broken)) and not got.ended
        self._conversations.response(facts.source, response, left=left)
        return decided

    def _keep(self, token: str, received: ReceivedBytes) -> None:
        """Keep a response to explain its verdict. The oldest are dropped first, and their verdicts stay unexplained."""
        self._received[token] = received
        while sum(len(one.body) for one in self._received.values()) > _KEPT:
            del self._received[next(iter(self._received))]

    def _judged(self, judged: Judged[SavedResponse]) -> None:
        response, received = judged.response, self._received.pop(judged.token, None)
        hide = partial(redacted, secrets=(*response.secrets, *self._secrets))
        explained = UNEXPLAINED
        if received is not None and judged.verdict.may_be_explained:
            explained = self._explaining(received, judged.verdict.sent, judged.token.rpartition("#")[0])
        self._decided.append(
            ReportedVerdict(
                source=judged.token,
                verdict=judged.verdict,
                calls=response.calls,
                request=judged.request,
                hide=hide,
                explained=explained,
            )
        )


def received(saved: Exchange) -> ReceivedBytes:
    """The response as the client got it."""
    got = saved.as_client_got()
    return ReceivedBytes(got.facts, got.body, got.broken)


def as_sent(saved: Exchange) -> Record | None:
    """The record of the response as the client received it; `None` unless it was changed in flight."""
    if saved.sent is None:
        return None
    got = saved.as_client_got()
    return read_body(got.chunks, got.facts, broken=got.broken)
