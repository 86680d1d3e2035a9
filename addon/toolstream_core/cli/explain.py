"""`toolstream explain`: what a name means. Knows the options."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from toolstream_core.cli import catalogue
from toolstream_core.cli.list import run as run_list
from toolstream_core.defects.table import ROWS
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.settings import DESTREAM, FOR, shape_names
from toolstream_core.transit import TRANSIT

if TYPE_CHECKING:
    import argparse


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    told = "explain a defect, a shape, a preset or a client"
    parser = subparsers.add_parser("explain", help=told, description=told.capitalize() + ".")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a name or code; without it everything is listed")
    parser.set_defaults(run=run, format="text")


def run(args: argparse.Namespace) -> int:
    """Print what the name means."""
    if args.name is None:
        return run_list(args)
    told = explained(args.name)
    if told is None:
        print(f"toolstream: {args.name!r} has no meaning here; `toolstream list` shows what has", file=sys.stderr)
        return 2
    print(told, end="")
    return 0


def explained(name: str) -> str | None:
    """What a name or code means, as Markdown; `None` where it means nothing."""
    for row in ROWS:
        if name in {row.code, row.name}:
            return catalogue.page(row)
    if name in shape_names() or name == DESTREAM:
        shape = next(one for one in catalogue.shapes() if one["name"] == name)
        return f"# {name}\n\nA shape. {shape['meaning']} In {', '.join(shape['dialects'])}.\n"
    for one in map(catalogue.transit, TRANSIT):
        if one["name"] == name:
            keys = "".join(
                f"* `{key['name']}`: {key['values']}; usually {key['usual'] or 'not'}\n" for key in one["keys"]
            )
            return f"# {name}\n\nA fault of time or of the connection: {one['meaning']}.\n\n{keys}"
    for preset in PRESETS:
        if preset.name == name:
            return f"# {name}\n\nA preset: {preset.meaning}. Made of {', '.join(preset.parts)}.\n\n* {preset.source}\n"
    for client in CLIENTS:
        if name in {client.name, f"{FOR}{client.name}"}:
            needs = ", ".join([*client.shapes, *(f"repair {word}" for word in client.repairs)])
            told = f"{client.client} {client.versions}: {client.why}"
            return f"# {FOR}{client.name}\n\n{told}. Needs {needs}.\n\n* {client.source}\n"
    return None
