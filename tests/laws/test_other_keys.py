"""Unknown keys reach the client once, in their order, as they were written, on the call that they belong to."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final

from tests.laws.driven import run
from tests.laws.grouped import Case, grouped
from tests.laws.healthy import Healthy, everywhere
from tests.laws.planted import miscounted, owners, places, planted
from tests.tables import SHAPES
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.settings import SAFE, Settings, Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL_PLACES: Final = bool(os.environ.get("TOOLSTREAM_ALL_PLACES"))
"""Whether each stream is tried with keys at each place alone, instead of one place that its name selects."""


def tried(body: bytes, content_type: str, name: str) -> Iterator[str | None]:
    """The places at which keys are planted: all at once, and one alone, because what is alone may be overlooked."""
    found = places(body, content_type)
    chosen = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) % max(len(found), 1)
    yield None
    yield from found if ALL_PLACES else found[chosen : chosen + 1]


def shapes(dialect: str) -> dict[str, Settings]:
    """The shapes of a protocol, and the client sets; each client set has the safe repairs, too."""
    clients = {f"for:{one.name}": settings(Words(shape=[f"for:{one.name}"])) for one in CLIENTS}
    return {name: Settings(shapes=(name,)) for name in SHAPES.get(dialect, {})} | clients | {"safe": Settings(SAFE)}


@grouped(
    Case(f"{name}: {healthy.dialect}", (healthy, name, wanted))
    for healthy in everywhere()
    for name, wanted in shapes(healthy.dialect).items()
)
def test_shapes_keep_unknown_keys(healthy: Healthy, name: str, wanted: Settings) -> None:
    """Also where fragments are joined, split, or sent in another order."""
    for place in tried(healthy.body, healthy.content_type, f"{healthy} {name}"):
        body, plants = planted(healthy.body, healthy.content_type, place)
        out = run(body, healthy.exchange, wanted).out
        assert miscounted(plants, out) == []
        assert owners(out, healthy.content_type) == owners(body, healthy.content_type)
