"""`toolstream list`: everything that has a name. Knows the options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from toolstream_core.cli import catalogue

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    told = "list the defects, shapes, presets and clients"
    parser = subparsers.add_parser("list", help=told, description=told.capitalize() + ".")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="text (default) or json")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Print the list."""
    document = catalogue.document()
    if args.format == "json":
        print(json.dumps(document, indent=2, ensure_ascii=False))
        return 0
    for line in _lines(document):
        print(line)
    return 0


def _lines(document: dict[str, Any]) -> Iterator[str]:
    yield "defects (see with inspect, mend with toolstream_repair, cause with toolstream_fault):"
    for one in document["defects"]:
        does = [f"repair {one['repair']}" if one["repair"] else "", "fault" if one["plant"] else ""]
        can = ", ".join(word for word in does if word)
        yield f"  {one['code']} {one['name']:<26} {one['severity']:<8} {one['meaning']}{f'  [{can}]' if can else ''}"
    yield "shapes (toolstream_shape):"
    for one in document["shapes"]:
        yield f"  {one['name']:<34} {one['meaning']}  [{', '.join(one['dialects'])}]"
    yield "faults of time and of the connection (toolstream_fault):"
    for one in document["transit"]:
        yield f"  {one['name']:<34} {one['meaning']}  [{', '.join(key['name'] for key in one['keys'])}]"
    yield "presets (toolstream_fault):"
    for one in document["presets"]:
        yield f"  {one['name']:<34} {one['meaning']}  [{', '.join(one['parts'])}]"
    yield "clients (toolstream_shape=for:NAME):"
    for one in document["clients"]:
        needs = ", ".join([*one["shapes"], *(f"repair {word}" for word in one["repairs"])])
        yield f"  {one['name']:<34} {one['client']} {one['versions']}  [{needs}]"
