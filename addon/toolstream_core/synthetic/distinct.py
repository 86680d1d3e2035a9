"""Arguments by a schema that no other call of the answer has, so that two calls are never one call said twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.synthetic.harmless import is_harmless
from toolstream_core.synthetic.schema_strings import ForTool
from toolstream_core.synthetic.schema_values import SchemaValues

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolstream_core.model import Json
    from toolstream_core.protocols.requests.tools import OfferedTool

_USUAL_TRIES: Final = 8
"""Draws of usual values, before whatever else the schema allows is drawn."""
_TRIES: Final = 64
"""Even of two values that are equally likely, one is missed by all draws but once in 2⁶³."""


def distinct_arguments(
    tool: OfferedTool, seed: str, taken: Collection[Json], *, wide_characters: bool = False
) -> dict[str, Json] | None:
    """Arguments for `tool` that are none of `taken`; `None` where the schema seems to allow no other.

    The same for the same seed. `wide_characters` as in `SchemaValues`.
    """
    about = ForTool(tool.name, reads=is_harmless(tool))
    for attempt in range(_TRIES):
        drawn = f"{seed}|{attempt}" if attempt else seed
        varied = attempt >= _USUAL_TRIES
        values = SchemaValues(tool.schema, drawn, wide_characters=wide_characters, varied=varied, tool=about)
        made = values.arguments()
        if made not in taken:
            return made
    return None
