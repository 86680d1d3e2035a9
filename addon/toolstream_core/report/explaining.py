"""Why a client got an answer wrong, and which options help it."""

from __future__ import annotations

import hashlib
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from toolstream_core.clients.advice import advise
from toolstream_core.clients.explanation import Explainer
from toolstream_core.protocols.requests.conversation import without_history
from toolstream_core.report.verdict import Explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.clients.advice import Advice
    from toolstream_core.clients.explanation import Explanation
    from toolstream_core.clients.received import Answer
    from toolstream_core.protocols.requests.conversation import EchoedCall

_PROJECTS: Final = 3
"""Projects that are named as examples, at most."""


_REMEMBERED: Final = 8
"""Responses whose advice is remembered: a client in a loop gets equal ones."""
_UNKNOWN: Final = Explained(fix="no client bug that toolstream knows has this effect")


class Explaining:
    """Explains what clients sent; what it learns of a client holds for that client's next answers."""

    def __init__(self) -> None:
        """Nothing is known of any client."""
        self._explainer = Explainer()
        self._advised: deque[tuple[tuple[object, ...], list[Advice] | None]] = deque(maxlen=_REMEMBERED)

    def __call__(self, answer: Answer, echoed: Sequence[EchoedCall], client: str = "") -> Explained:
        """`answer` is what the client got, `echoed` the calls that it sent back; `client` tells clients apart."""
        found = self._explainer.explain_answer(answer, echoed, client)
        if found is None:
            return _UNKNOWN
        projects = ", ".join(list(found.projects)[:_PROJECTS])
        likely = "probably " if found.names else ""  # another bug can have the same effect
        notes = "; ".join(one for one in (found.where, projects and f"also seen in {projects}") if one)
        text = f"the client {likely}{found.text}{f' ({notes})' if notes else ''}"
        advised = self._advise(found, answer)
        no_help = "no repair or shape of toolstream helps: " if advised == [] else ""
        fix = f"{no_help}{found.fix}" if found.names or no_help else ""
        return Explained(found.names, found.event, text, tuple(one.options for one in advised or ()), fix, found)

    def _advise(self, found: Explanation, answer: Answer) -> list[Advice] | None:
        """As `advise`; what depends on the response, the request's options and the ids of its history is tried once."""
        models, exchange = [found.model, *found.others, *found.common], answer.exchange
        ids = found.protocol and found.protocol.requests.earlier_ids(exchange.request)
        alike = replace(exchange, source="", request=without_history(exchange.request))
        key = (models, found.choice, hashlib.sha256(answer.body).digest(), answer.broken, alike, ids)
        for known, advised in self._advised:
            if known == key:
                return advised
        advised = advise(models[0], answer, models[1:], found.choice)
        self._advised.append((key, advised))
        return advised
