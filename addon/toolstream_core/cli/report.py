"""`toolstream report`: a bug report on saved responses, as Markdown or as a page. Knows the options."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolstream_core.cli.arguments import not_found
from toolstream_core.cli.output import printed_to
from toolstream_core.engine.session import read_body
from toolstream_core.errors import ToolstreamError
from toolstream_core.report.markdown import ReportedResponse
from toolstream_core.report.verdict import ReportedVerdict
from toolstream_core.saved.exchange import UnreadableError
from toolstream_core.version import __version__


def run(args: argparse.Namespace) -> int:
    """Write the report. Raises `ToolstreamError`."""
    if args.format == "html":
        return _as_page(args)
    from toolstream_core.report.markdown import bug_report

    try:
        with printed_to(args.output, [args.flow], force=args.force):
            responses = reported([args.flow])[args.flow]
            if args.select:
                responses = _narrowed(responses, args)
            print(bug_report(responses, args.flow.name, __version__), end="")
    except UnreadableError as error:
        raise ToolstreamError(f"{args.flow} {error}") from error
    return 0


def _as_page(args: argparse.Namespace) -> int:
    from toolstream_core.cli.view import write_view
    from toolstream_core.view.document import ViewBuilder

    builder = ViewBuilder(codes=frozenset().union(*args.select or ()))
    nothing = not_found(args) if args.select else f"{args.flow} contains no LLM response"
    return write_view(args, [str(args.flow)], builder, nothing)


def reported(flows: Sequence[Path]) -> dict[Path, list[ReportedResponse]]:
    """The responses in flow files of one run, for reports. Raises `UnreadableError` and `ToolstreamError`."""
    from toolstream_core.proxy.ui.written import reported_response
    from toolstream_core.saved.read import read_responses

    responses = {flow: read_responses(flow) for flow in flows}
    verdicts = _verdicts_in(flows)
    return {flow: [reported_response(one, verdicts.get(one.source)) for one in of] for flow, of in responses.items()}


def _verdicts_in(flows: Iterable[Path]) -> dict[str, ReportedVerdict]:
    """The verdicts on the responses in flow files of one run, or folders of them, by their sources.

    Raises `UnreadableError`.
    """
    from toolstream_core.report.judging import Judging
    from toolstream_core.saved.files import files, responses

    judging = Judging()
    return {
        verdict.source: verdict
        for flow in flows
        for file in files(str(flow))
        for saved in responses(file)
        for verdict in judging.take(saved, read_body(saved.chunks, saved.facts, broken=saved.broken))
    }


def _narrowed(responses: Sequence[ReportedResponse], args: argparse.Namespace) -> list[ReportedResponse]:
    """The responses with the selected findings. Raises `ToolstreamError` if there are none."""
    codes = frozenset().union(*args.select)
    for response in responses:
        record = response.record
        record.findings = [finding for finding in record.findings if finding.code in codes]
    found = [response for response in responses if response.record.findings]
    if not found:
        raise ToolstreamError(not_found(args))
    return found
