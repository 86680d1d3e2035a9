"""Flows that the console loads from a file: mitmproxy passes them through no addon, so they are read as saved ones."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mitmproxy import ctx, flow, types

from toolstream_core.engine.session import read_body
from toolstream_core.redact import raised_at
from toolstream_core.report.judging import Judging

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mitmproxy.command import CommandManager

    from toolstream_core.model import Record
    from toolstream_core.report.verdict import ReportedVerdict
    from toolstream_core.saved.exchange import Exchange

logger = logging.getLogger(__name__)


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
    verdicts: list[ReportedVerdict] = []
    judging = Judging(verdicts.append)
    return [_record(one, judging) for one in responses], verdicts


def _record(saved: Exchange, judging: Judging) -> Record | None:
    try:
        record = read_body(saved.chunks, saved.facts, broken=saved.broken)
        if record is not None:
            record.findings = saved.all_findings(record.findings)
            record.faults = [*saved.faults]
        judging.take(saved, record)
    except Exception as error:  # noqa: BLE001 - the other flows are read
        logger.error("toolstream cannot show flow %s: %s", saved.facts.source, raised_at(error))
        return None
    return record
