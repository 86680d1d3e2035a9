"""Arguments by a schema that no other call of the answer has, so that two calls are never one call said twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.synthetic.schema_values import SchemaValues

if TYPE_CHECKING:
    from collections.abc import Collection

    from toolstream_core.model import Json

_USUAL_TRIES: Final = 8
"""Draws of usual values, before whatever else the schema allows is drawn."""
_TRIES: Final = 64
"""Even of two values that are equally likely, one is missed by all draws but once in 2⁶³."""


def distinct_arguments(
    schema: Json, seed: str, taken: Collection[Json], *, wide_characters: bool = False
) -> dict[str, Json] | None:
    """An object that fits `schema` and is none of `taken`; `None` where the schema seems to allow no other.

    The same for the same seed. `wide_characters` as in `SchemaValues`.
    """
    for attempt in range(_TRIES):
        drawn = f"{seed}|{attempt}" if attempt else seed
        varied = attempt >= _USUAL_TRIES
        made = SchemaValues(schema, drawn, wide_characters=wide_characters, varied=varied).arguments()
        if made not in taken:
            return made
    return None
