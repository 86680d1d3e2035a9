"""What is written about the defects, for reports: the parts of their pages, and where the protocols are described."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final

from toolstream_core.packaged import packaged
from toolstream_core.protocols.registry import named

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row

SERVER_SENT_EVENTS: Final = (
    "WHATWG HTML, server-sent events",
    "https://html.spec.whatwg.org/multipage/server-sent-events.html",
)
_HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)


@cache
def sections(row: Row) -> dict[str, str]:
    """The page of a defect by its headings (`Why it hurts`, `Repair`, `Seen with`)."""
    page = (packaged("docs/defects") / f"{row.name}.md").read_text(encoding="utf-8")
    _, *parts = _HEADING.split(page)
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def specification(row: Row, dialect: str) -> tuple[str, str]:
    """The title and address of what describes the thing that is wrong."""
    events = named(dialect).api.specification.server_sent_events
    return SERVER_SENT_EVENTS if events and row.family == "framing" and row.code < "TS007" else described(dialect)


def described(dialect: str) -> tuple[str, str]:
    """The title and address of a protocol's own description."""
    found = named(dialect).api.specification
    return found.title, found.url
