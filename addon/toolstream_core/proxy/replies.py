"""What no fixture holds: the list of models there are, and that there is no answer, as each API says it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.fixtures.matching import names_of
from toolstream_core.protocols.api import ModelList
from toolstream_core.protocols.registry import named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.fixtures import Fixture
    from toolstream_core.fixtures.matching import Match
    from toolstream_core.model import Json

_LISTS = re.compile(r"/(v1/models|v1beta/models|api/tags)/?$")


def models(path: str, fixtures: Sequence[Fixture]) -> Json | None:
    """The answer to a GET of `path`, where that is a list of models: of those that the saved flows know."""
    return models_named(path, lambda kind: _names(fixtures, kind))


def models_named(path: str, names_of_kind: Callable[[ModelList], Sequence[str]]) -> Json | None:
    """The answer to a GET of `path`, where that is a list of models."""
    found = _LISTS.search(path.partition("?")[0])
    if found is None:
        return None
    if found[1] == "api/tags":
        return {"models": [{"name": name, "model": name} for name in names_of_kind(ModelList.TAGS)]}
    names = names_of_kind(ModelList.DATA)
    # The APIs share paths, and each reads its own keys: `data` of the one, `models` of the other.
    bare = [{"name": name, "endpoints": ["chat"]} for name in names_of_kind(ModelList.NAMES)]
    resources = [{"name": f"models/{name}", "displayName": name} for name in names_of_kind(ModelList.MODELS)]
    return {
        "object": "list",
        "data": [_entry(name) for name in names],
        "has_more": False,
        "first_id": names[0] if names else None,
        "last_id": names[-1] if names else None,
        "models": [*resources, *bare],
    }


def _names(fixtures: Sequence[Fixture], kind: ModelList) -> list[str]:
    asked = [one for one in fixtures if named(one.asked.dialect).api.model_list is kind]
    return sorted({name for one in asked for name in names_of(one)})


def _entry(name: str) -> Json:
    openai = {"id": name, "object": "model", "created": 0, "owned_by": "toolstream"}
    return {**openai, "type": "model", "display_name": name, "created_at": "1970-01-01T00:00:00Z"}


def nothing_saved(match: Match, fixtures: Sequence[Fixture]) -> Json:
    """The body of a 404, in the form in which the SDKs of that API show it."""
    dialect = match.wanted.dialect
    if any(one.asked.dialect == dialect for one in fixtures):
        near = "; ".join(f"{one.source} {one.why}" for one in match.near)
        message = f"toolstream_provider has no saved response for this {dialect} request. Near: {near}"
    else:
        message = f"toolstream_provider has no saved {dialect} response. It has: {_listed(fixtures)}"
    return named(dialect).not_saved(message)


def assembled(fixture: Fixture) -> Json:
    """The whole answer that a saved stream amounts to; one that was not streamed is itself."""
    if not fixture.record.streamed:
        return fixture.payloads[0]
    payloads = [payload for payload in fixture.payloads if isinstance(payload, dict)]
    return named(fixture.record.dialect).assembled(payloads, fixture.record.calls)


def _listed(fixtures: Sequence[Fixture]) -> str:
    there: dict[str, set[str]] = {}
    for one in fixtures:
        there.setdefault(one.asked.dialect, set()).update(names_of(one)[:1])
    return "; ".join(f"{name} ({', '.join(sorted(models))})" for name, models in sorted(there.items()))
