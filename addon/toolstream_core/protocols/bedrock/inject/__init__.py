"""How Converse streams are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.bedrock.inject import arguments, block, message
from toolstream_core.stages.inject.markup import MARKUP

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker


def _leaked(row: str) -> InjectorMaker:
    return lambda context, pick: message.Leaked(context, pick, row)


INJECTORS: Final[dict[str, InjectorMaker]] = {
    **block.INJECTORS,
    **arguments.INJECTORS,
    **message.INJECTORS,
    **{row: _leaked(row) for row in MARKUP},
}
"""By the defect's name."""
