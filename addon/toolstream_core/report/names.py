"""What each name means: defects, families, shapes, faults, presets, clients, verdicts and client bugs."""

from __future__ import annotations

from typing import Final

from toolstream_core.clients import deviations
from toolstream_core.defects.row import Safety
from toolstream_core.defects.table import ROWS
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.report import catalogue
from toolstream_core.settings import DESTREAM, FOR, fault_names, shape_names
from toolstream_core.transit import TRANSIT
from toolstream_core.verdict.outcome import RENAMED, Outcome


def explained(name: str) -> str | None:
    """What a name or code means, as Markdown; `None` where it means nothing. Some are a defect and a verdict."""
    return "\n".join(told for explain in _KINDS if (told := explain(name))) or None


def _defect(name: str) -> str:
    return next((catalogue.page(row) for row in ROWS if name in {row.code, row.name}), "")


def _group(name: str) -> str:
    """A word that means several defects: a family, or all whose repair is safe."""
    safe = name == Safety.SAFE
    rows = [row for row in ROWS if (row.repair is Safety.SAFE if safe else row.family == name)]
    lines = "".join(f"* {row.code} `{row.name}` {row.meaning}\n" for row in rows)
    what = "with a safe repair" if safe else "in this family"
    return f"# {name}\n\n{len(rows)} defects {what}.\n\n{lines}" if rows else ""


def _shape(name: str) -> str:
    if name not in shape_names() and name != DESTREAM:
        return ""
    shape = next(one for one in catalogue.shapes() if one["name"] == name)
    return f"# {name}\n\nA shape. {shape['meaning']} In {', '.join(shape['dialects'])}.\n"


def _transit(name: str) -> str:
    for one in map(catalogue.transit, TRANSIT):
        if one["name"] == name:
            keys = "".join(
                f"* `{key['name']}`: {key['values']}; default: {key['usual'] or 'none'}\n" for key in one["keys"]
            )
            return f"# {name}\n\nA timing or connection fault: {one['meaning']}.\n\n{keys}"
    return ""


def _preset(name: str) -> str:
    return next(
        (
            f"# {name}\n\nA preset: {one.meaning}. Consists of {', '.join(one.parts)}.\n\n* {one.source}\n"
            for one in PRESETS
            if one.name == name
        ),
        "",
    )


def _client(name: str) -> str:
    for client in CLIENTS:
        if name in {client.name, f"{FOR}{client.name}"}:
            needs = ", ".join([*client.shapes, *(f"repair {word}" for word in client.repairs)])
            told = f"{client.client} {client.versions}: {client.why}"
            return f"# {FOR}{client.name}\n\n{told}. Needs {needs}.\n\n* {client.source}\n"
    return ""


def _verdict(name: str) -> str:
    if name in RENAMED:
        return f"# Verdict {name}\n\nThis verdict is now called `{RENAMED[name]}`.\n\n{_verdict(RENAMED[name])}"
    meaning = next((one.meaning for one in Outcome if one == name), "")
    return f"# Verdict {name}\n\nWhat a client did with a response: {meaning}.\n" if meaning else ""


def _deviation(name: str) -> str:
    for deviation, row in deviations.ROWS.items():
        if name == deviation.value:
            seen = [f"[{project}]({link})" for project, link in deviations.projects((deviation,)).items()]
            fix = deviations.fix((deviation,)).removeprefix("fix the client: ")
            where = f"* Seen in {', '.join(seen)}.\n" if seen else ""
            return (
                f"# Client bug {name}\n\nThe client {row.words}.\n\n"
                f"* Fix, in the fields of Chat Completions: {fix}.\n{where}"
            )
    return ""


_KINDS: Final = (_defect, _group, _shape, _transit, _preset, _client, _verdict, _deviation)


def explainable() -> set[str]:
    """The names that `explained` knows, apart from old ones."""
    rows = {word for row in ROWS for word in (row.name, row.code, row.family)}
    clients = {f"{FOR}{client.name}" for client in CLIENTS}
    bugs = {one.value for one in deviations.ROWS}
    return {*rows, *bugs, Safety.SAFE, *shape_names(), *fault_names(), *clients, *Outcome, DESTREAM}
