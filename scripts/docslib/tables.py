"""Pages with tables from the code: docs/agents.md, docs/defects/ and docs/client-models.md."""

from __future__ import annotations

import shlex
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tests.invariants.healthy import streams
from toolstream_core.agents import AGENTS, Upstream
from toolstream_core.clients.deviations import FOLLOWS_PROTOCOL, QUIRKS, projects
from toolstream_core.clients.fit import possible_deviations
from toolstream_core.clients.model import AXES, STANDARD
from toolstream_core.clients.received import Received, ReceivedBytes, repair
from toolstream_core.defects.table import DEFECTS
from toolstream_core.report import catalogue
from toolstream_core.report.columns import table
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.invariants.healthy import Healthy
    from toolstream_core.agents import Agent
    from toolstream_core.clients.model import Deviation
    from toolstream_core.defects.defect import Defect


ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"


def code(word: str) -> str:
    """Format a word as code."""
    return f"`{word}`"


def codes(words: Iterable[str]) -> str:
    """Format words as code; `none` without words."""
    return ", ".join(map(code, words)) or "none"


_AGENTS_HEAD: Final = """\
# Agents

`toolstream run -- AGENT` runs an agent behind the proxy, and `toolstream check -- AGENT` tests it. Both set variables
for every command ([`toolstream run`](cli.md#toolstream-run)). For the agents on this page, they also add the arguments
and variables listed below. You need not set them.

`scripts/docs.py` writes this page from `addon/toolstream_core/agents/table.py`.

In the sections, "with saved flows" means that flows or `calls:` respond, and "with real providers" that the agent's own
provider does. `{OPENAI_BASE_URL}` and similar placeholders are replaced by the variable's value in the command's
environment. `{SOCKETS}` is `true` with `--websocket read`, otherwise `false`.

toolstream recognises an agent by its command, with or without a path or suffix. It also recognises the agent's package
after `npx`, `npm exec`, `pnpm dlx`, `bunx`, `uvx` and similar commands.

"""
_AGENTS_COLUMNS: Final = ("Agent", "Command", "Package", "Protocols", "Connects to the proxy by", "Tested version")
_TRIED: Final = """
*Tested version*: this version of the real agent was run headless through the proxy, with saved flows and with requests
to its own provider. The rows with "none" are based on the listed sources only.
"""
_WHEN: Final = {
    Upstream.SAVED: "with saved flows",
    Upstream.PROXIED: "with real providers",
    Upstream.FORWARDED: "with `--base-url`",
}


def agents() -> dict[Path, bytes | None]:
    """docs/agents.md."""
    rows = "".join(f"{line}\n" for line in table(_AGENTS_COLUMNS, map(_agent_row, AGENTS)))
    page = _AGENTS_HEAD + rows + _TRIED + "".join(_agent_section(agent) for agent in AGENTS)
    return {DOCS / "agents.md": page.encode()}


def _agent_row(agent: Agent) -> tuple[str, ...]:
    return (
        f"[{agent.name}](#{agent.name})",
        codes(agent.commands),
        codes(agent.packages),
        agent.protocols,
        agent.reaches,
        agent.tried or "none",
    )


def _agent_section(agent: Agent) -> str:
    sources = "".join(f"- <{source}>\n" for source in agent.sources)
    return f"\n## {agent.name}\n\n{''.join(f'- {line}\n' for line in _agent_lines(agent))}\nSources:\n\n{sources}"


def _agent_lines(agent: Agent) -> Iterator[str]:
    groups = (
        ("always", agent.variables),
        ("with saved flows or `--base-url`", agent.addresses),
        ("with saved flows", agent.offline),
        ("with saved flows, unless already set", agent.defaults),
    )
    yield from (f"{when}: {_assignments(variables)}" for when, variables in groups if variables)
    if agent.removed:
        yield f"removed, unless you have set it: {codes(agent.removed)}"
    for upstream, words in agent.arguments.items():
        unless = "" if upstream is Upstream.SAVED or agent.configured is None else ", unless you select a provider"
        yield f"arguments {_WHEN[upstream]}{unless}: `{shlex.join(words)}`"
    if agent.headless:
        headless = codes(agent.headless)
        yield f"does not take over the terminal with {headless}; otherwise the log is printed after the agent exits"
    if not (agent.arguments or agent.removed or any(variables for _, variables in groups)):
        yield "needs no further settings"


def _assignments(variables: Mapping[str, str]) -> str:
    return ", ".join(f"`{name}={value}`" for name, value in variables.items())


_DEFECTS = DOCS / "defects"
_HEADING = "## "


_DEFECTS_HEAD = """# Defects

`scripts/docs.py` writes this page from the tables in the code. `toolstream explain NAME` prints the page of a
name. Other pages list [shapes and clients](../shapes.md), and [presets, timing and connection faults](../faults.md).

The live log and `toolstream inspect` report defects, `toolstream_repair` repairs them, and `toolstream_fault` injects
them. Severities:

- `error`: no correct client can read the calls.
- `warning`: the stream violates the protocol.
- `note`: the stream is valid or tolerated, but known to break clients.

`safe` enables all safe repairs. Unsafe repairs must be named.
"""
_DEFECTS_COLUMNS = ("code", "name", "family", "severity", "repair", "fault", "protocols", "meaning")


def _overview() -> Iterator[str]:
    """The lines of docs/defects/README.md."""
    yield from (*_DEFECTS_HEAD.splitlines(), "")
    yield from table(_DEFECTS_COLUMNS, [_defect(one) for one in catalogue.document()["defects"]])


def _defect(one: dict[str, Any]) -> tuple[str, ...]:
    name = f"[{code(one['name'])}]({one['name']}.md)"
    fault, protocols = "yes" if one["plant"] else "", ", ".join(one["dialects"])
    repair = one["repair"] or ""
    return one["code"], name, one["family"], one["severity"], repair, fault, protocols, one["meaning"]


def _page_head(defect: Defect) -> str:
    """The generated head of a defect's page."""
    protocols = ", ".join(catalogue.injected(defect)) or "not by editing events"
    repair = f"{defect.repair}" if defect.repair else "none"
    also = f"Also shows as: {', '.join(f'[{name}]({name}.md)' for name in defect.also)}.\n\n" if defect.also else ""
    return (
        f"# {defect.code} {defect.name}\n\n"
        f"{defect.meaning[0].upper()}{defect.meaning[1:]}.\n\n"
        f"| severity | family | protocols | repair | can be injected in |\n"
        f"|---|---|---|---|---|\n"
        f"| {defect.severity} | {defect.family} | {', '.join(defect.protocols)} | {repair} | {protocols} |\n\n"
        f"A correct client {defect.must}.\n\n"
        f"{also}"
    )


def _prose(defect: Defect) -> str:
    """The part of a page that is written by hand: from its first heading on; empty without a page."""
    path = _DEFECTS / f"{defect.name}.md"
    _, heading, text = path.read_text(encoding="utf-8").partition(_HEADING) if path.exists() else ("", "", "")
    return heading + text


def defects() -> dict[Path, bytes | None]:
    """The files of docs/defects; `None` for pages of removed defects."""
    pages: dict[Path, bytes | None] = dict.fromkeys(_DEFECTS.glob("*.md"))
    pages |= {_DEFECTS / f"{defect.name}.md": (_page_head(defect) + _prose(defect)).encode() for defect in DEFECTS}
    return pages | {_DEFECTS / "README.md": ("\n".join(_overview()).rstrip() + "\n").encode()}


_STREAMS: Final = ("fragments of two", "two")
"""The names of the valid streams into which defects are injected: one for each protocol."""
_MODELS_HEAD: Final = """# Client models

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
_MODELS_COLUMNS: Final = (
    "Deviation",
    "Behavior",
    "Seen in",
    "Valid streams that break it",
    "Defects that break it",
    "Not broken by",
)
_TITLES: Final = {
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


class _Effects(NamedTuple):
    """The effects of a deviation, compared with the standard client."""

    valid: set[str]
    """Valid streams that it misreads."""
    defects: set[str]
    """Defects that it misreads, and the standard client does not."""
    unharmed: set[str]
    """Defects that it reads correctly, and the standard client does not."""


type _Found = dict[Deviation | None, _Effects]
"""By deviation; `None` is the standard client."""


def _effects() -> _Found:
    """The effects of every deviation in all protocols."""
    found: _Found = defaultdict(lambda: _Effects(set(), set(), set()))
    useless: dict[str, set[Deviation | None]] = {}
    for healthy in sorted(streams(), key=lambda one: one.name not in _STREAMS):
        usual = Received(ReceivedBytes(healthy.exchange, healthy.body))
        failing = set(_read(usual)[0])
        if healthy.name in _STREAMS:
            useless[healthy.protocol] = failing
            _add(found, failing, f"every stream of `{healthy.protocol}`")
            _with_defects(found, healthy, usual, failing)
        else:
            _add(found, failing - useless[healthy.protocol], f"`{healthy.name}`")
    return found


def _add(found: _Found, failing: Iterable[Deviation | None], name: str) -> None:
    for one in failing:
        found[one].valid.add(name)


def _with_defects(found: _Found, healthy: Healthy, usual: Received, useless: set[Deviation | None]) -> None:
    """Add the effects of shapes and defects for the deviations that read the unchanged stream correctly."""
    assert usual.protocol is not None
    for name in usual.protocol.shapes:
        _add(found, set(_read(_changed(healthy, Words(shape=[name])))[0]) - useless, f"`{name}`")
    for name in usual.protocol.injectors:
        failing, right = _read(_changed(healthy, Words(fault=[name])))
        for one in [None] if None in failing else set(failing) - useless:
            found[one].defects.add(f"`{name}`")
        for one in set(right) - useless if None in failing else ():
            found[one].unharmed.add(f"`{name}`")


def _changed(healthy: Healthy, words: Words) -> Received:
    """The stream that a client receives with these settings."""
    changed = repair(ReceivedBytes(healthy.exchange, healthy.body), settings(words)).response
    assert changed is not None
    return Received(changed)


def _read(received: Received) -> tuple[list[Deviation | None], list[Deviation | None]]:
    """The deviations that misread the calls, and the other deviations that apply to this stream."""
    if received.protocol is None:
        return [], []
    intended = received.intended
    can_show = possible_deviations(received.protocol.call_form, received.entries)
    by_outcome: tuple[list[Deviation | None], list[Deviation | None]] = ([], [])
    for one in (None, *can_show):
        model = STANDARD if one is None else STANDARD.with_deviations([one])
        by_outcome[received.is_understood(model, intended)].append(one)
    return by_outcome


def client_models() -> dict[Path, bytes | None]:
    """docs/client-models.md."""
    page = "\n".join(_models_lines(_effects())).rstrip() + "\n"
    return {DOCS / "client-models.md": page.encode()}


def _models_lines(found: _Found) -> Iterator[str]:
    yield from (*_MODELS_HEAD.splitlines(), "")
    yield from table(_MODELS_COLUMNS, [("none", FOLLOWS_PROTOCOL, "", *map(_listed, found[None]))])
    yield ""
    for axis, values in AXES.items():
        yield from (f"## {_TITLES[axis]}", "")
        yield from table(_MODELS_COLUMNS, [_model_row(one, found[one]) for one in values[1:]])
        yield ""


def _model_row(deviation: Deviation, found: _Effects) -> tuple[str, ...]:
    defect = QUIRKS[deviation]
    seen = ", ".join(f"[{name}]({link})" for name, link in projects((deviation,)).items())
    return f"`{deviation.value}`", defect.words, seen, *map(_listed, found)


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names, key=lambda name: (name.startswith("`"), name)))
