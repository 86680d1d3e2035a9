"""Writes docs/defects/README.md, and the head of each defect's page. What follows the first heading is written by hand.

`--check` writes nothing and fails where a file is not what it would be.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "addon"))

from toolstream_core.defects.table import ROWS  # noqa: E402
from toolstream_core.report import catalogue  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.defects.row import Row

FOLDER = ROOT / "docs" / "defects"
HEADING = "## "


HEAD = """# Defects, shapes, presets, clients

`scripts/make_defects.py` writes this page from the tables in the code. `toolstream explain NAME` prints the page of a
name.

The live log and `toolstream inspect` report defects, `toolstream_repair` repairs them, and `toolstream_fault` injects
them. Severities:

- `error`: no correct client can read the calls.
- `warning`: the stream violates the protocol.
- `note`: the stream is valid or tolerated, but known to break clients.

`safe` enables all safe repairs. Unsafe repairs must be named.
"""
DEFECTS = ("code", "name", "family", "severity", "repair", "fault", "dialects", "meaning")


def table() -> Iterator[str]:
    """The lines of the overview."""
    document = catalogue.document()
    yield from HEAD.splitlines()
    yield from _rows(DEFECTS, [_defect(one) for one in document["defects"]])
    yield "## Shapes"
    shapes = [(_code(one["name"]), ", ".join(one["dialects"]), one["meaning"]) for one in document["shapes"]]
    yield from _rows(("shape", "dialects", "description"), shapes)
    yield "## Timing and connection faults"
    transit = [
        (
            _code(one["name"]),
            one["meaning"],
            "; ".join(f"{_code(key['name'])}: {key['values']}" for key in one["keys"]),
        )
        for one in document["transit"]
    ]
    yield from _rows(("fault", "description", "keys"), transit)
    yield "## Presets"
    presets = [
        (_code(one["name"]), ", ".join(map(_code, one["parts"])), f"[{one['meaning']}]({one['source']})")
        for one in document["presets"]
    ]
    yield from _rows(("preset", "faults", "description"), presets)
    yield "## Clients"
    yield from _rows(
        ("`toolstream_shape=`", "client", "needs", "reason"), [_client(one) for one in document["clients"]]
    )


def _defect(one: dict[str, Any]) -> tuple[str, ...]:
    name = f"[{_code(one['name'])}]({one['name']}.md)"
    fault, dialects = "yes" if one["plant"] else "", ", ".join(one["dialects"])
    repair = one["repair"] or ""
    return one["code"], name, one["family"], one["severity"], repair, fault, dialects, one["meaning"]


def _client(one: dict[str, Any]) -> tuple[str, ...]:
    needs = [*map(_code, one["shapes"]), *(f"repair {_code(word)}" for word in one["repairs"])]
    client = f"[{one['client']}]({one['source']}) {one['versions']}"
    return _code(f"for:{one['name']}"), client, ", ".join(needs), one["why"]


def _code(word: str) -> str:
    return f"`{word}`"


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A Markdown table between blank lines."""
    yield ""
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


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


def pages() -> dict[Path, str]:
    """Every file and what is in it."""
    files = {FOLDER / f"{row.name}.md": head(row) + prose(row) for row in ROWS}
    files[FOLDER / "README.md"] = "\n".join(table()).rstrip() + "\n"
    return files


def main() -> int:
    """Write or check."""
    wanted = pages()
    there = set(FOLDER.glob("*.md"))
    wrong = [path for path, text in wanted.items() if path not in there or path.read_text(encoding="utf-8") != text]
    wrong += sorted(there - wanted.keys())
    if "--check" in sys.argv[1:]:
        for path in wrong:
            print(f"{path.relative_to(ROOT)} is not what scripts/make_defects.py writes", file=sys.stderr)
        return 1 if wrong else 0
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path in there - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
