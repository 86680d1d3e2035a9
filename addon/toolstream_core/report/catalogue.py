"""All names, as `list` and `explain` print them. Knows the tables."""

from __future__ import annotations

from typing import Any, Final

from toolstream_core.clients import deviations
from toolstream_core.clients.explanation import protocol_with
from toolstream_core.defects.defect import Defect, Safety
from toolstream_core.defects.table import DEFECTS
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.packaged import packaged
from toolstream_core.protocols.registry import OVER_HTTP, PROTOCOLS
from toolstream_core.settings import DESTREAM, FOR, fault_names, shape_names
from toolstream_core.transit.definitions import TRANSIT, TransitDefinition
from toolstream_core.verdict.outcome import RENAMED, Grade, Outcome, Reason

VERSION: Final = 2
SHAPES: Final = {
    "whole-calls": "Each call in one event. Calls that never become complete are withheld.",
    "one-call-per-event": "Each entry of an event in a separate event.",
    "calls-in-one-event": "Several calls in one event, with one entry for each.",
    "interleaved": "Events of several calls in turn, one of each.",
    "finish-with-calls": "The finish reason in the event with the last arguments.",
    "finish-apart": "The finish reason in a separate event, without calls and text.",
    "usage-with-delta": "The usage with an empty delta after the finish reason, as OpenRouter sends it.",
    "full-deltas": "A role and content in each delta, as OpenRouter sends them; empty beside calls, as in Ollama.",
    "text-first": "A text before the first call, which no text precedes.",
    "empty-choices": "A chunk without choices at the start, as Azure OpenAI sends it.",
    "sequential": "One call after the other. Fragments of a later call wait until the earlier call is complete.",
    "split-header": "Id and name first, without arguments. The arguments follow in later events.",
    "header-with-first-fragment": "Id and name together with the first arguments.",
    "tiny-fragments": "Arguments a few characters at a time.",
    "empty-fragment": "An empty fragment after the id and name of each call.",
    "late-brace": "The last character of the arguments in a separate event.",
    "even-ids": "No id is shorter than an earlier one. Later requests get the provider's own ids back.",
    "comments": "An SSE comment before each event.",
    "crlf": "Lines end with CR LF.",
    "no-space": "No space after the colon of a field.",
    "bom": "A byte order mark at the start of the body.",
    "event-ids": "An `id:` line in each event.",
    "plain-lines": "The usual SSE lines: LF, a space after the colon, and no comments, ids or byte order mark.",
    "self-contained-deltas": "All arguments of a call in one delta, with the call's id and name.",
    "bare-deltas": "Argument deltas with the item id only, without `call_id` and `name`.",
    DESTREAM: "Requests a response without streaming and streams it to the client (live, over HTTP).",
}
"""Each shape as an encoding, in a sentence."""


def document() -> dict[str, Any]:
    """The output of `toolstream list --format json`."""
    return {
        "version": VERSION,
        "defects": [described(defect) for defect in DEFECTS],
        "shapes": shapes(),
        "transit": [transit(one) for one in TRANSIT],
        "presets": [one._asdict() for one in PRESETS],
        "clients": [one._asdict() for one in CLIENTS],
        "verdicts": [{"name": one.value, "meaning": one.meaning} for one in Outcome],
    }


def transit(definition: TransitDefinition) -> dict[str, Any]:
    """A row of the table of transit faults."""
    keys = [{"name": key.name, "values": key.expected, "usual": str(key.default or "")} for key in definition.keys]
    return {"name": definition.name, "meaning": definition.meaning, "keys": keys}


def described(defect: Defect) -> dict[str, Any]:
    """A row of the table of defects."""
    return {
        "code": defect.code,
        "name": defect.name,
        "severity": defect.severity.value,
        "family": defect.family,
        "dialects": list(defect.protocols),
        "protocols": list(defect.protocols),
        "meaning": defect.meaning,
        "plant": bool(injected(defect)),
        "repair": defect.repair.value if defect.repair else None,
        "doc": f"docs/defects/{defect.name}.md",
    }


def injected(defect: Defect) -> tuple[str, ...]:
    """The protocols in which the defect can be injected."""
    return tuple(one.name for one in PROTOCOLS if defect.name in one.injectors)


def shapes() -> list[dict[str, Any]]:
    """The shapes, each with its protocols."""
    names = list(dict.fromkeys(name for one in PROTOCOLS for name in one.shapes))
    lines = [_shape(name, SHAPES[name], [one.name for one in PROTOCOLS if name in one.shapes]) for name in names]
    return [*lines, _shape(DESTREAM, SHAPES[DESTREAM], [one.name for one in OVER_HTTP])]


def _shape(name: str, meaning: str, protocols: list[str]) -> dict[str, Any]:
    return {"name": name, "meaning": meaning, "dialects": protocols, "protocols": protocols}


def page(defect: Defect) -> str:
    """The page of a defect, as Markdown."""
    return (packaged("docs/defects") / f"{defect.name}.md").read_text(encoding="utf-8")


def explained(name: str) -> str | None:
    """The explanation of a name or code as Markdown; `None` if it is unknown. Some name a defect and a verdict."""
    return "\n".join(text for explain in _KINDS if (text := explain(name))) or None


def _defect(name: str) -> str:
    return next((page(defect) for defect in DEFECTS if name in {defect.code, defect.name}), "")


def _group(name: str) -> str:
    """A name for several defects: a family, or all with a safe repair."""
    safe = name == Safety.SAFE
    defects = [defect for defect in DEFECTS if (defect.repair is Safety.SAFE if safe else defect.family == name)]
    lines = "".join(f"* {defect.code} `{defect.name}` {defect.meaning}\n" for defect in defects)
    what = "with a safe repair" if safe else "in this family"
    return f"# {name}\n\n{len(defects)} defects {what}.\n\n{lines}" if defects else ""


def _shape_text(name: str) -> str:
    if name not in shape_names() and name != DESTREAM:
        return ""
    shape = next(one for one in shapes() if one["name"] == name)
    return f"# {name}\n\nA shape. {shape['meaning']} In {', '.join(shape['dialects'])}.\n"


def _transit(name: str) -> str:
    for one in map(transit, TRANSIT):
        if one["name"] == name:
            keys = "".join(
                f"* `{key['name']}`: {key['values']}; default: {key['usual'] or 'none'}\n" for key in one["keys"]
            )
            return f"# {name}\n\nA timing or connection fault: {one['meaning']}.\n\n{keys}"
    return ""


def _preset(name: str) -> str:
    for one in PRESETS:
        if one.name == name:
            return f"# {name}\n\nA preset: {one.meaning}. Consists of {', '.join(one.parts)}.\n\n* {one.source}\n"
    return ""


def _client(name: str) -> str:
    for client in CLIENTS:
        if name in {client.name, f"{FOR}{client.name}"}:
            needs = ", ".join([*client.shapes, *(f"repair {word}" for word in client.repairs)])
            text = f"{client.client} {client.versions}: {client.why}"
            return f"# {FOR}{client.name}\n\n{text}. Needs {needs}.\n\n* {client.source}\n"
    return ""


def _verdict(name: str) -> str:
    if name in RENAMED:
        return f"# Verdict {name}\n\nThis verdict is now called `{RENAMED[name]}`.\n\n{_verdict(RENAMED[name])}"
    if name in Outcome:
        return f"# Verdict {name}\n\nWhat a client did with a response: {Outcome(name).meaning}.\n"
    return ""


def _grade(name: str) -> str:
    if name in Grade:
        return f"# Grade {name}\n\nA grade of `toolstream check`: {Grade(name).meaning}.\n"
    if name in Reason:
        return f"# Failed: {name}\n\nWhy a case of `toolstream check` failed: {Reason(name).meaning}.\n"
    return ""


def _deviation(name: str) -> str:
    for deviation, quirk in deviations.QUIRKS.items():
        if name == deviation.value:
            seen = [f"[{project}]({link})" for project, link in deviations.projects((deviation,)).items()]
            protocol = protocol_with(deviation)
            fix = deviations.fix((deviation,), protocol).removeprefix("fix the client: ")
            named = any(f"`{field}`" in fix for field in (*protocol.call_keys, protocol.id_key))
            fields = f", in the fields of {protocol.name}" if named else ""
            where = f"* Seen in {', '.join(seen)}.\n" if seen else ""
            return f"# Client bug {name}\n\nThe client {quirk.words}.\n\n* Fix{fields}: {fix}.\n{where}"
    return ""


_KINDS: Final = (_defect, _group, _shape_text, _transit, _preset, _client, _verdict, _grade, _deviation)


def explainable() -> set[str]:
    """The names that `explained` knows, apart from old ones."""
    defects = {word for defect in DEFECTS for word in (defect.name, defect.code, defect.family)}
    clients = {f"{FOR}{client.name}" for client in CLIENTS}
    bugs = {one.value for one in deviations.QUIRKS}
    return {*defects, *bugs, Safety.SAFE, *shape_names(), *fault_names(), *clients, *Outcome, *Grade, *Reason, DESTREAM}
