"""`toolstream extract`: writes the responses in saved files as fixtures without secrets."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolstream_core.cli.arguments import CANNOT, NOT_OK, OK, requested_redaction, selected_codes
from toolstream_core.cli.output import Output, check_outputs, say
from toolstream_core.defects.table import DEFECTS
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import BAD_STATUS, Finding, Json, Severity
from toolstream_core.printable import counted, word
from toolstream_core.redaction import Redaction
from toolstream_core.saved.cassette import cassette
from toolstream_core.saved.fixtures import bare_files, conversations, flow_files, new_stem, write_all
from toolstream_core.saved.flow import LlmFlow, exchange_of
from toolstream_core.saved.read import LeftOut, gathered
from toolstream_core.saved.redact import redact


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which fixtures are written."""

    when: str
    """`all`, `findings` or `errors`."""
    codes: frozenset[str]
    """The findings that count."""
    chosen: bool
    """Whether these were named, so that notes among them count too."""

    def takes(self, saved: LlmFlow) -> bool:
        if self.when == "all" and not self.chosen:
            return True
        counted = [one for one in saved.record.findings if one.code in self.codes and self._counts(one)]
        failed = saved.status >= BAD_STATUS or saved.broken is not None or saved.record.error is not None
        return bool(counted) or (failed and self.when != "all")

    def _counts(self, finding: Finding) -> bool:
        if self.when == "errors":
            return finding.severity is Severity.ERROR
        return self.chosen or finding.severity.counts


@dataclass
class Extraction:
    """One run of `toolstream extract`."""

    folder: Path
    format: str
    redaction: Redaction
    wanted: Wanted
    name: str | None = None
    force: bool = False
    _inputs: list[Path] = field(default_factory=list)
    _found: list[LlmFlow] = field(default_factory=list)
    _failed: bool = False

    def read(self, paths: Iterable[str], request: Json) -> None:
        """Find all flows; report what is left out."""
        for path in paths:
            self._inputs.append(Path(path))
            for one in gathered(path, request):
                if isinstance(one, LeftOut):
                    self._failed = self._failed or one.unreadable
                    say(f"left out {word(one.source)}: {one.why}")
                else:
                    self._found.append(one)

    def write(self, *, each_flow: bool) -> int:
        # A dump has its flows in the order in which they ended.
        found = sorted(self._found, key=lambda one: one.flow.request.timestamp_start)
        groups = [[one] for one in found] if each_flow else conversations(found)
        taken = [group for group in groups if any(self.wanted.takes(one) for one in group)]
        for group in groups:
            if group not in taken:
                say(f"left out {_sources(group)}: no selected finding")
        names: set[str] = set()
        count = 0
        for number, group in enumerate(taken, 1):
            stem = new_stem(group[0], names) if self.name is None else self.name
            count += self._write(group, f"{stem}-{number}" if self.name is not None and len(taken) > 1 else stem)
        if self._failed:
            return CANNOT
        return OK if count else NOT_OK

    def _write(self, group: Sequence[LlmFlow], stem: str) -> bool:
        """Write one fixture; whether that was done."""
        clean = [redact(one.flow, self.redaction) for one in group]
        if self.format == "flow":
            files = flow_files(f"{stem}.flow", clean)
        else:
            exchanges = [
                exchange_of(flow, one.source, broke=one.broken is not None)
                for flow, one in zip(clean, group, strict=True)
            ]
            files = bare_files(stem, exchanges) if self.format == "bare" else {f"{stem}.yaml": cassette(exchanges)}
        try:
            outputs = [Output(self.folder / name, force=self.force) for name in files]
            check_outputs(outputs, self._inputs, makes_folders=True)
            write_all(self.folder, files, replace=self.force)
        except (ToolstreamError, OSError) as error:
            self._failed = True
            say(f"left out {_sources(group)}: {_why(error)}")
            return False
        main = stem if self.format == "bare" else next(iter(files))
        print(f"wrote {word(str(self.folder / main))}: {_about(group)}")
        return True


def _about(group: Sequence[LlmFlow]) -> str:
    findings = sum(len(one.record.findings) for one in group)
    return f"{counted(len(group), 'response')}, {counted(findings, 'finding')} ({_sources(group)}){_caused(group)}"


def _caused(group: Sequence[LlmFlow]) -> str:
    """The faults in the responses, which are kept as the provider sent them."""
    broken = [one.caused for one in group if one.caused.specs]
    if not broken:
        return ""
    specs = ", ".join(dict.fromkeys(_once(spec) for one in broken for spec in one.specs))
    names = ", ".join(dict.fromkeys(name for one in broken for name in one.findings))
    got = f"; the client received it with fault {word(specs)}{f' (findings: {word(names)})' if names else ''}"
    return f"{got}, the file has it without: replay it with --fault {word(specs)}, in pytest fault={specs!r}"


def _once(spec: str) -> str:
    """A fault to replay: one that leaves calls which nobody can run would hit each of the client's attempts again."""
    lossy = any(defect.lossy and defect.name == spec for defect in DEFECTS)
    return f"{spec}:times=1" if lossy else spec


def _sources(group: Sequence[LlmFlow]) -> str:
    return ", ".join(word(one.source) for one in group)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename} cannot be written: {error.strerror}"
    return str(error)


def run(args: argparse.Namespace) -> int:
    """Extract, list what was written and what was left out, and give the exit code."""
    redaction = requested_redaction(args)
    if args.output.exists() and not args.output.is_dir():
        raise ToolstreamError(f"-o: {args.output} is not a folder. Expected a folder for the fixtures")
    wanted = Wanted(when=args.when, codes=selected_codes(args), chosen=args.select is not None)
    work = Extraction(args.output, args.format, redaction, wanted, name=args.name, force=args.force)
    work.read(args.paths, args.request)
    return work.write(each_flow=args.each == "flow")
