"""How Realtime responses are broken: as Responses streams are, but for what their events do not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.responses.inject import INJECTORS as OF_RESPONSES
from toolstream_core.stages.inject import sse

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker

_WITHOUT: Final = frozenset({"custom-as-function", "missing-head", "sequence-numbers"}) | sse.INJECTORS.keys()
"""Realtime has no custom tools, no numbers, no event behind the first that has the response, no blocks of lines."""

INJECTORS: Final[dict[str, InjectorMaker]] = {
    name: maker for name, maker in OF_RESPONSES.items() if name not in _WITHOUT
}
"""By the defect's name."""
