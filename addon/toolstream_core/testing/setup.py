"""What a proxy session is to do, and how the addon's options say it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolstream_core.proxy.option_table import REPEATS
from toolstream_core.sources.demo import is_demo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What a proxy answers with, and what it does to the answers."""

    flows: tuple[Path, ...] = ()
    """Flow files and folders that answer in the providers' place."""
    calls: tuple[str, ...] | None = None
    """Without flows: the calls that are made of the tools on offer, each `TOOL {JSON}`; none are made where `None`,
    and a harmless tool is called where there are none."""
    repair: tuple[str, ...] = ()
    shape: tuple[str, ...] = ()
    fault: tuple[str, ...] = ()
    speed: float = 0.0
    """How many times as fast as they were recorded saved flows answer; 0 is at once."""
    seed: int = 0
    strict: bool = False
    """Whether a request that no saved one equals is refused, instead of answered by the flow that fits best."""
    provider_repeats: int = REPEATS
    """Equal requests that one saved response answers; 0 is no limit."""
    network: str = "none"
    """What else may be connected to: `none`, `loopback` (servers of this machine), `all`."""
    log: str = "off"
    """`off`, `calls`, `chunks`: what the proxy prints."""
    options: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """Further options, of toolstream or mitmproxy."""

    def specs(self) -> list[str]:
        """The options as for `--set`; one without `=` is set to nothing."""
        return [
            f"toolstream_log={self.log}",
            f"toolstream_speed={self.speed:g}",
            f"toolstream_seed={self.seed}",
            *([f"toolstream_provider_strict={str(self.strict).lower()}"] if self.strict else []),
            *([f"toolstream_provider_repeats={self.provider_repeats}"] if self.provider_repeats != REPEATS else []),
            *_each("toolstream_provider", self._provider()),
            *self.changes(),
            *(spec for name, value in self.options.items() for spec in _each(name, _listed(value))),
        ]

    def _provider(self) -> list[str]:
        return [
            *(str(path if is_demo(path) else path.absolute()) for path in self.flows),
            *([] if self.calls is None else self._made()),
        ]

    def _made(self) -> list[str]:
        return [f"calls:{call}" for call in self.calls or ("",)]

    def changes(self) -> list[str]:
        """The options that say what is done to answers."""
        return [
            *_each("toolstream_repair", self.repair),
            *_each("toolstream_shape", self.shape),
            *_each("toolstream_fault", self.fault),
        ]

    def arguments(self) -> list[str]:
        """The same for `toolstream serve` and `toolstream run`, the flows first, as they were given."""
        words = [str(path) for path in self.flows] + ([] if self.calls is None else self._made())
        for name, values in (("repair", self.repair), ("shape", self.shape), ("fault", self.fault)):
            words += [word for value in values for word in (f"--{name}", value)]
        if self.seed:
            words += ["--seed", str(self.seed)]
        if self.provider_repeats != REPEATS:
            words += ["--provider-repeats", str(self.provider_repeats)]
        return [*words, *(["--strict"] if self.strict else []), "--speed", f"{self.speed:g}"]


def _each(name: str, values: Iterable[str]) -> Iterator[str]:
    specs = [f"{name}={value}" for value in values]
    yield from specs or [name]


def _listed(value: str | Sequence[str]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value
