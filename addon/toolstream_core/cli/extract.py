"""`toolstream extract`: writes the responses in saved files as fixtures without secrets."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from toolstream_core.cli.arguments import CANNOT, NOT_OK, OK, requested_redaction, selected_codes
from toolstream_core.cli.output import Output, check_outputs, say
from toolstream_core.defects.table import DEFECTS
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import BAD_STATUS, Finding, Severity
from toolstream_core.printable import counted, word
from toolstream_core.redaction import Redaction
from toolstream_core.saved.cassette import cassette
from toolstream_core.saved.fixtures import bare_files, conversations, flow_files, new_stem, write_all
from toolstream_core.saved.flow import LlmFlow, broken_in
from toolstream_core.saved.flowfile import saved_response
from toolstream_core.saved.read import gathered
from toolstream_core.saved.redact import redact


def run(args: argparse.Namespace) -> int:
    """Extract, list the written and the omitted responses, and return the exit code."""
    redaction, codes = requested_redaction(args), selected_codes(args)
    if args.output.exists() and not args.output.is_dir():
        raise ToolstreamError(f"-o: {args.output} is not a folder. Expected a folder for the fixtures")
    found: list[LlmFlow] = []
    failed, written = False, 0
    for one in (one for path in args.paths for one in gathered(path, args.request)):
        if isinstance(one, LlmFlow):
            found.append(one)
        else:
            failed = failed or one.unreadable
            say(f"left out {word(one.source)}: {one.why}")
    # A dump has its flows in the order in which they ended.
    found.sort(key=lambda one: one.flow.request.timestamp_start)
    groups = [[one] for one in found] if args.each == "flow" else conversations(found)
    taken = [group for group in groups if any(_takes(args, codes, one) for one in group)]
    for group in groups:
        if group not in taken:
            say(f"left out {_sources(group)}: no selected finding")
    names: set[str] = set()
    for number, group in enumerate(taken, 1):
        stem = new_stem(group[0], names) if args.name is None else args.name
        try:
            _write(group, f"{stem}-{number}" if args.name is not None and len(taken) > 1 else stem, args, redaction)
            written += 1
        except (ToolstreamError, OSError) as error:
            failed = True
            say(f"left out {_sources(group)}: {_why(error)}")
    return CANNOT if failed else OK if written else NOT_OK


def _takes(args: argparse.Namespace, codes: frozenset[str], saved: LlmFlow) -> bool:
    """Whether `--when` and the selection of findings include a response."""
    if args.when == "all" and args.select is None:
        return True
    failed = saved.status >= BAD_STATUS or saved.record.broken is not None or saved.record.error is not None
    counts = any(one.code in codes and _counts(args, one) for one in saved.record.findings)
    return counts or (failed and args.when != "all")


def _counts(args: argparse.Namespace, finding: Finding) -> bool:
    """Whether a finding is severe enough; notes only if they were named."""
    if args.when == "errors":
        return finding.severity is Severity.ERROR
    return args.select is not None or finding.severity.counts


def _write(group: Sequence[LlmFlow], stem: str, args: argparse.Namespace, redaction: Redaction) -> None:
    """Write one fixture. Raises `ToolstreamError` and `OSError`."""
    clean = [redact(one.flow, redaction) for one in group]
    if args.format == "flow":
        files = flow_files(f"{stem}.flow", clean)
    else:
        exchanges = [
            replace(saved_response(flow, one.source).decoded(), broken=one.record.broken and broken_in(flow))
            for flow, one in zip(clean, group, strict=True)
        ]
        files = bare_files(stem, exchanges) if args.format == "bare" else {f"{stem}.yaml": cassette(exchanges)}
    outputs = [Output(args.output / name, force=args.force) for name in files]
    check_outputs(outputs, map(Path, args.paths), makes_folders=True)
    write_all(args.output, files, replace=args.force)
    main = stem if args.format == "bare" else next(iter(files))
    print(f"wrote {word(str(args.output / main))}: {_about(group)}")


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
    """A fault to replay: otherwise one that makes calls impossible to run would hit each attempt of the client."""
    lossy = any(defect.lossy and defect.name == spec for defect in DEFECTS)
    return f"{spec}:times=1" if lossy else spec


def _sources(group: Sequence[LlmFlow]) -> str:
    return ", ".join(word(one.source) for one in group)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename} cannot be written: {error.strerror}"
    return str(error)
