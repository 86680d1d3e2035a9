"""Which provider the options ask for. Knows mitmproxy's options."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mitmproxy.exceptions import OptionsError

from toolstream_core.proxy.call_provider import CallProvider
from toolstream_core.proxy.provider import Provider, ProviderError
from toolstream_core.synthetic.call_specs import PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mitmproxy.options import Options

type AnyProvider = Provider | CallProvider


def provider_of(options: Options) -> AnyProvider | None:
    """What answers from saved flows, or with calls that it makes; `None` where nothing does. Raises `OptionsError`."""
    values: Sequence[str] = options.toolstream_provider
    repeats: int = options.toolstream_provider_repeats
    if repeats < 0:
        message = f"toolstream_provider_repeats: {repeats} is negative. Expected a number, or 0 for no limit"
        raise OptionsError(message)
    try:
        return _provider(values, options) if values else None
    except ProviderError as error:
        raise OptionsError(f"toolstream_provider: {error}") from error


def _provider(values: Sequence[str], options: Options) -> AnyProvider:
    made = [value for value in values if value.startswith(PREFIX)]
    if not made:
        strict, repeats = options.toolstream_provider_strict, options.toolstream_provider_repeats
        return Provider.load(values, strict=strict, repeats=repeats)
    if len(made) < len(values):
        saved = next(value for value in values if value not in made)
        raise ProviderError(f"{made[0]!r} and {saved!r} exclude each other: give calls: or saved flows")
    return CallProvider.load(made, options.toolstream_seed)
