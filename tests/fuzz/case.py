"""A mutated stream with its facts and options, as a value and as files."""

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
"""How an unknown request is saved."""


@dataclass(frozen=True)
class Case:
    """A body with its facts and options."""

    protocol: str
    body: bytes
    content_type: str = "text/event-stream"
    path: str = ""
    request: Any = ABSENT
    repair: tuple[str, ...] = ("safe",)
    shape: tuple[str, ...] = ()
    broken: str | None = None
    """The error of the connection; `None` if it ended cleanly."""
    seed: str = ""
    """The random seed of the mutations and chunk boundaries."""
    origin: str = ""
    """The mutated stream, and the mutations."""
    intended: tuple[tuple[str, str], ...] = ()
    """Name and arguments (canonical JSON) of each intended call; empty if they are unknown.

    An empty name marks further valid arguments.
    """

    @property
    def exchange(self) -> StreamFacts:
        """Path, content type and request."""
        return StreamFacts(path=self.path, content_type=self.content_type, request=self.request)

    @cached_property
    def settings(self) -> Settings:
        """The settings of the options."""
        return settings(Words(repair=self.repair, shape=self.shape))

    @property
    def safe_only(self) -> bool:
        """Whether safe repairs are the only option."""
        return self.repair == ("safe",) and not self.shape


def save(case: Case, base: Path, **more: str) -> Path:
    """Write the body, and a `.case` file with the rest of the case and `more` as JSON; return the path of the body."""
    base.parent.mkdir(parents=True, exist_ok=True)
    body = base.with_suffix(SUFFIXES.get(case.content_type, ".sse"))
    body.write_bytes(case.body)
    saved = {**more, **asdict(case)}
    del saved["body"]
    if case.request is ABSENT:
        saved["request"] = ABSENT_TEXT
    base.with_suffix(".case").write_text(json.dumps(saved, indent=1) + "\n", encoding="utf-8")
    return body


def load(path: Path) -> Case:
    """Return the case of a file that `save` wrote; for a body without a `.case` file, a case of safe repairs."""
    case_path = path.with_suffix(".case")
    if not case_path.exists():
        return Case(protocol="", body=path.read_bytes(), content_type=TYPES.get(path.suffix, ""), origin=str(path))
    saved = json.loads(case_path.read_text(encoding="utf-8"))
    body = case_path.with_suffix(SUFFIXES.get(saved["content_type"], ".sse")).read_bytes()
    fields = {key: saved[key] for key in Case.__dataclass_fields__ if key in saved}
    fields |= {"repair": tuple(saved["repair"]), "shape": tuple(saved["shape"])}
    fields["intended"] = tuple((name, arguments) for name, arguments in saved.get("intended", ()))
    if saved["request"] == ABSENT_TEXT:
        fields["request"] = ABSENT
    return Case(**fields, body=body)
