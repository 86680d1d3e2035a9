"""How Chat Completions streams are broken: what each defect does to the entries and events of a healthy one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.plants import chat_arguments, chat_endings, chat_identity, chat_structure

if TYPE_CHECKING:
    from toolstream_core.defects.plants.plant import Planter

PLANTS: Final[dict[str, Planter]] = {
    **chat_identity.PLANTS,
    **chat_arguments.PLANTS,
    **chat_structure.PLANTS,
    **chat_endings.PLANTS,
}
