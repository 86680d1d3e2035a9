"""`toolstream explain` and `toolstream list`: the meaning of names."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from toolstream_core.cli.output import printed_to
from toolstream_core.errors import ToolstreamError, unknown
from toolstream_core.report import catalogue
from toolstream_core.report.catalogue import explainable, explained
from toolstream_core.report.columns import wrapped


def list_all(args: argparse.Namespace) -> int:
    """Print the list."""
    document = catalogue.document()
    with printed_to(args.output, force=args.force):
        if args.format == "json":
            print(json.dumps(document, indent=2, ensure_ascii=False))
        else:
            print(*_lines(document), sep="\n")
    return 0


def _lines(document: dict[str, Any]) -> Iterator[str]:
    yield "defects (reported by inspect; repair with toolstream_repair, inject with toolstream_fault):"
    for one in document["defects"]:
        does = [f"repair {one['repair']}" if one["repair"] else "", "fault" if one["plant"] else ""]
        begin = f"  {one['code']} {one['name']:<26} {one['severity']:<8} "
        yield from _described(begin, one["meaning"], [word for word in does if word])
    yield "shapes (toolstream_shape):"
    for one in document["shapes"]:
        yield from _named(one, one["meaning"], one["dialects"])
    yield "timing and connection faults (toolstream_fault):"
    for one in document["transit"]:
        yield from _named(one, one["meaning"], [key["name"] for key in one["keys"]])
    yield "presets (toolstream_fault):"
    for one in document["presets"]:
        yield from _named(one, one["meaning"], one["parts"])
    yield "clients (toolstream_shape=for:NAME):"
    for one in document["clients"]:
        needs = [*one["shapes"], *(f"repair {word}" for word in one["repairs"])]
        yield from _named(one, f"{one['client']} {one['versions']}", needs)
    yield "verdicts (how a client interpreted a response):"
    for one in document["verdicts"]:
        yield from _named(one, one["meaning"])


def _named(one: dict[str, Any], meaning: str, more: Sequence[str] = ()) -> list[str]:
    return _described(f"  {one['name']:<34} ", meaning, more)


def _described(begin: str, meaning: str, more: Sequence[str]) -> list[str]:
    return wrapped(begin, "", f"{meaning}  [{', '.join(more)}]" if more else meaning)


def explain(args: argparse.Namespace) -> int:
    """Print the explanation of the name. Raises `ToolstreamError`."""
    if args.name is None:
        return list_all(argparse.Namespace(format="text", output=None, force=False))
    text = explained(args.name)
    if text is None:
        raise ToolstreamError(unknown("name", args.name, explainable()))
    print(text, end="")
    return 0
