"""Responses that are read again: from the body, for the content views, and from a file that the console loads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from mitmproxy import ctx, flow, types
from mitmproxy.command import CommandManager

from toolstream_core.calls import ResolvedFragment
from toolstream_core.engine.session import read_body
from toolstream_core.model import Record
from toolstream_core.redact import raised_at
from toolstream_core.report.judging import Judging, as_sent
from toolstream_core.report.verdict import ReportedVerdict
from toolstream_core.saved.exchange import Exchange
from toolstream_core.view.response import TimedEvent, read, without_secrets

logger = logging.getLogger(__name__)


def cannot_show(flow_id: str, error: Exception) -> None:
    """Report an internal error: what is shown changes nothing of what is done."""
    logger.error("toolstream cannot show flow %s: %s", flow_id, raised_at(error))


@dataclass(frozen=True, slots=True)
class Facts:
    """A response, read to its end."""

    record: Record
    events: Sequence[TimedEvent]
    places: Mapping[int, int | None]
    """By the identity of an open call, its place among the calls of the record."""
    received: Record | None
    """The response as the client got it, if it differs."""

    def place_of(self, resolved: ResolvedFragment) -> int | None:
        """The place of a fragment's call among the calls of the record."""
        return self.places.get(id(resolved.call))


def facts_of(saved: Exchange) -> Facts | None:
    """The facts of a saved response; `None` if it is not an LLM's."""
    clean = without_secrets(saved)
    response = read(clean)
    record = response.record
    return None if record is None else Facts(record, response.events.frames, response.places, as_sent(clean))


def note_loaded(manager: CommandManager, loaded: Callable[[Sequence[flow.Flow]], None]) -> None:
    """Call `loaded` after the command that loads flows, with the new flows."""
    command, view = manager.commands.get("view.flows.load"), ctx.master.addons.get("view")
    if command is None:
        return
    load_file: Callable[[types.Path], None] = command.func

    def load(path: types.Path) -> None:
        """Load flows into the view. No addon processes them, but toolstream shows and marks them."""
        before = {one.id for one in view.resolve("@all")}
        load_file(path)
        loaded([one for one in view.resolve("@all") if one.id not in before])

    manager.add("view.flows.load", load)


def read_saved(responses: Sequence[Exchange]) -> tuple[list[Record | None], list[ReportedVerdict]]:
    """The record of each response, `None` if it is not an LLM's; the verdicts of requests that followed."""
    judging = Judging()
    read = [_judged(one, judging) for one in responses]
    return [record for record, _ in read], [verdict for _, verdicts in read for verdict in verdicts]


def _judged(saved: Exchange, judging: Judging) -> tuple[Record | None, Sequence[ReportedVerdict]]:
    try:
        record = read_body(saved.chunks, saved.facts, broken=saved.broken)
        if record is not None:
            saved.complete(record)
        return record, judging.take(saved, record)
    except Exception as error:  # noqa: BLE001 - the other flows are read
        cannot_show(saved.facts.source, error)
        return None, ()
