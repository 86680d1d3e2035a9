"""The files that commands write: the page of the session view, bug reports, fixtures. Knows mitmproxy's flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from mitmproxy import http

from toolstream_core.clients.received import Received, ReceivedBytes
from toolstream_core.proxy.ui.bodies import Bodies
from toolstream_core.proxy.ui.known import Known
from toolstream_core.report.markdown import ReportedResponse, bug_report
from toolstream_core.report.verdict import ReportedVerdict
from toolstream_core.saved.exchange import Exchange
from toolstream_core.saved.fixtures import conversations, flow_files, new_stem
from toolstream_core.saved.flow import LlmFlow, read_flow
from toolstream_core.saved.flowfile import saved_response, socket_flows, unfolded
from toolstream_core.saved.read import as_client_got, turn_of
from toolstream_core.saved.redact import redact
from toolstream_core.version import __version__
from toolstream_core.view.assemble import page
from toolstream_core.view.document import ViewBuilder
from toolstream_core.view.response import read, without_secrets


class Shown(NamedTuple):
    """A response, and the verdict on its client."""

    saved: Exchange
    judged: ReportedVerdict | None


def has_response(flow: http.HTTPFlow, known: Known) -> bool:
    """Whether a flow has an LLM's response with its body."""
    return known.facts(flow) is not None or bool(socket_flows(flow))


def responses(flows: Sequence[http.HTTPFlow], known: Known, bodies: Bodies) -> list[Shown]:
    """The responses of flows."""
    return [Shown(saved, known.seen(saved.facts.source).judged) for flow in flows for saved in saved_in(flow, bodies)]


def page_of(shown: Sequence[Shown], following: Sequence[Exchange]) -> str:
    """The session view of responses; `following` have the requests that show how the clients interpreted them."""
    builder = ViewBuilder()
    read_responses = [(read(without_secrets(one.saved)), one.judged) for one in shown]
    requests = [without_secrets(replace(one, chunks=(), sent=None)) for one in following]
    for saved in (*(one.saved for one, _ in read_responses), *requests):
        builder.requests[saved.facts.source] = saved.facts.request
    objects = [builder.object_of(one, judged) for one, judged in read_responses if one.record is not None]
    return page(builder.assembled(objects))


def following(shown: Sequence[Shown], found: Callable[[str], http.HTTPFlow | None]) -> list[Exchange]:
    """The requests that followed responses; `found` gives the flow with an id."""
    tokens = {one.judged.request for one in shown if one.judged is not None and one.judged.request}
    flows = [found(token) for token in sorted(tokens)]
    return [saved_response(one, one.id) for one in flows if one is not None and one.response is not None]


def redacted_flows(flows: Sequence[http.HTTPFlow], bodies: Bodies) -> list[LlmFlow]:
    """The responses of flows without secrets, each named by the id of its flow."""
    found: list[LlmFlow] = []
    for flow in flows:
        for source, one in unfolded(bodies.complete(flow), flow.id):
            saved = read_flow(redact(one), source)
            if saved is not None:
                found.append(saved)
    return found


def reported_response(saved: LlmFlow, verdict: ReportedVerdict | None) -> ReportedResponse:
    """The reported response, with the verdict on its client."""
    caused, got = saved.caused, as_client_got(saved)
    turn = turn_of(0, got)
    day = datetime.fromtimestamp(saved.flow.request.timestamp_start, UTC).date()
    return ReportedResponse(
        record=replace(got.record, host="") if saved.is_bare else got.record,
        frames=[event.frame for event in turn.frames],
        entries=Received(ReceivedBytes(turn.facts, got.body, turn.broken)).entries,
        path=got.path,
        request=got.request,
        status=None if saved.is_bare else got.status,
        recorded="" if saved.is_bare else day.isoformat(),
        caused=caused.specs,
        provider=list(dict.fromkeys(found.name for found in saved.record.findings)) if got is not saved else None,
        left=caused.findings if caused.specs else None,
        client="" if verdict is None else verdict.short_text.text.removeprefix("verdict "),
        understood=verdict is None or verdict.verdict.understood,
    )


def report_of(found: Sequence[LlmFlow], verdicts: Mapping[str, ReportedVerdict | None], name: str) -> str:
    """A bug report; `verdicts` are by the sources of the responses."""
    reported = [reported_response(one, verdicts.get(one.source)) for one in found]
    return bug_report(reported, name, __version__)


def fixtures_of(found: Sequence[LlmFlow]) -> dict[str, bytes]:
    """The files of fixtures, one for each conversation, with their expectations."""
    files: dict[str, bytes] = {}
    stems: set[str] = set()
    for group in conversations(found):
        files |= flow_files(f"{new_stem(group[0], stems)}.flow", [one.flow for one in group])
    return files


def saved_in(flow: http.HTTPFlow, bodies: Bodies) -> Iterator[Exchange]:
    """The responses in a flow: of a WebSocket there are several."""
    responses = socket_flows(flow)
    if responses is None:
        yield bodies.saved(flow) or saved_response(flow, flow.id)
    for response, one in responses or ():
        yield saved_response(one, one.id, response.lane)
