"""How Chat Completions streams are broken: what each defect does to the entries and events of a healthy one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.chat.inject import arguments, finish, identity, structure
from toolstream_core.stages.inject import sse

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker

INJECTORS: Final[dict[str, InjectorMaker]] = {
    **identity.INJECTORS,
    **arguments.INJECTORS,
    **structure.INJECTORS,
    **finish.INJECTORS,
    **sse.INJECTORS,
}
