"""A report for the provider or the client's authors, as Markdown."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import Final

from toolstream_core.clients.model import STANDARD, Entry, Key
from toolstream_core.clients.stepping import SteppedCall, reads
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.table import DEFECTS
from toolstream_core.faults import parse_fault
from toolstream_core.model import Call, Json, Record
from toolstream_core.printable import counted, printable
from toolstream_core.protocols.protocol import CallForm
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests import match_key
from toolstream_core.report.catalogue import page
from toolstream_core.report.columns import code, escaped, fenced
from toolstream_core.shrinking.candidate import Shape, nodes
from toolstream_core.transit.definitions import keys_of
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.frame import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedResponse:
    """A redacted response in a report."""

    record: Record
    frames: Sequence[Frame]
    entries: Sequence[Entry]
    """All tool-call entries of its events, in order."""
    path: str
    """Request path with query."""
    request: Json
    status: int | None
    recorded: str
    """The day, in UTC. It is empty, and the status `None`, if only the body was saved."""
    caused: Sequence[str] = ()
    """Specifications of the injected faults; the other fields describe the response with them."""
    provider: Sequence[str] | None = None
    """Names of the defects in the provider's own response; `None` unless it is known and faults changed it."""
    left: Sequence[str] | None = None
    """Names of the defects that the faults left, before any repair, if there were faults."""
    client: str = ""
    """How the client interpreted it, as text; `""` if unknown."""
    understood: bool = True
    """Whether the client interpreted it correctly, or this is unknown."""

    @property
    def is_notable(self) -> bool:
        """Whether it has a finding, a fault, or a misreading."""
        return bool(self.record.findings or self.caused) or not self.understood


def understanding(responses: Sequence[ReportedResponse]) -> bool | None:
    """Whether the client understood all responses; `None` if the saved requests do not show it.

    A response without calls has nothing to misread, and is never followed by a verdict.
    """
    if not all(one.understood for one in responses):
        return False
    with_calls = [one for one in responses if one.record.calls or one.client]
    return True if with_calls and all(one.client for one in with_calls) else None


def together[Told: Hashable](reported: Mapping[int, Told]) -> dict[Told, list[int]]:
    """The responses to which the same text applies, by that text."""
    places: dict[Told, list[int]] = {}
    for number, one in reported.items():
        places.setdefault(one, []).append(number)
    return places


def numbered(places: Sequence[int]) -> str:
    """Responses by their numbers: `response 2`, `responses 0, 1 and 2`."""
    *most, last = map(str, places)
    return f"responses {', '.join(most)} and {last}" if most else f"response {last}"


_LONGEST = 2000
"""Characters of an event that are shown."""


def folded(frames: Sequence[Frame], shown: Collection[int]) -> Iterator[str]:
    """Lines: the events with the numbers in `shown`, and one line for each run of others."""
    before: Frame | None = None
    waiting: list[Frame] = []
    for frame in frames:
        if frame.data is None or frame.number not in shown:
            waiting.append(frame)
            continue
        yield from _fold(waiting, before)
        waiting, before = [], frame
        yield f"# event {frame.number}"
        yield from lines(frame)
    yield from _fold(waiting, before)


def lines(frame: Frame) -> Iterator[str]:
    """A received event without control or invisible characters; long ones are cut."""
    text = frame.raw.decode("utf-8", "backslashreplace").strip("\r\n")
    for line in text[:_LONGEST].splitlines():
        yield printable(line)
    if len(text) > _LONGEST:
        yield f"… {len(text) - _LONGEST} more characters of this event"


def _fold(waiting: Sequence[Frame], before: Frame | None) -> Iterator[str]:
    events = [frame for frame in waiting if frame.data is not None]
    alike = list(takewhile(lambda frame: before is not None and _shape(frame) == _shape(before), events))
    for some, text in ((len(alike), " like the previous one"), (len(events) - len(alike), "")):
        if some:
            yield f"… {counted(some, 'event')}{text} …"


def _shape(frame: Frame) -> frozenset[Shape]:
    """The fields of an event, without their values."""
    return frozenset(shape for _, shape, _ in nodes(frame.json))


SERVER_SENT_EVENTS: Final = (
    "WHATWG HTML, server-sent events",
    "https://html.spec.whatwg.org/multipage/server-sent-events.html",
)
_HEADING = re.compile(r"^## (.+)\n", re.MULTILINE)


@cache
def sections(defect: Defect) -> dict[str, str]:
    """The page of a defect by its headings (`Why it hurts`, `Repair`, `Seen with`)."""
    _, *parts = _HEADING.split(page(defect))
    return {heading: text.strip() for heading, text in zip(parts[::2], parts[1::2], strict=True)}


def specification(defect: Defect, protocol: str) -> tuple[str, str]:
    """The title and address of the specification that the defect violates."""
    events = named(protocol).api.specification.server_sent_events
    return (
        SERVER_SENT_EVENTS if events and defect.family == "framing" and defect.code < "TS007" else described(protocol)
    )


def described(protocol: str) -> tuple[str, str]:
    """The title and address of a protocol's own description."""
    found = named(protocol).api.specification
    return found.title, found.url


PORT = 8642
_LONGEST_BODY = 4096
"""Maximum bytes of a printed request; a longer one is reduced to the required keys."""
_SHORT = 200
"""Characters of a setting or message in such a short request."""
_MESSAGES = ("messages", "input", "contents")


def fault_here(spec: str) -> str:
    """The fault for a response that is served alone: without targets and probability. Raises `ToolstreamError`."""
    fault = parse_fault(spec, {spec.partition(":")[0]}, keys_of)
    return replace(fault, host=None, path=None, model=None, turn=None, p=1.0, times=None).spec


def server_lines(flow: str, path: str, request: Json, faults: Sequence[str] = ()) -> str:
    """Shell lines that serve a flow, with faults if there are any, and request it."""
    under = "".join(f" --fault {shlex.quote(spec)}" for spec in faults)
    url = shlex.quote(f"http://127.0.0.1:{PORT}{path}")
    return (
        f"toolstream serve {shlex.quote(flow)} --port {PORT}{under} &\n"
        f"curl --no-buffer --silent --retry 5 --retry-connrefused {url} \\\n"
        f"  -H 'content-type: application/json' --data-binary @- <<'JSON'\n"
        f"{numbers.dumps(asking(path, request), ascii_only=True)}\n"
        "JSON"
    )


def as_test(flow: str, path: str, request: Json, findings: list[str], faults: Sequence[str] = ()) -> str:
    """A test for `toolstream`'s pytest plugin that can be run, and has a place for a client."""
    body = numbers.dumps(asking(path, request), ascii_only=True)
    under = f", fault={list(faults)!r}" if faults else ""
    return (
        "import urllib.request\n\n"
        "import pytest\n\n"
        f"REQUEST = {body.encode()!r}\n\n\n"
        f"@pytest.mark.toolstream({flow!r}{under})\n"
        "def test_reproduction(toolstream):\n"
        "    # In the place of the next lines, your client: its base URL, key, proxy and certificate are set.\n"
        f"    url = toolstream.proxy_url + {path!r}\n"
        '    headers = {"content-type": "application/json"}\n'
        "    urllib.request.urlopen(urllib.request.Request(url, REQUEST, headers)).read()\n"
        f"    assert sorted({{finding.name for finding in toolstream.findings}}) == {findings!r}\n"
        "    # toolstream.assert_understood()  # once your client has sent its next request\n"
    )


def asking(path: str, request: Json) -> Json:
    """A request that gets the response of `request`: itself, or a short one if it is long."""
    if not isinstance(request, dict) or len(numbers.dumps(request)) <= _LONGEST_BODY:
        return request
    plain = {
        key: value for key, value in request.items() if isinstance(value, str | bool | int) and len(str(value)) < _SHORT
    }
    for key in _MESSAGES:
        if key in request:
            plain[key] = _last_text(request[key])
    wanted, asks = match_key.read(path, request), match_key.read(path, plain)
    return plain if asks is not None and wanted is not None and asks.protocol == wanted.protocol else request


def _last_text(messages: Json) -> Json:
    """The last text of the user, shortened."""
    if isinstance(messages, str):
        return messages[:_SHORT]
    prompts = [one for one in json_access.items(messages) if json_access.get(one, "role") == "user"]
    last = prompts[-1] if prompts else {"role": "user"}
    text = json_access.get(last, "content")
    if "parts" in last:
        return [{"role": "user", "parts": [{"text": "Go on."}]}]
    return [{"role": "user", "content": text[:_SHORT] if isinstance(text, str) else "Go on."}]


def caused_lines(responses: Sequence[ReportedResponse]) -> Iterator[str]:
    """The injected faults, one paragraph for all responses with the same."""
    broken = {number: tuple(_caused(response)) for number, response in enumerate(responses) if response.caused}
    for (faults, *more), places in together(broken).items():
        which = "this stream" if len(responses) == 1 else numbered(places)
        yield f"toolstream injected fault {faults} into {which} to test a client."
        yield from more


def client_lines(responses: Sequence[ReportedResponse]) -> Iterator[str]:
    """Lines on how the clients interpreted malformed responses, and on misread responses."""
    facts = {
        number: _made(response, responses[number + 1 :])
        for number, response in enumerate(responses)
        if response.caused or not response.understood
    }
    if facts:
        yield "## How the client interpreted it\n"
    for made, places in together(facts).items():
        where = "" if len(responses) == 1 else f"{numbered(places).capitalize()}: "
        yield f"- {where}{made}"
    if facts:
        yield ""


def _caused(response: ReportedResponse) -> Iterator[str]:
    yield " and ".join(map(code, response.caused))
    if response.provider is not None:
        names = ", ".join(response.provider)
        yield f"The provider's own response {f'had {names}' if names else 'was healthy'}."
    yield "The response is shown as the client received it.\n"
    if response.record.broken:
        yield f"It was truncated: {escaped(response.record.broken)}.\n"


def _made(response: ReportedResponse, later: Sequence[ReportedResponse]) -> str:
    if response.client:
        return escaped(response.client)
    again = any(one.request == response.request for one in later)
    return "it repeated the request" if again else "unknown: no later request was saved"


def faults_of(responses: Sequence[ReportedResponse]) -> list[str]:
    """The faults that were injected into any of them."""
    return list(dict.fromkeys(spec for response in responses for spec in response.caused))


LONGEST: Final = 65_536
"""Characters of an issue or comment on GitHub."""
_RESERVE = 2_000
_MOST_FINDINGS = 20
_MOST_EVENTS = 12
_CLIENT_BUGS: Final[Mapping[CallForm, Mapping[Key, str]]] = {
    CallForm.DELTAS: {
        Key.PRESENT_ID: "starts a new call for each `id`",
        Key.CHANGED_ID: "starts a new call for each new `id`",
        Key.PROTOCOL: "matches on the index only",
    },
    CallForm.ANNOUNCED: {
        Key.LAST: "adds each fragment to the call that started last",
        Key.FIRST_OF_INDEX: "matches on the index only",
    },
    CallForm.WHOLE: {},
}
"""How well-known clients assign fragments to calls, as a clause after "a client that"."""
_MOST_LINKS = 5
_READING: Final = {
    True: "the client read it correctly",
    False: "the client misread it",
    None: "whether the client read it correctly is unknown, because no later request was saved",
}
_TITLES: Final = {
    True: "A stream that the client read correctly",
    False: "A stream that the client misread",
    None: "A stream without findings",
}
_SEVERITIES: Final = {
    "error": "a client that follows the protocol cannot reconstruct the calls",
    "warning": "outside the protocol; clients have to guess",
    "note": "valid or tolerated, but known to break clients",
}


def bug_report(responses: Sequence[ReportedResponse], flow: str, version: str) -> str:
    """The report on responses with a problem, or on all. `flow` is the name of their file."""
    shown = [response for response in responses if response.is_notable] or list(responses)
    parts = (_head(shown, version), _wrong(shown), _events(shown), _calls(shown), client_lines(shown), _protocol(shown))
    head = "\n".join(line for part in parts for line in part)
    tail = "\n".join([*_clients(shown), *_reproduction(shown, flow)])
    left = LONGEST - _RESERVE - len(head) - len(tail)
    text = "\n".join(_whole(shown, left))
    return f"{head}\n{tail}\n{text}"[: LONGEST - 1].rstrip("\n") + "\n"


def _head(responses: Sequence[ReportedResponse], version: str) -> Iterator[str]:
    first = responses[0]
    names = list(dict.fromkeys(finding.name for response in responses for finding in response.record.findings))
    what = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")  # noqa: PLR2004
    faults = " and ".join(map(escaped, faults_of(responses)))
    if faults:
        what += f"{', injected' if names else 'Injected'} by fault {faults}"
    elif not names:
        what = _TITLES[understanding(responses)]
    yield f"# {what}: {first.record.protocol} from {escaped(first.record.host or 'an unknown host')}\n"
    yield "| | |\n|---|---|"
    yield f"| provider | {code(first.record.host or '(unknown)')} |"
    yield f"| model | {code(first.record.model or '(unknown)')} |"
    yield f"| protocol | {first.record.protocol}, {'streamed' if first.record.streamed else 'not streamed'} |"
    status = "" if first.status is None else f"HTTP {first.status}, "
    yield f"| response | {status}{counted(first.record.events, 'event')}, {first.record.bytes} bytes |"
    if faults:
        yield f"| injected by | toolstream, to test a client: fault {' and '.join(map(code, faults_of(responses)))} |"
    yield f"| recorded | {first.recorded or '(unknown)'}; secrets are overwritten with `*` |"
    yield f"| found by | toolstream {version} |\n"


def _wrong(responses: Sequence[ReportedResponse]) -> Iterator[str]:
    yield "## What is wrong\n"
    found = [(number, finding) for number, response in enumerate(responses) for finding in response.record.findings]
    caused = [*caused_lines(responses)]
    yield from caused
    if not found:
        if not caused:
            yield f"toolstream found nothing wrong in the stream; {_READING[understanding(responses)]}.\n"
        return
    for number, finding in found[:_MOST_FINDINGS]:
        where = f"event {finding.event}" + ("" if len(responses) == 1 else f" of response {number}")
        defect = next(defect for defect in DEFECTS if defect.code == finding.code)
        yield (
            f"- **{finding.name}** ({finding.code}, {finding.severity}: {_SEVERITIES[finding.severity]}), {where}: "
            f"{escaped(finding.message)}. In general: {defect.meaning}."
        )
    if len(found) > _MOST_FINDINGS:
        yield f"- … and {len(found) - _MOST_FINDINGS} more"
    yield ""


def _events(responses: Sequence[ReportedResponse]) -> Iterator[str]:
    yield "## Events\n"
    yield "Unchanged; other events are folded:\n"
    shown = {
        number: tuple(folded(response.frames, _of_interest(response))) for number, response in enumerate(responses)
    }
    for events, places in together(shown).items():
        if len(responses) > 1:
            yield f"{numbered(places).capitalize()}:\n"
        yield from fenced(events)


def _of_interest(response: ReportedResponse) -> set[int]:
    """The events of the findings, and the starts of their calls; the first events without findings."""
    chosen: dict[int, None] = {}
    calls = response.record.calls
    for finding in response.record.findings:
        if finding.call is not None and finding.call < len(calls):
            chosen.update(dict.fromkeys([*calls[finding.call].events][:1]))
        chosen[finding.event] = None
    return set([*chosen][:_MOST_EVENTS]) or set(range(_MOST_EVENTS))


def _calls(responses: Sequence[ReportedResponse]) -> Iterator[str]:
    calls = [call for response in responses for call in response.record.calls]
    if not calls:
        return
    yield "## The tool calls\n"
    yield "Intended:\n"
    yield from (f"{number}. {_call(call.name, call.arguments, call)}" for number, call in enumerate(calls, 1))
    for response in responses:
        for does, read in wrong_readings(response.record.protocol, response.entries, response.record.calls):
            yield f"\nA client that {does} reads:\n"
            yield from _read(read)
    yield ""


def wrong_readings(
    protocol: str, entries: Sequence[Entry], intended: Sequence[Call]
) -> Iterator[tuple[str, list[SteppedCall]]]:
    """The well-known client bugs that misread these entries, each with the calls that it reads; equal results once."""
    form = named(protocol).call_form
    seen = [[(call.name, call.arguments or "{}") for call in intended]]
    for key, does in _CLIENT_BUGS[form].items():
        read = reads(STANDARD.with_deviations([key]), form, entries)
        calls = [(one.name, one.arguments or "{}") for one in read]
        if calls not in seen:
            seen.append(calls)
            yield does, read


def _read(calls: Sequence[SteppedCall]) -> Iterator[str]:
    for number, call in enumerate(calls[:_MOST_EVENTS], 1):
        yield f"{number}. {_call(call.name, call.arguments)}"
    if len(calls) > _MOST_EVENTS:
        yield f"\n… and {len(calls) - _MOST_EVENTS} more"


def _call(name: str, arguments: str, call: Call | None = None) -> str:
    state = " (incomplete)" if call is not None and not call.complete else ""
    return f"{code(name) if name else '(no name)'} with {code(arguments) if arguments else 'no arguments'}{state}"


def _protocol(responses: Sequence[ReportedResponse]) -> Iterator[str]:
    yield "## Protocol\n"
    protocol = responses[0].record.protocol
    rows = _rows(responses)
    links = dict.fromkeys(specification(defect, protocol) for defect in rows)
    for title, address in links or [described(protocol)]:
        yield f"- [{title}]({address})"
    for defect in rows:
        yield f"- With **{defect.name}**, a correct client {defect.must}."
    yield ""


def _clients(responses: Sequence[ReportedResponse]) -> Iterator[str]:
    rows = _rows(responses)
    if not rows:
        return
    yield "## Affected clients\n"
    for defect in rows:
        parts = sections(defect)
        seen = [line for line in parts["Seen with"].splitlines() if line.startswith("* ")]
        yield f"**{defect.name}**: {parts['Why it hurts']}\n"
        yield from (f"- {line[2:]}" for line in seen[:_MOST_LINKS])
        if len(seen) > _MOST_LINKS:
            yield f"- … and {len(seen) - _MOST_LINKS} more: `toolstream explain {defect.name}`"
        yield ""


def _reproduction(responses: Sequence[ReportedResponse], flow: str) -> Iterator[str]:
    first = responses[0]
    shown = {finding.name for finding in first.record.findings}
    found = sorted(shown if first.left is None else first.left)
    faults = [fault_here(spec) for spec in first.caused]
    yield "## Reproduce\n"
    yield f"With the attached `{flow}` and toolstream from its repository (`pip install .` in a clone of it), without a"
    yield "key or network:\n"
    yield from fenced(server_lines(flow, first.path, first.request, faults).splitlines(), "sh")
    yield f"As a test in your repository (with `{flow}` in the same folder):\n"
    yield from fenced(as_test(flow, first.path, first.request, found, faults).splitlines(), "python")


def _whole(responses: Sequence[ReportedResponse], width: int) -> Iterator[str]:
    for number, response in enumerate(responses):
        share = width // len(responses) - 300
        taken: list[str] = []
        for frame in response.frames:
            event = [*lines(frame), ""]
            share -= sum(len(line) + 1 for line in event)
            if share < 0:
                taken.append("… the rest is in the attached file")
                break
            taken += event
        name = "Complete stream" if len(responses) == 1 else f"Complete response {number}"
        size = f"{counted(response.record.events, 'event')}, {response.record.bytes} bytes"
        yield f"<details>\n<summary>{name} ({size})</summary>\n"
        yield from fenced(taken)
        yield "</details>\n"


def _rows(responses: Sequence[ReportedResponse]) -> list[Defect]:
    names = {finding.name for response in responses for finding in response.record.findings}
    return [defect for defect in DEFECTS if defect.name in names]
