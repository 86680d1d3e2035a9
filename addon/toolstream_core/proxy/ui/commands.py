"""Toolstream's commands in mitmproxy. None overwrites a file."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from mitmproxy import ctx, flow, http, types
from mitmproxy.command import CommandManager
from mitmproxy.exceptions import CommandError, OptionsError
from mitmproxy.log import ALERT

from toolstream_core.defects.table import DEFECTS
from toolstream_core.proxy.ui import written
from toolstream_core.proxy.ui.bodies import Bodies, as_saved
from toolstream_core.proxy.ui.known import Known
from toolstream_core.redact import raised_at
from toolstream_core.report.catalogue import explainable, explained
from toolstream_core.saved.files import write_atomic
from toolstream_core.saved.fixtures import write_all
from toolstream_core.settings import fault_names, known_shapes

logger = logging.getLogger(__name__)

OFF: Final = "off"
"""The name that switches repairs, shapes or faults off."""


def _completed[Command: Callable[..., object]](argument: str, names: str) -> Callable[[Command], Command]:
    """A command with an argument whose values the command `names` lists."""

    def completed(command: Command) -> Command:
        command.__annotations__[argument] = types.Choice(names)
        return command

    return completed


class Commands:
    """The commands. Slow ones work in a thread."""

    def __init__(self, known: Known, bodies: Bodies) -> None:
        self._known, self._bodies = known, bodies
        self.writing: set[asyncio.Task[None]] = set()
        """The files that are being written."""

    def add_to(self, manager: CommandManager) -> None:
        """Register them in mitmproxy."""
        for name, names in (
            ("repair", self.repair_names),
            ("shape", self.shape_names),
            ("fault", self.fault_names),
            ("explain", self.explain_names),
        ):
            manager.add(f"toolstream.{name}.names", names)
        for act in (self.repair, self.shape, self.fault, self.explain, self.view, self.report, self.extract):
            manager.add(f"toolstream.{act.__name__}", act)
        if save_har := manager.commands.get("save.har"):
            manager.add("save.har", _without_bodies(save_har.func))

    @_completed("names", "toolstream.repair.names")
    def repair(self, *names: str) -> None:
        """Repair these defects in the next responses: names, safe, or off."""
        _set("toolstream_repair", names)

    @_completed("names", "toolstream.shape.names")
    def shape(self, *names: str) -> None:
        """Re-encode the tool calls of the next responses: names of shapes, for:CLIENT, or off."""
        _set("toolstream_shape", names)

    @_completed("name", "toolstream.fault.names")
    def fault(self, name: str, *settings: str) -> None:
        """Inject a fault into the next responses, with settings such as p=0.5, or off."""
        _set("toolstream_fault", [f"{name}:{','.join(settings)}" if settings else name])

    @_completed("name", "toolstream.explain.names")
    def explain(self, name: str) -> Sequence[str]:
        """Explain a defect, a shape, a fault, a preset, a client, a verdict or a client bug."""
        return (explained(name) or "").splitlines()

    def view(self, flows: Sequence[flow.Flow], path: types.Path) -> None:
        """Write a page with the session view of flows to a new HTML file, such as page.html."""
        responses = written.responses(self._http(flows), self._known, self._bodies)
        following = written.following(responses, ctx.master.addons.get("view").get_by_id)
        self._write(path, lambda: written.page_of(responses, following))

    def report(self, flows: Sequence[flow.Flow], path: types.Path) -> None:
        """Write a bug report on flows to a new Markdown file, such as report.md."""
        found = written.redacted_flows(self._http(flows), self._bodies)
        verdicts = {token: self._known.seen(token).judged for token in (one.source for one in found)}
        self._write(path, lambda: written.report_of(found, verdicts, Path(path).name))

    def extract(self, flows: Sequence[flow.Flow], folder: types.Path) -> None:
        """Write flows as test fixtures, without secrets, into a folder."""
        files = written.fixtures_of(written.redacted_flows(self._http(flows), self._bodies))
        existing = [name for name in files if os.path.lexists(Path(folder) / name)]
        if existing:
            raise CommandError(f"{Path(folder) / existing[0]} exists. Name another folder")
        try:
            write_all(Path(folder), files, replace=False)
        except OSError as error:
            raise CommandError(f"{folder} cannot be written: {error.strerror or error}") from error
        for name in files:
            logger.log(ALERT, "toolstream wrote %s", Path(folder) / name)

    def repair_names(self) -> Sequence[str]:
        """Names for toolstream.repair."""
        return [OFF, "safe", *sorted(defect.name for defect in DEFECTS if defect.repair is not None)]

    def shape_names(self) -> Sequence[str]:
        """Names for toolstream.shape."""
        return [OFF, *known_shapes()]

    def fault_names(self) -> Sequence[str]:
        """Names for toolstream.fault."""
        return [OFF, *sorted(fault_names())]

    def explain_names(self) -> Sequence[str]:
        """Names for toolstream.explain."""
        return sorted(explainable())

    def _http(self, flows: Sequence[flow.Flow]) -> list[http.HTTPFlow]:
        """The HTTP flows with LLM responses whose bodies are there. Raises `CommandError`."""
        found = [one for one in flows if isinstance(one, http.HTTPFlow) and written.has_response(one, self._known)]
        if not found:
            raise CommandError("no LLM response with its body in these flows. Expected, for example, @focus or @marked")
        return sorted(found, key=lambda one: one.request.timestamp_start)

    def _write(self, path: str, make: Callable[[], str]) -> None:
        """Make a text in a thread and write it to a new file. Raises `CommandError`."""
        target = Path(path)
        if os.path.lexists(target):
            raise CommandError(f"{path} exists. Name a new file")
        if not target.parent.is_dir():
            raise CommandError(f"{target.parent} is not a folder")
        task = asyncio.get_running_loop().create_task(_written(target, make))
        self.writing.add(task)
        task.add_done_callback(self.writing.discard)


type _Save = Callable[[Sequence[flow.Flow], types.Path], None]


def _without_bodies(save: _Save) -> _Save:
    """Mitmproxy's command `save.har` with flows as they are written to flow files: without kept bodies."""

    def save_har(flows: Sequence[flow.Flow], path: types.Path) -> None:
        """Export flows to an HAR (HTTP Archive) file."""
        save([as_saved(one) for one in flows], path)

    return save_har


async def _written(path: Path, make: Callable[[], str]) -> None:
    try:
        text = await asyncio.to_thread(make)
        write_atomic(path, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        logger.error("toolstream cannot write %s: %s", path, error.strerror or error)
    except Exception as error:  # noqa: BLE001 - the proxy continues
        logger.error("toolstream cannot write %s: %s", path, raised_at(error))
    else:
        logger.log(ALERT, "toolstream wrote %s", path)


def _set(option: str, names: Sequence[str]) -> None:
    """Give an option these values. Raises `CommandError`."""
    values = [name for name in names if name != OFF]
    if OFF in names and values:
        raise CommandError(f"off stands alone. Expected off, or {' '.join(values)}")
    if not names:
        raise CommandError(f"missing name. {option} is {' '.join(getattr(ctx.options, option)) or OFF}")
    try:
        ctx.options.update(**{option: values})
    except OptionsError as error:
        raise CommandError(str(error)) from error
    logger.log(ALERT, "%s: %s, from the next response on", option, " ".join(values) or OFF)
