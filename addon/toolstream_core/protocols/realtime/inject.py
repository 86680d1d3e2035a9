"""How Realtime responses are broken: as Responses streams are, except for custom tools, which Realtime has not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.identity import CUSTOM_AS_FUNCTION
from toolstream_core.defects.row import REALTIME
from toolstream_core.protocols.responses.inject import OWN
from toolstream_core.protocols.responses.inject.codec import ResponsesCodec
from toolstream_core.stages.inject.cause_injector import injectors

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker

INJECTORS: Final[dict[str, InjectorMaker]] = injectors(
    REALTIME, ResponsesCodec, {name: cause for name, cause in OWN.items() if name != CUSTOM_AS_FUNCTION.name}
)
"""By the defect's name."""
