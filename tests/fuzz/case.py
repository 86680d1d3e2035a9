"""One mutated stream with all that is to be done to it, as a value and as files. Knows no invariant."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from tests.fuzz.messages import MESSAGES
from toolstream_core.model import ABSENT, StreamFacts
from toolstream_core.settings import Settings, Words, settings

if TYPE_CHECKING:
    from pathlib import Path

SUFFIXES = {
    "text/event-stream": ".sse",
    "application/x-ndjson": ".ndjson",
    "application/json": ".json",
    MESSAGES: ".eventstream",
}
TYPES = {suffix: kind for kind, suffix in SUFFIXES.items()}
ABSENT_TEXT = "(none)"
"""How a request that is not there is written."""


@dataclass(frozen=True)
class Case:
    """A body, what is known beside it, and what is switched on."""

    dialect: str
    body: bytes
    content_type: str = "text/event-stream"
    path: str = ""
    request: Any = ABSENT
    repair: tuple[str, ...] = ("safe",)
    shape: tuple[str, ...] = ()
    broken: str | None = None
    """How the connection broke at the end; `None` where it ended cleanly."""
    seed: str = ""
    """What the mutations and the cuts were drawn from."""
    origin: str = ""
    """What was mutated, and how."""
    intended: tuple[tuple[str, str], ...] = ()
    """Name and arguments (canonical JSON) of each call that the provider meant; none where that is unknown.

    Under no name stand arguments that a call may have, too.
    """

    @property
    def exchange(self) -> StreamFacts:
        """What is known beside the body."""
        return StreamFacts(path=self.path, content_type=self.content_type, request=self.request)

    @cached_property
    def settings(self) -> Settings:
        """What is switched on."""
        return settings(Words(repair=self.repair, shape=self.shape))

    @property
    def safe_only(self) -> bool:
        """Whether nothing but safe repairs is on."""
        return self.repair == ("safe",) and not self.shape


def save(case: Case, base: Path, **more: str) -> Path:
    """Write `case` as a bare body and, beside it, the rest of it with `more` as JSON; the path of the body."""
    base.parent.mkdir(parents=True, exist_ok=True)
    body = base.with_suffix(SUFFIXES.get(case.content_type, ".sse"))
    body.write_bytes(case.body)
    said = {**more, **asdict(case)}
    del said["body"]
    if case.request is ABSENT:
        said["request"] = ABSENT_TEXT
    base.with_suffix(".case").write_text(json.dumps(said, indent=1) + "\n", encoding="utf-8")
    return body


def load(path: Path) -> Case:
    """The case of a file that `save` wrote; any other body is a case of safe repairs."""
    beside = path.with_suffix(".case")
    if not beside.exists():
        return Case(dialect="", body=path.read_bytes(), content_type=TYPES.get(path.suffix, ""), origin=str(path))
    said = json.loads(beside.read_text(encoding="utf-8"))
    body = beside.with_suffix(SUFFIXES.get(said["content_type"], ".sse")).read_bytes()
    given = {key: said[key] for key in Case.__dataclass_fields__ if key in said}
    given |= {"repair": tuple(said["repair"]), "shape": tuple(said["shape"])}
    given["intended"] = tuple((name, arguments) for name, arguments in said.get("intended", ()))
    if said["request"] == ABSENT_TEXT:
        given["request"] = ABSENT
    return Case(**given, body=body)
