"""Saved flows as test items, and the reports on their folders."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.errors import ToolstreamError

if TYPE_CHECKING:
    from toolstream_core.saved.expectation import Expectation

MODES = ("create", "fix", "trim")
SHOWN = 10
"""The maximum number of unused fixtures that are listed without -v."""
USED = "toolstream_used"
"""In a report's `vars`: the paths of the flows that its test used."""
CHANGED = "toolstream_changed"
"""In a report's `vars`: the files that its test wrote, as lines for people."""
WRITTEN = pytest.StashKey[list[str]]()
"""The same in the stash of a test."""


class Flows:
    """A separate plugin, registered if folders of flows are set; also collects the reports of other processes."""

    def __init__(self, config: pytest.Config) -> None:
        """Read the modes and the folders; a wrong mode is a usage error."""
        self.modes = _modes(config.getoption("toolstream_update"))
        self._config = config
        self._folders: list[Path] = config.getini("toolstream_flows")
        self._used: set[Path] = set()
        self._changes: list[str] = []
        self._files: set[Path] = set()
        _collect_also(config, self._folders)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.when == "call":
            vars(report)[CHANGED] = item.stash.get(WRITTEN, [])
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the files that a test used and changed, in any process."""
        self._used.update(map(Path, vars(report).get(USED, ())))
        self._changes += vars(report).get(CHANGED, ())

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._files.update(item.path for item in session.items)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Remove expectations without a flow, once, if requested."""
        if "trim" in self.modes and not hasattr(session.config, "workerinput"):
            for path in self._orphans():
                path.unlink()
                self._changes.append(f"removed {self._shown(path)}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the written files, and the unused ones."""
        unused = [f"unused fixture {self._shown(path)}: no test replays it" for path in self._unused()]
        if self._config.get_verbosity() <= 0:
            unused = shortened(unused)
        remedy = "no flow belongs to it; --toolstream-update=trim removes it"
        orphans = (f"unused expectation {self._shown(path)}: {remedy}" for path in self._orphans())
        missing = [f"toolstream_flows: no such folder: {self._shown(one)}" for one in self._folders if not one.is_dir()]
        lines = [*missing, *self._changes, *unused, *orphans]
        if lines:
            terminalreporter.section("toolstream")
            for line in lines:
                terminalreporter.write_line(line)

    def _shown(self, path: Path) -> str:
        return shown_path(path, self._config)

    def _alone(self) -> bool:
        """Whether only flows were requested: the tests that replay them did not run."""
        if self._config.args_source is not pytest.Config.ArgsSource.ARGS:
            return False
        base, folders = self._config.invocation_params.dir, [folder.resolve() for folder in self._folders]
        paths = [(base / arg).resolve() for arg in self._config.args]
        return all(any(path.is_relative_to(folder) for folder in folders) for path in paths)

    def _orphans(self) -> list[Path]:
        from toolstream_core.saved.bare import EXPECTATION, belongs

        found = (path for folder in self._folders for path in folder.rglob(f"*{EXPECTATION}"))
        return sorted(path for path in found if not belongs(path))

    def _unused(self) -> Iterator[Path]:
        """The flows that no test replayed; none unless all tests ran."""
        if not _is_full_run(self._config) or self._alone():
            return
        used = {path.resolve() for path in self._used}
        for path in sorted({path for folder in self._folders for path in folder.rglob("*.flow")}):
            if path.resolve() not in used:
                yield path


def shortened(lines: list[str]) -> list[str]:
    """The first lines, and the number of further ones."""
    more = len(lines) - SHOWN
    return lines if more <= 0 else [*lines[:SHOWN], f"… and {more} more; -v names them"]


def shown_path(path: Path, config: pytest.Config) -> str:
    """A path relative to the root, if it is inside."""
    try:
        return path.relative_to(config.rootpath).as_posix()
    except ValueError:
        return str(path)


def _modes(given: str) -> frozenset[str]:
    modes = frozenset(filter(None, (mode.strip() for mode in given.split(","))))
    if unknown := sorted(modes - set(MODES)):
        raise pytest.UsageError(f"--toolstream-update: unknown mode {unknown[0]!r}; expected {', '.join(MODES)}")
    return modes


def _collect_also(config: pytest.Config, folders: list[Path]) -> None:
    """If `testpaths` selects what is collected, the folders of flows are collected as well."""
    if config.args_source is not pytest.Config.ArgsSource.TESTPATHS:
        return
    there = [Path(config.invocation_params.dir, arg).resolve() for arg in config.args]
    config.args += [
        str(folder)
        for folder in folders
        if folder.is_dir() and not any(folder.resolve().is_relative_to(one) for one in there)
    ]


def _is_full_run(config: pytest.Config) -> bool:
    """Whether no test was excluded by words, names or a stop."""
    narrowed = ("keyword", "markexpr", "deselect", "lf", "collectonly", "maxfail")
    if any(config.getoption(name, None) for name in narrowed):
        return False
    return all("::" not in arg and not arg.endswith(".py") for arg in config.args)


class FlowMismatch(Exception):  # noqa: N818 - what a test found, not an error
    """A flow that is not read as expected; the message is for people."""


class FlowFile(pytest.File):
    """A flow file; it has one test."""

    def collect(self) -> Iterator[FlowItem]:
        yield FlowItem.from_parent(self, name="expectation")


class FlowItem(pytest.Item):
    """Whether a flow is read as its `.expect.json` expects."""

    def runtest(self) -> None:
        """Compare with the expectation, or write it if requested. Raises `FlowMismatch`."""
        read, expectation = _modules()
        try:
            found = expectation.expectation_of(read.load(self.path))
        except ToolstreamError as error:
            raise FlowMismatch(str(error)) from None
        path = expectation.expect_path(self.path)
        here, flow = shown_path(path, self.config), shown_path(self.path, self.config)
        if not path.exists():
            if not self._writes("create", path, found):
                command = f"pytest --toolstream-update=create {flow}"
                raise FlowMismatch(f"{flow} has no expectation {here}.\nCreate it, then review it: {command}")
            return
        try:
            differences = expectation.differences(expectation.read_expectation(path), found)
            newer = False
        except ToolstreamError as error:
            differences, newer = [str(error)], "newer" in str(error)
        if differences and (newer or not self._writes("fix", path, found)):
            hint = "" if newer else f"\nIf the new result is right: pytest --toolstream-update=fix {flow}"
            raise FlowMismatch(
                "\n".join([f"{flow} differs from its expectation {here}:", *(f"  {one}" for one in differences)]) + hint
            )

    def _writes(self, mode: str, path: Path, found: Expectation) -> bool:
        flows = self.config.pluginmanager.get_plugin("toolstream-flows")
        if not isinstance(flows, Flows) or mode not in flows.modes:
            return False
        from toolstream_core.saved.expectation import dumps
        from toolstream_core.saved.files import write_atomic

        write_atomic(path, dumps(found).encode(), replace=True)
        what = {"create": "created", "fix": "fixed"}[mode]
        self.stash[WRITTEN] = [f"{what} {shown_path(path, self.config)}"]
        return True

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The differences, without a traceback."""
        if isinstance(excinfo.value, FlowMismatch):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.path, None, f"{shown_path(self.path, self.config)}"


def _modules() -> tuple[Any, Any]:
    """The modules that read flows. They import mitmproxy, whose warnings do not belong to this test."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from toolstream_core.saved import expectation, read

    return read, expectation
