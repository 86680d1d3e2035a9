"""Why a client got an answer wrong, and which options help it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.clients.advice import advise
from toolstream_core.clients.explanation import Explainer
from toolstream_core.report.verdict import Explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.clients.received import Answer
    from toolstream_core.protocols.requests.conversation import EchoedCall

_PROJECTS: Final = 3
"""Projects that are named as examples, at most."""


_UNKNOWN: Final = Explained(fix="no client bug that toolstream knows has this effect")


class Explaining:
    """Explains what clients sent; what it learns of a client holds for that client's next answers."""

    def __init__(self) -> None:
        """Nothing is known of any client."""
        self._explainer = Explainer()

    def __call__(self, answer: Answer, echoed: Sequence[EchoedCall], client: str = "") -> Explained:
        """`answer` is what the client got, `echoed` the calls that it sent back; `client` tells clients apart."""
        found = self._explainer.explain_answer(answer, echoed, client)
        if found is None:
            return _UNKNOWN
        projects = ", ".join(list(found.projects)[:_PROJECTS])
        likely = "probably " if found.names else ""  # another bug can have the same effect
        notes = "; ".join(one for one in (found.where, projects and f"also seen in {projects}") if one)
        text = f"the client {likely}{found.text}{f' ({notes})' if notes else ''}"
        advised = advise(found.model, answer, [*found.others, *found.common])
        no_help = "no repair or shape of toolstream helps: " if advised == [] else ""
        fix = f"{no_help}{found.fix}" if found.names or no_help else ""
        return Explained(found.names, found.event, text, tuple(one.options for one in advised or ()), fix, found)
