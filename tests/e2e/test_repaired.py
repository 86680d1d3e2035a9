"""The official clients read equal calls of healthy streams, of each shape of them, and of each mended defect."""

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
from tests.invariants.healthy import IN_NAMESPACE, PING, TIME, WEATHER, Healthy, streams
from tests.invariants.test_invariants import ALL_PAIRS, CANNOT, injected, run
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
    dialect: [one for one in streams() if one.dialect == dialect and one.name != IN_NAMESPACE] for dialect in INJECTORS
}
CALLS = {str(one): strict.calls(one.dialect, one.body, one.exchange) for one in streams()}
"""What each stream says, by its name."""
TWO = {dialect: next(one for one in known if len(CALLS[str(one)]) == 2) for dialect, known in HEALTHY.items()}
"""A stream of two calls in each protocol, in fragments where it has them."""
SAFELY = {row.name for row in DEFECTS if row.repair is Safety.SAFE and row.code not in LIVE}
REPAIRED = {
    dialect: [name for name in injectors if name in SAFELY - {"missing-namespace"}]
    for dialect, injectors in INJECTORS.items()
}
"""The defects that can be injected, and safely repaired without another request; without that of `IN_NAMESPACE`."""
ONE_CALL = {"legacy-function-call": "function_call can say one call only: the others are not there to be mended"}
"""Left out where a stream says several, and why."""
UNMENDED = {"openrouter-no-deltas": "the calls never come"}
"""Presets that leave nothing to mend, and why."""
UNREAD: dict[tuple[str, str], type[Exception]] = {
    ("anthropic", "bom"): AssertionError,
    ("google-genai", "bom"): genai.errors.UnknownApiResponseError,
    ("google-genai", "comments"): genai.errors.UnknownApiResponseError,
    ("google-genai", "no-space"): genai.errors.UnknownApiResponseError,
    ("google-genai", "event-ids"): genai.errors.UnknownApiResponseError,
}
"""What event streams may look like and an SDK does not read: how it fails."""
ONE_VERSION = {"boto3"}
"""SDKs that do not speak HTTP/2."""
BEFORE = {
    "bare-deltas": ("self-contained-deltas",),
    "finish-apart": ("finish-with-calls",),
    "plain-lines": ("no-space",),
}
"""A shape that gives another one something to change."""
NOTHING = {
    ("openai-chat", "even-ids"): "the ids are equally long",
    ("gemini", "whole-calls"): "no call comes in parts",
}
"""Shapes that leave these streams as they are, and why."""
HABITS = {
    dialect: [
        one.name
        for one in PRESETS
        if {*one.parts} & {*INJECTORS[dialect], *SHAPES[dialect]} and one.name not in UNMENDED
    ]
    for dialect in INJECTORS
}
"""The presets that have a meaning in each protocol."""
SETS = {
    dialect: [*{needed: one.name for one in CLIENTS if (needed := frozenset(one.shapes).intersection(shapes))}.values()]
    for dialect, shapes in SHAPES.items()
}
"""A client for each set of shapes that one needs in a protocol."""
AIMED = [f"{name}:model={name}" for name in (*sorted({*chain(*REPAIRED.values())}), *(one.name for one in PRESETS))]
"""All of them at once, each for a model of its own."""
SAFE = ("safe",)


class Through:
    """The SDKs through a proxy, before an upstream that answers with healthy streams."""

    def __init__(self, sdks: Mapping[str, Sdks], upstream: Upstream, ends: EndRecords) -> None:
        self._sdks = sdks
        self._upstream = upstream
        self._ends = ends
        self._untold = 0
        self.asked: ReceivedRequest
        """The last request as the upstream saw it."""

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
        """What the SDK makes of the stream, as this model's."""
        plan = self._upstream.plan(
            Response(tuple(map(Send, healthy.frames)), content_type=healthy.exchange.content_type)
        )
        options = json.dumps({"toolstream_repair": repair, "toolstream_shape": shape})
        self._untold += 1
        try:
            return reader.read(self._sdks[version], model, {**plan.headers, repair_options.HEADER: options})
        finally:
            self.asked = plan.request

    def records(self) -> list[dict[str, Any]]:
        """What the proxy has told at the end of each answer since this was last asked: it tells some at once."""
        count, self._untold = self._untold, 0
        return [self._ends.next() for _ in range(count)]


@pytest.fixture(scope="module")
def shared(proxies: Proxies, secure: Upstream, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Through]:
    """One mitmdump for all: defects and presets wait for their models, repairs and shapes come with the requests."""
    path = tmp_path_factory.mktemp("told") / "ends"
    scripts = (addon_script(), Path(repair_options.__file__))
    with contextlib.closing(EndRecords(path)) as ends:
        proxy = proxies.make({"toolstream_jsonl": str(path), "toolstream_log": "off"}, scripts=scripts)
        proxy.options["toolstream_fault"] = AIMED
        with proxy, Sdks(proxy, secure.url, http2=False) as one, Sdks(proxy, secure.url) as two:
            yield Through({"h1": one, "h2": two}, secure, ends)


@pytest.fixture
def through(shared: Through) -> Iterator[Through]:
    """The same, without records of another test."""
    yield shared
    shared.records()


def is_meant(reading: Reading, reader: Reader, healthy: Healthy) -> bool:
    """The calls, and the way in which the turn ended, are those of the healthy stream; each call has its own id."""
    assert reading.names_and_arguments == CALLS[str(healthy)]
    assert reading.finish == reader.finish
    assert None in reading.ids or (all(reading.ids) and len(set(reading.ids)) == len(reading.ids))
    return True


def own_ids(healthy: Healthy) -> list[str | None]:
    """Those that the stream's calls have, `None` for each where the protocol has none."""
    if healthy.dialect in {"gemini", "ollama"}:
        return [None for _ in CALLS[str(healthy)]]
    known = {call.name: call.id for call in (WEATHER, TIME, PING)}
    prefix = {"anthropic": "toolu_", "bedrock": "tooluse_"}.get(healthy.dialect, "")
    return [prefix + known[name] for name, _ in CALLS[str(healthy)]]


def cases(names: Mapping[str, Iterable[str]]) -> list[Any]:
    """A case for each name that a reader's protocol knows."""
    return [pytest.param(reader, name, id=f"{reader}: {name}") for reader in READERS for name in names[reader.dialect]]


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("reader", READERS, ids=str)
def test_healthy_streams(through: Through, subtests: pytest.Subtests, reader: Reader, version: str) -> None:
    """With every safe repair on: the calls with their ids, and nothing to mend."""
    for healthy in HEALTHY[reader.dialect]:
        with subtests.test(stream=str(healthy)):
            reading = through.read(reader, healthy, repair=SAFE, version=version)
            assert is_meant(reading, reader, healthy)
            assert reading.ids == own_ids(healthy)
            assert through.asked.version == ("h1" if reader.name in ONE_VERSION else version)
    assert not any(record["mended"] for record in through.records())


@cache
def changed_by(dialect: str, *shapes: str) -> list[Healthy]:
    """The streams of a protocol that shapes change; all of them where they change none."""
    wanted = settings(Words(shape=shapes))
    return [one for one in HEALTHY[dialect] if run(one.body, one, wanted)[0] != one.body] or HEALTHY[dialect]


def selected(known: Iterable[Healthy], case: str) -> list[Healthy]:
    """Streams of one protocol: that of two calls, and another one for each case; tests/invariants has all of them."""
    known = list(known)
    others = [healthy for healthy in known if healthy != TWO[healthy.dialect]]
    if ALL_PAIRS or not others:
        return known
    drawn = others[crc32(case.encode()) % len(others)]
    return [healthy for healthy in known if healthy in {TWO[healthy.dialect], drawn}]


@pytest.mark.parametrize(("reader", "shape"), cases(SHAPES))
def test_shapes(through: Through, subtests: pytest.Subtests, reader: Reader, shape: str) -> None:
    """Other ways to say the same calls."""
    unread = UNREAD.get((reader.name, shape), ())
    shapes = (*BEFORE.get(shape, ()), shape)
    for healthy in selected(changed_by(reader.dialect, *shapes), f"{reader} {shape}"):
        with subtests.test(stream=str(healthy)), pytest.raises(unread) if unread else contextlib.nullcontext():
            reading = through.read(reader, healthy, shape=shapes)
            assert is_meant(reading, reader, healthy)
            assert reading.ids == own_ids(healthy)
    assert any(record["mended"] for record in through.records()) != ((reader.dialect, shape) in NOTHING)


@pytest.mark.parametrize(("reader", "name"), cases(REPAIRED))
def test_mended_defects(through: Through, subtests: pytest.Subtests, reader: Reader, name: str) -> None:
    """Each defect in a stream of two calls and in another one; tests/invariants has it in each that can have it."""
    changes = {
        healthy: changed
        for healthy in HEALTHY[reader.dialect]
        if (changed := injected(healthy, name).changes) and comparable(healthy, name)
    }
    changes = {healthy: changes[healthy] for healthy in selected(changes, f"{reader} {name}")}
    for healthy in changes:
        with subtests.test(stream=str(healthy)):
            assert is_meant(through.read(reader, healthy, name, repair=SAFE), reader, healthy)
    records = through.records()
    spec = f"{name}:model={name}"
    assert [record["faults"] for record in records] == [
        [{"spec": spec, "drawn": ANY, "changes": changed}] for changed in changes.values()
    ]
    assert records
    assert all(record["mended"] for record in records)


def comparable(healthy: Healthy, name: str) -> bool:
    """Whether the stream still says what it meant once it has the defect."""
    return (name, healthy.name) not in CANNOT and not (name in ONE_CALL and len(CALLS[str(healthy)]) > 1)


@pytest.mark.parametrize(("reader", "client"), cases(SETS))
def test_what_single_clients_need(through: Through, subtests: pytest.Subtests, reader: Reader, client: str) -> None:
    """An official one reads it too."""
    for healthy in selected(HEALTHY[reader.dialect], f"{reader} {client}"):
        with subtests.test(stream=str(healthy)):
            assert is_meant(through.read(reader, healthy, shape=[f"for:{client}"]), reader, healthy)


@pytest.mark.parametrize(("reader", "client"), cases(SETS))
def test_what_single_clients_need_of_broken_streams(
    through: Through, subtests: pytest.Subtests, reader: Reader, client: str
) -> None:
    """Their shapes, of streams that are mended first: a third of the defects for each, the same ones every time."""
    two = TWO[reader.dialect]
    for name in REPAIRED[reader.dialect]:
        if comparable(two, name) and (ALL_PAIRS or crc32(f"{client} {name}".encode()) % 3 == 0):
            with subtests.test(defect=name):
                assert is_meant(through.read(reader, two, name, shape=[f"for:{client}"]), reader, two)


@pytest.mark.parametrize(("reader", "name"), cases(HABITS))
def test_mended_presets(through: Through, subtests: pytest.Subtests, reader: Reader, name: str) -> None:
    """Providers' habits, mended, in a stream of one call and in one of two."""
    for healthy in (HEALTHY[reader.dialect][0], TWO[reader.dialect]):
        with subtests.test(stream=str(healthy)):
            assert is_meant(through.read(reader, healthy, name, repair=SAFE), reader, healthy)
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
"""What each SDK does not bear, in a stream of two calls."""


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning")
@pytest.mark.parametrize(
    ("reader", "name"),
    [pytest.param(reader, name, id=f"{reader}: {name}") for reader in READERS for name in FAILS[reader.name].split()],
)
def test_without_the_repair(through: Through, reader: Reader, name: str) -> None:
    """The SDK gives up, makes other calls of the stream, or does not see that it is to run them."""
    healthy = TWO[reader.dialect]
    said: object = None
    with contextlib.suppress(Exception):
        reading = through.read(reader, healthy, name)
        said = (reading.names_and_arguments, reading.finish)
    assert said != (CALLS[str(healthy)], reader.finish)
    [record] = through.records()
    assert [fault["changes"] for fault in record["faults"]] == [injected(healthy, name).changes] != [0]
