"""Why clients got answers wrong, as verdicts tell it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.clients.explanation import Explainer
from toolstream_core.clients.received import Answer
from toolstream_core.report.verdict import UNEXPLAINED, Explained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Exchange
    from toolstream_core.protocols.requests.conversation import EchoedCall


class Explaining:
    """Explains what the clients of one run sent back."""

    def __init__(self) -> None:
        """No client is known yet."""
        self._explainer = Explainer()

    def explain(self, exchange: Exchange, body: bytes, echoed: Sequence[EchoedCall], client: str) -> Explained:
        """Why `client` sent the calls `echoed`, given an answer's bytes as it got them."""
        found = self._explainer.explain_answer(Answer(exchange, body), echoed, client)
        return UNEXPLAINED if found is None else Explained(found.names, found.event, found.text)
