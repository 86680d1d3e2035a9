"""Which provider the value of `toolstream_provider` asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.proxy.call_provider import CallProvider
from toolstream_core.proxy.provider import Provider, ProviderError
from toolstream_core.synthetic.call_specs import PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

type AnyProvider = Provider | CallProvider


def provider_of(values: Sequence[str], *, strict: bool, seed: int) -> AnyProvider:
    """What answers from saved flows, or with calls that it makes. Raises `ProviderError`."""
    made = [value for value in values if value.startswith(PREFIX)]
    if not made:
        return Provider.load(values, strict=strict)
    if len(made) < len(values):
        saved = next(value for value in values if value not in made)
        raise ProviderError(f"{made[0]!r} and {saved!r}: either calls are made, or saved flows answer")
    return CallProvider.load(made, seed)
