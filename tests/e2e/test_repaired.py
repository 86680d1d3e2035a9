"""The official clients read the same calls from healthy, shaped and repaired streams."""

from __future__ import annotations

import contextlib
import json
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY
from zlib import crc32

import pytest
from google import genai

from tests.e2e.harness import repair_options
from tests.e2e.harness.repaired import READERS, EndRecords, Reader, Reading, Sdks
from tests.e2e.harness.script import Response, Send
from tests.invariants import strict
from tests.invariants.driven import run
from tests.invariants.healthy import IN_NAMESPACE, PING, TIME, WEATHER, Healthy, streams
from tests.invariants.test_invariants import ALL_PAIRS, CANNOT, injected
from tests.tables import INJECTORS, SHAPES
from toolstream_core.defects.defect import LIVE, Safety
from toolstream_core.defects.table import DEFECTS
from toolstream_core.faults.clients import CLIENTS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.packaged import addon_script
from toolstream_core.settings import Words, settings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from tests.e2e.harness.plan import ReceivedRequest
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

HEALTHY = {
    protocol: [one for one in streams() if one.protocol == protocol and one.name != IN_NAMESPACE]
    for protocol in INJECTORS
}
CALLS = {str(one): strict.calls(one.protocol, one.body, one.exchange) for one in streams()}
"""The calls of each stream, by its name."""
TWO = {protocol: next(one for one in known if len(CALLS[str(one)]) == 2) for protocol, known in HEALTHY.items()}
"""A stream of two calls in each protocol, in fragments if the protocol has them."""
SAFELY = {row.name for row in DEFECTS if row.repair is Safety.SAFE and row.code not in LIVE}
REPAIRED = {
    protocol: [name for name in injectors if name in SAFELY - {"missing-namespace"}]
    for protocol, injectors in INJECTORS.items()
}
"""The injectable defects that are safely repaired without another request; without the defect of `IN_NAMESPACE`."""
ONE_CALL = {"legacy-function-call": "function_call can hold one call only: the others are missing"}
"""Defects that are not tested with several calls, and why."""
UNREPAIRABLE = {"openrouter-no-deltas": "the stream has no calls"}
"""Presets that cannot be repaired, and why."""
UNREAD: dict[tuple[str, str], type[Exception]] = {
    ("anthropic", "bom"): AssertionError,
    ("google-genai", "bom"): genai.errors.UnknownApiResponseError,
    ("google-genai", "comments"): genai.errors.UnknownApiResponseError,
    ("google-genai", "no-space"): genai.errors.UnknownApiResponseError,
    ("google-genai", "event-ids"): genai.errors.UnknownApiResponseError,
}
"""Valid encodings of an event stream that an SDK does not read, and its error."""
ONE_VERSION = {"boto3"}
"""SDKs without HTTP/2."""
PRECEDING_SHAPES = {
    "bare-deltas": ("self-contained-deltas",),
    "finish-apart": ("finish-with-calls",),
    "plain-lines": ("no-space",),
}
"""Shapes that change nothing without another shape before them."""
UNCHANGED = {
    ("openai-chat", "even-ids"): "the ids are equally long",
    ("gemini", "finish-apart"): "no finish reason comes with content",
    ("gemini", "whole-calls"): "no call is sent in fragments",
}
"""Shapes that do not change the streams of a protocol, and why."""
PRESET_NAMES = {
    protocol: [
        one.name
        for one in PRESETS
        if {*one.parts} & {*INJECTORS[protocol], *SHAPES[protocol]} and one.name not in UNREPAIRABLE
    ]
    for protocol in INJECTORS
}
"""The presets that apply to each protocol."""
SETS = {
    protocol: [
        *{needed: one.name for one in CLIENTS if (needed := frozenset(one.shapes).intersection(shapes))}.values()
    ]
    for protocol, shapes in SHAPES.items()
}
"""One client for each different set of shapes in a protocol."""
AIMED = [f"{name}:model={name}" for name in (*sorted({*chain(*REPAIRED.values())}), *(one.name for one in PRESETS))]
"""All faults at once, each for its own model."""
SAFE = ("safe",)


class ProxiedSdks:
    """The SDKs, which read the streams of an upstream through a proxy."""

    def __init__(self, sdks: Mapping[str, Sdks], upstream: Upstream, ends: EndRecords) -> None:
        self._sdks = sdks
        self._upstream = upstream
        self._ends = ends
        self._unread_records = 0
        self.received_request: ReceivedRequest
        """The last request that upstream received."""

    def read(
        self,
        reader: Reader,
        healthy: Healthy,
        model: str = "none",
        *,
        repair: Sequence[str] = (),
        shape: Sequence[str] = (),
        version: str = "h2",
    ) -> Reading:
        """The calls and finish reason that the SDK reads from the stream, requested with this model."""
        plan = self._upstream.plan(
            Response(tuple(map(Send, healthy.frames)), content_type=healthy.exchange.content_type)
        )
        options = json.dumps({"toolstream_repair": repair, "toolstream_shape": shape})
        self._unread_records += 1
        try:
            return reader.read(self._sdks[version], model, {**plan.headers, repair_options.HEADER: options})
        finally:
            self.received_request = plan.request

    def records(self) -> list[dict[str, Any]]:
        """The record of each response since the last call."""
        count, self._unread_records = self._unread_records, 0
        return [self._ends.next() for _ in range(count)]


@pytest.fixture(scope="module")
def shared(proxies: Proxies, secure: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProxiedSdks]:
    """The SDKs with one mitmdump: the model selects the fault, and a header sets repairs and shapes."""
    path = tmp_path_factory.mktemp("records") / "ends"
    scripts = (addon_script(), Path(repair_options.__file__))
    with contextlib.closing(EndRecords(path)) as ends:
        proxy = proxies.make({"toolstream_jsonl": str(path), "toolstream_log": "off"}, scripts=scripts)
        proxy.options["toolstream_fault"] = AIMED
        with proxy, Sdks(proxy, secure.url, http2=False) as one, Sdks(proxy, secure.url) as two:
            yield ProxiedSdks({"h1": one, "h2": two}, secure, ends)


@pytest.fixture
def through(shared: ProxiedSdks) -> Iterator[ProxiedSdks]:
    """The shared SDKs, without records of other tests."""
    yield shared
    shared.records()


def is_read_as_intended(reading: Reading, reader: Reader, healthy: Healthy) -> bool:
    """The reading has the calls and the finish reason of the healthy stream, and each call has a unique id."""
    assert reading.names_and_arguments == CALLS[str(healthy)]
    assert reading.finish == reader.finish
    assert None in reading.ids or (all(reading.ids) and len(set(reading.ids)) == len(reading.ids))
    return True


def own_ids(healthy: Healthy) -> list[str | None]:
    """The ids of the stream's calls; `None` for each call if the protocol has no ids."""
    if healthy.protocol in {"gemini", "ollama"}:
        return [None for _ in CALLS[str(healthy)]]
    known = {call.name: call.id for call in (WEATHER, TIME, PING)}
    prefix = {"anthropic": "toolu_", "bedrock": "tooluse_"}.get(healthy.protocol, "")
    return [prefix + known[name] for name, _ in CALLS[str(healthy)]]


def cases(names: Mapping[str, Iterable[str]]) -> list[Any]:
    """A case for each name of each reader's protocol."""
    return [pytest.param(reader, name, id=f"{reader}: {name}") for reader in READERS for name in names[reader.protocol]]


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("reader", READERS, ids=str)
def test_healthy_streams_are_read(
    through: ProxiedSdks, subtests: pytest.Subtests, reader: Reader, version: str
) -> None:
    """With safe repairs on, each SDK reads the calls with their ids, and no stream is repaired."""
    for healthy in HEALTHY[reader.protocol]:
        with subtests.test(stream=str(healthy)):
            reading = through.read(reader, healthy, repair=SAFE, version=version)
            assert is_read_as_intended(reading, reader, healthy)
            assert reading.ids == own_ids(healthy)
            assert through.received_request.version == ("h1" if reader.name in ONE_VERSION else version)
    assert not any(record["mended"] for record in through.records())


@cache
def changed_by(protocol: str, *shapes: str) -> list[Healthy]:
    """The streams of a protocol that the shapes change; all streams if they change none."""
    wanted = settings(Words(shape=shapes))
    return [one for one in HEALTHY[protocol] if run(one.body, one.exchange, wanted)[0] != one.body] or HEALTHY[protocol]


def selected(known: Iterable[Healthy], case: str) -> list[Healthy]:
    """The stream of two calls, and one that depends on the case; tests/invariants tests all streams."""
    known = list(known)
    others = [healthy for healthy in known if healthy != TWO[healthy.protocol]]
    if ALL_PAIRS or not others:
        return known
    other = others[crc32(case.encode()) % len(others)]
    return [healthy for healthy in known if healthy in {TWO[healthy.protocol], other}]


@pytest.mark.parametrize(("reader", "shape"), cases(SHAPES))
def test_shaped_streams_are_read(through: ProxiedSdks, subtests: pytest.Subtests, reader: Reader, shape: str) -> None:
    """Each SDK reads the same calls and ids from each shape, except the encodings in `UNREAD`."""
    unread = UNREAD.get((reader.name, shape), ())
    shapes = (*PRECEDING_SHAPES.get(shape, ()), shape)
    for healthy in selected(changed_by(reader.protocol, *shapes), f"{reader} {shape}"):
        with subtests.test(stream=str(healthy)), pytest.raises(unread) if unread else contextlib.nullcontext():
            reading = through.read(reader, healthy, shape=shapes)
            assert is_read_as_intended(reading, reader, healthy)
            assert reading.ids == own_ids(healthy)
    assert any(record["mended"] for record in through.records()) != ((reader.protocol, shape) in UNCHANGED)


@pytest.mark.parametrize(("reader", "name"), cases(REPAIRED))
def test_repaired_defects_are_read(through: ProxiedSdks, subtests: pytest.Subtests, reader: Reader, name: str) -> None:
    """Each SDK reads the intended calls of each repaired defect, in a stream of two calls and in another stream."""
    changes = {
        healthy: changed
        for healthy in HEALTHY[reader.protocol]
        if (changed := injected(healthy, name).changes) and comparable(healthy, name)
    }
    changes = {healthy: changes[healthy] for healthy in selected(changes, f"{reader} {name}")}
    for healthy in changes:
        with subtests.test(stream=str(healthy)):
            assert is_read_as_intended(through.read(reader, healthy, name, repair=SAFE), reader, healthy)
    records = through.records()
    spec = f"{name}:model={name}"
    assert [record["faults"] for record in records] == [
        [{"spec": spec, "drawn": ANY, "changes": changed}] for changed in changes.values()
    ]
    assert records
    assert all(record["mended"] for record in records)


def comparable(healthy: Healthy, name: str) -> bool:
    """Whether the stream still determines its intended calls when it has the defect."""
    return (name, healthy.name) not in CANNOT and not (name in ONE_CALL and len(CALLS[str(healthy)]) > 1)


@pytest.mark.parametrize(("reader", "client"), cases(SETS))
def test_shapes_of_other_clients_are_read(
    through: ProxiedSdks, subtests: pytest.Subtests, reader: Reader, client: str
) -> None:
    """Each SDK reads the streams in the shapes of other clients."""
    for healthy in selected(HEALTHY[reader.protocol], f"{reader} {client}"):
        with subtests.test(stream=str(healthy)):
            assert is_read_as_intended(through.read(reader, healthy, shape=[f"for:{client}"]), reader, healthy)


@pytest.mark.parametrize(("reader", "client"), cases(SETS))
def test_shapes_of_other_clients_are_read_from_broken_streams(
    through: ProxiedSdks, subtests: pytest.Subtests, reader: Reader, client: str
) -> None:
    """Each SDK reads repaired streams in the shapes of other clients; a fixed third of the defects for each client."""
    two = TWO[reader.protocol]
    for name in REPAIRED[reader.protocol]:
        if comparable(two, name) and (ALL_PAIRS or crc32(f"{client} {name}".encode()) % 3 == 0):
            with subtests.test(defect=name):
                assert is_read_as_intended(through.read(reader, two, name, shape=[f"for:{client}"]), reader, two)


@pytest.mark.parametrize(("reader", "name"), cases(PRESET_NAMES))
def test_repaired_presets_are_read(through: ProxiedSdks, subtests: pytest.Subtests, reader: Reader, name: str) -> None:
    """Each SDK reads the intended calls of each repaired preset, in streams of one and of two calls."""
    for healthy in (HEALTHY[reader.protocol][0], TWO[reader.protocol]):
        with subtests.test(stream=str(healthy)):
            assert is_read_as_intended(through.read(reader, healthy, name, repair=SAFE), reader, healthy)
    assert all(record["faults"] for record in through.records())


BROKEN = "comment-as-data decorated-name double-encoded-arguments doubled-call empty-data missing-finish reused-index"
CHAT = f"""{BROKEN} changing-index cumulative-arguments foreign-finish legacy-function-call misnamed-arguments
    missing-choices missing-delta missing-index object-arguments placeholder-arguments repeated-finish
    replayed-arguments split-surrogate tool-calls-object trailing-garbage unstreamed-calls wrong-finish"""
RESPONSES = f"{BROKEN} bare-response item-per-fragment missing-index missing-start trailing-garbage unterminated-event"
FAILS = {
    "openai chat": f"{CHAT} late-name null-arguments split-name",
    "openai chat.stream": f"{CHAT} null-identity offset-index repeated-name",
    "openai responses": f"""{RESPONSES} cumulative-arguments late-name missing-deltas placeholder-arguments
        prefilled-arguments replayed-arguments short-deltas split-surrogate unstreamed-calls""",
    "openai responses.stream": f"""{RESPONSES} changing-call-id duplicate-id empty-output missing-head missing-id
        object-arguments repeated-start rotating-item-id""",
    "anthropic": """cumulative-arguments decorated-name double-encoded-arguments doubled-call foreign-finish
        missing-event-name missing-finish null-usage object-arguments offset-index placeholder-arguments repeated-start
        reused-index split-surrogate unknown-block wrong-finish""",
    "cohere": """changing-index cumulative-arguments decorated-name double-encoded-arguments doubled-call foreign-finish
        late-id late-name misnamed-arguments missing-deltas missing-finish missing-id missing-index null-arguments
        object-arguments placeholder-arguments replayed-arguments reused-index split-surrogate tool-calls-object
        trailing-garbage unknown-block wrong-finish""",
    "boto3": """cumulative-arguments decorated-name double-encoded-arguments doubled-call foreign-finish missing-finish
        object-arguments placeholder-arguments prefilled-arguments repeated-start replayed-arguments trailing-garbage
        wrong-finish""",
    "google-genai": "comment-as-data decorated-name empty-data placeholder-arguments",
    "google-genai interactions": """comment-as-data cumulative-arguments decorated-name double-encoded-arguments
        doubled-call empty-data enveloped-arguments foreign-finish lost-beginning missing-finish missing-index
        object-arguments placeholder-arguments prefilled-arguments replayed-arguments reused-index split-surrogate
        trailing-garbage unknown-block wrong-finish""",
    "ollama": "decorated-name",
}
"""The defects at which each SDK fails in a stream of two calls."""


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize(
    ("reader", "name"),
    [pytest.param(reader, name, id=f"{reader}: {name}") for reader in READERS for name in FAILS[reader.name].split()],
)
def test_unrepaired_defects_are_misread(through: ProxiedSdks, reader: Reader, name: str) -> None:
    """Without repair the SDK raises, or returns other calls or another finish reason."""
    healthy = TWO[reader.protocol]
    result: object = None
    with contextlib.suppress(Exception):
        reading = through.read(reader, healthy, name)
        result = (reading.names_and_arguments, reading.finish)
    assert result != (CALLS[str(healthy)], reader.finish)
    [record] = through.records()
    assert [fault["changes"] for fault in record["faults"]] == [injected(healthy, name).changes] != [0]
