"""Which commands an input is given to. Knows what `toolstream list` and `toolstream inspect` print as JSON.

Rows that a stream's protocol does not have, and repairs of defects that it does not show, change nothing; they are
switched on together, in one command, so that a change would still be seen.
"""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

from outputslib.running import run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from outputslib.inputs import Input

type Argv = tuple[str, ...]

FIRST = 4
"""The first commands of each input are those of a quick run."""


class Stream(NamedTuple):
    """What is known of an input."""

    name: str
    dialects: frozenset[str]
    found: frozenset[str]
    """Names of the defects that `inspect` finds."""


class Tables:
    """Everything that has a name."""

    def __init__(self) -> None:
        """Ask `toolstream list`."""
        self._listed: dict[str, list[dict[str, Any]]] = json.loads(run(["list", "--format", "json"]).out)
        known = self._listed["defects"] + self._listed["shapes"]
        self._dialects = {one["name"]: frozenset(one["dialects"]) for one in known}

    def about_all(self) -> Iterator[Argv]:
        """Commands that need no input."""
        from toolstream_core.cli.commands import COMMANDS

        yield from (("list",), ("list", "--format", "json"), ("explain",), ("--help",))
        yield from ((name, "--help") for name in COMMANDS)
        for name in sorted({*self._names("defects"), *self._names("shapes"), *self._names("presets")}):
            yield ("explain", name)

    def commands(self, given: Input) -> Iterator[Argv]:
        """All commands that an input is given to, those of a quick run first."""
        stream = given.name
        yield ("inspect", "--format", "json", stream)
        yield ("inspect", "--chunks", stream)
        yield ("inspect", "--no-chunks", stream)
        yield ("repair", "--diff", "-o", "-", stream)
        known = _known(stream)
        yield from self._repairs(known)
        yield from self._shapes(known)
        yield from self._faults(known, given.faults)

    def _repairs(self, stream: Stream) -> Iterator[Argv]:
        names = [one["name"] for one in self._listed["defects"] if one["repair"]]
        for group in _apart(names, stream.found):
            yield ("repair", "--repair", ",".join(group), "-o", "-", stream.name)

    def _shapes(self, stream: Stream) -> Iterator[Argv]:
        own = [name for name in self._names("shapes") if self._in(stream, name)]
        for group in _apart(self._names("shapes"), own):
            yield ("repair", *_each("--shape", group), "-o", "-", stream.name)
        for name in self._names("clients"):
            yield ("repair", "--repair", "safe", "--shape", f"for:{name}", "-o", "-", stream.name)

    def _faults(self, stream: Stream, one_of: int) -> Iterator[Argv]:
        plants = [one["name"] for one in self._listed["defects"] if one["plant"]]
        presets = {one["name"]: one["parts"] for one in self._listed["presets"]}
        own = [name for name in plants if self._in(stream, name)]
        own += [name for name, parts in presets.items() if any(self._in(stream, part) for part in parts)]
        foreign = [name for name in (*plants, *presets) if name not in own]
        own = [name for name in own if zlib.crc32(f"{stream.name} {name}".encode()) % one_of == 0]
        for group in (*_apart(own, own), foreign):
            yield ("fault", *group, "-o", "-", stream.name)
        # What only takes time leaves a file as it is.
        timed = [one["name"] for one in self._listed["transit"] if any(key["name"] == "ms" for key in one["keys"])]
        acting = [name for name in self._names("transit") if name not in timed]
        for group in _apart([*acting, *timed], acting if stream.dialects else ()):
            yield ("fault", *group, "-o", "-", stream.name)

    def _names(self, table: str) -> list[str]:
        return [one["name"] for one in self._listed[table]]

    def _in(self, stream: Stream, name: str) -> bool:
        return not self._dialects.get(name, frozenset()).isdisjoint(stream.dialects)


def _known(name: str) -> Stream:
    shown = run(["inspect", "--format", "json", name])
    streams = json.loads(shown.out)["streams"] if shown.out.startswith(b"{") else []
    found = {finding["name"] for one in streams for finding in one["findings"]}
    return Stream(name, frozenset(one["dialect"] for one in streams), frozenset(found))


def _apart(names: Iterable[str], alone: Iterable[str]) -> Iterator[list[str]]:
    """Each of `alone` by itself, and all other names together."""
    names, alone = list(names), set(alone)
    yield from ([name] for name in names if name in alone)
    if others := [name for name in names if name not in alone]:
        yield others


def _each(option: str, values: Iterable[str]) -> Iterator[str]:
    for value in values:
        yield from (option, value)
