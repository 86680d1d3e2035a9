"""docs/defects/README.md, and the head of each page of a defect. What follows the first heading is written by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docslib.markdown import DOCS, code, codes, table
from toolstream_core.defects.table import ROWS
from toolstream_core.report import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from toolstream_core.defects.row import Row

FOLDER = DOCS / "defects"
HEADING = "## "


HEAD = """# Defects, shapes, presets, clients

`scripts/docs.py` writes this page from the tables in the code. `toolstream explain NAME` prints the page of a
name.

The live log and `toolstream inspect` report defects, `toolstream_repair` repairs them, and `toolstream_fault` injects
them. Severities:

- `error`: no correct client can read the calls.
- `warning`: the stream violates the protocol.
- `note`: the stream is valid or tolerated, but known to break clients.

`safe` enables all safe repairs. Unsafe repairs must be named.
"""
DEFECTS = ("code", "name", "family", "severity", "repair", "fault", "dialects", "meaning")


def overview() -> Iterator[str]:
    """The lines of the overview."""
    document = catalogue.document()
    yield from HEAD.splitlines()
    yield from _rows(DEFECTS, [_defect(one) for one in document["defects"]])
    yield "## Shapes"
    shapes = [(code(one["name"]), ", ".join(one["dialects"]), one["meaning"]) for one in document["shapes"]]
    yield from _rows(("shape", "dialects", "description"), shapes)
    yield "## Timing and connection faults"
    transit = [
        (
            code(one["name"]),
            one["meaning"],
            "; ".join(f"{code(key['name'])}: {key['values']}" for key in one["keys"]),
        )
        for one in document["transit"]
    ]
    yield from _rows(("fault", "description", "keys"), transit)
    yield "## Presets"
    presets = [
        (code(one["name"]), codes(one["parts"]), f"[{one['meaning']}]({one['source']})") for one in document["presets"]
    ]
    yield from _rows(("preset", "faults", "description"), presets)
    yield "## Clients"
    yield from _rows(
        ("`toolstream_shape=`", "client", "needs", "reason"), [_client(one) for one in document["clients"]]
    )


def _defect(one: dict[str, Any]) -> tuple[str, ...]:
    name = f"[{code(one['name'])}]({one['name']}.md)"
    fault, dialects = "yes" if one["plant"] else "", ", ".join(one["dialects"])
    repair = one["repair"] or ""
    return one["code"], name, one["family"], one["severity"], repair, fault, dialects, one["meaning"]


def _client(one: dict[str, Any]) -> tuple[str, ...]:
    needs = [*map(code, one["shapes"]), *(f"repair {code(word)}" for word in one["repairs"])]
    client = f"[{one['client']}]({one['source']}) {one['versions']}"
    return code(f"for:{one['name']}"), client, ", ".join(needs), one["why"]


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table between blank lines."""
    yield from ("", *table(head, rows), "")


def head(row: Row) -> str:
    """What the table says of a defect."""
    caused = ", ".join(catalogue.injected(row)) or "not by editing events"
    changed = f"{row.repair}" if row.repair else "none"
    also = f"Also shows as: {', '.join(f'[{name}]({name}.md)' for name in row.also)}.\n\n" if row.also else ""
    return (
        f"# {row.code} {row.name}\n\n"
        f"{row.meaning[0].upper()}{row.meaning[1:]}.\n\n"
        f"| severity | family | dialects | repair | can be injected in |\n"
        f"|---|---|---|---|---|\n"
        f"| {row.severity} | {row.family} | {', '.join(row.dialects)} | {changed} | {caused} |\n\n"
        f"A correct client {row.must}.\n\n"
        f"{also}"
    )


def prose(row: Row) -> str:
    """What is written by hand: the page from its first heading on; nothing where there is no page yet."""
    path = FOLDER / f"{row.name}.md"
    _, heading, text = path.read_text(encoding="utf-8").partition(HEADING) if path.exists() else ("", "", "")
    return heading + text


def files() -> dict[Path, bytes | None]:
    """Every file; pages of defects that are gone are nothing."""
    made: dict[Path, bytes | None] = dict.fromkeys(FOLDER.glob("*.md"))
    made |= {FOLDER / f"{row.name}.md": (head(row) + prose(row)).encode() for row in ROWS}
    return made | {FOLDER / "README.md": ("\n".join(overview()).rstrip() + "\n").encode()}
