"""docs/client-models.md: how clients put the fragments of calls together, and which defects break which.

Each defect is injected into a valid stream of two calls, and each client model reads the result.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from docslib.markdown import DOCS, table
from tests.laws.healthy import streams
from toolstream_core.clients.deviations import BY_THE_LETTER, ROWS, projects
from toolstream_core.clients.fit import concerning
from toolstream_core.clients.model import AXES, STANDARD
from toolstream_core.clients.received import Answer, Received, rewritten
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.laws.healthy import Healthy
    from toolstream_core.clients.model import Deviation

STREAMS: Final = ("fragments of two", "two")
"""The valid streams into which defects are injected, by name: one of each protocol."""
HEAD: Final = """# Client models

A client model describes how a client assembles tool calls from a stream. It chooses one value for each aspect: which
call an entry belongs to, which name, id and arguments it uses, and how it handles arguments that are not valid JSON. An
entry is the part of an event that concerns one call, such as an element of `tool_calls`.

Sometimes a client returns other calls than the stream contains. toolstream then searches for the smallest set of
deviations from the protocol that reproduces the returned calls, and reports it.

`scripts/docs.py` writes this page. It runs each deviation alone over valid streams of each protocol: unchanged,
in each shape, and with each defect that toolstream can inject into a stream of two calls. A stream breaks a client if
the client reads other calls than the intended ones.

- The first row is a client that follows the protocol. Defects that break it also break the other clients, except for
  those in the last column.
- If a client misreads every stream of a protocol, its other failures in that protocol are not listed.
- "Seen in" links to projects that have the deviation in at least one version.
- The names of valid streams are [shapes](shapes.md), or describe the stream: in `interleaved`, fragments of two calls
  alternate.
"""
COLUMNS: Final = (
    "Deviation",
    "Behavior",
    "Seen in",
    "Valid streams that break it",
    "Defects that break it",
    "Not broken by",
)
TITLES: Final = {
    "key": "Which call an entry belongs to",
    "no_index": "An entry without an index",
    "entries": "Entries of an event",
    "adding": "How an entry is added to its call",
    "source": "Where identity and arguments are taken from",
    "name": "Name",
    "id": "Id",
    "arguments": "Arguments",
    "objects": "Arguments sent as an object",
    "invalid": "Arguments that are not valid JSON",
    "no_object": "Arguments that are JSON but not an object",
    "kept": "Calls that are kept",
}


class Effects(NamedTuple):
    """What a deviation does, beside the plain reading."""

    valid: set[str]
    """Valid streams that it reads wrongly."""
    defects: set[str]
    """Defects with which it reads wrongly, and the plain reading does not."""
    unharmed: set[str]
    """Defects with which it reads rightly, and the plain reading does not."""


type Found = dict[Deviation | None, Effects]
"""By deviation; `None` stands for the plain reading."""


def effects() -> Found:
    """Of every deviation, over all protocols."""
    found: Found = defaultdict(lambda: Effects(set(), set(), set()))
    useless: dict[str, set[Deviation | None]] = {}
    for healthy in sorted(streams(), key=lambda one: one.name not in STREAMS):
        usual = Received(Answer(healthy.exchange, healthy.body))
        failing = set(_read(usual)[0])
        if healthy.name in STREAMS:
            useless[healthy.dialect] = failing
            _add(found, failing, f"every stream of `{healthy.dialect}`")
            _with_defects(found, healthy, usual, failing)
        else:
            _add(found, failing - useless[healthy.dialect], f"`{healthy.name}`")
    return found


def _add(found: Found, failing: Iterable[Deviation | None], name: str) -> None:
    for one in failing:
        found[one].valid.add(name)


def _with_defects(found: Found, healthy: Healthy, usual: Received, useless: set[Deviation | None]) -> None:
    """Add what shapes and defects do to those that read the stream as it is."""
    assert usual.protocol is not None
    for name in usual.protocol.shapes:
        _add(found, set(_read(_made(healthy, Words(shape=[name])))[0]) - useless, f"`{name}`")
    for name in usual.protocol.injectors:
        failing, right = _read(_made(healthy, Words(fault=[name])))
        for one in [None] if None in failing else set(failing) - useless:
            found[one].defects.add(f"`{name}`")
        for one in set(right) - useless if None in failing else ():
            found[one].unharmed.add(f"`{name}`")


def _made(healthy: Healthy, words: Words) -> Received:
    """The stream as a client gets it that is sent what became of it."""
    made = rewritten(Answer(healthy.exchange, healthy.body), settings(words))
    assert made is not None
    return Received(made)


def _read(received: Received) -> tuple[list[Deviation | None], list[Deviation | None]]:
    """The deviations under which other calls are read than are meant, and the others that can show."""
    if received.protocol is None:
        return [], []
    meant = received.meant
    can_show = concerning(received.protocol.call_form, received.entries)
    by_outcome: tuple[list[Deviation | None], list[Deviation | None]] = ([], [])
    for one in (None, *can_show):
        model = STANDARD if one is None else STANDARD.having([one])
        by_outcome[received.is_understood(model, meant)].append(one)
    return by_outcome


def files() -> dict[Path, bytes | None]:
    """The page."""
    page = "\n".join(_lines(effects())).rstrip() + "\n"
    return {DOCS / "client-models.md": page.encode()}


def _lines(found: Found) -> Iterator[str]:
    yield from (*HEAD.splitlines(), "")
    yield from table(COLUMNS, [("none", BY_THE_LETTER, "", *map(_listed, found[None]))])
    yield ""
    for axis, values in AXES.items():
        yield from (f"## {TITLES[axis]}", "")
        yield from table(COLUMNS, [_row(one, found[one]) for one in values[1:]])
        yield ""


def _row(deviation: Deviation, found: Effects) -> tuple[str, ...]:
    row = ROWS[deviation]
    seen = ", ".join(f"[{name}]({link})" for name, link in projects((deviation,)).items())
    return f"`{deviation.value}`", row.words, seen, *map(_listed, found)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names, key=lambda name: (name.startswith("`"), name)))
