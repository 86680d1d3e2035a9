"""The interface of a protocol, as one object. Knows no protocol by name."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolstream_core.wire.frame import CONTENT_TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolstream_core.calls.resolver import Calls
    from toolstream_core.model import Call, EventContent, Json
    from toolstream_core.protocols.api import Api
    from toolstream_core.protocols.errors import ErrorKind
    from toolstream_core.protocols.writing import HealthyResponse
    from toolstream_core.repair.shapes import Policy
    from toolstream_core.stages.context import Promotion
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.repair.repairer import RepairerMaker
    from toolstream_core.stages.stage import StageMaker
    from toolstream_core.wire.frame import Frame


class CallForm(enum.StrEnum):
    """The form of calls in a protocol's streams."""

    DELTAS = "deltas"
    """Deltas that each name their call (Chat Completions)."""
    ANNOUNCED = "announced"
    """An event announces a call, deltas follow, an event closes it (Responses, and all that stream content blocks)."""
    WHOLE = "whole"
    """Each entry is a complete call (Gemini, Ollama)."""


# A protocol is a package. Its definition has the functions that read a stream. The rest is in two modules, `stages`
# and `responses`, which are loaded on first use: most programs only read.


@dataclass(frozen=True, slots=True, kw_only=True)
class WireProtocol:
    """A protocol: how to recognise it, how to read it, how its fragments become calls.

    Readers report the received content. They never judge, and never raise on foreign bytes.
    """

    name: str
    """Its name in options, reports and JSON (`protocol` there)."""
    package: str
    """The folder, as a dotted name."""
    calls: type[Calls]
    """Decides which call a fragment belongs to."""
    recognise: Callable[[str, Json], bool]
    """Whether a frame of this SSE event name and JSON payload can only be this protocol's."""
    read: Callable[[Frame], EventContent]
    """The content of a frame of the stream."""
    read_response: Callable[[Json], EventContent]
    """The content of a response without a stream; every call in it is a fragment of phase `WHOLE`."""
    quiet: Callable[[bytes], bool]
    """A cheap test on the raw bytes of a frame: whether it surely has no tool call, finish, error or end.

    `False` is always safe; a frame for which it is `True` is counted, not parsed.
    """
    api: Api
    """The API: its address, its requests, and the variables of its clients."""
    pointers: tuple[str, ...]
    """JSON pointers to the calls, text, finish and errors of an event; `*` is any key."""
    call_form: CallForm = CallForm.ANNOUNCED
    """The form of calls in its streams."""
    call_keys: tuple[str, ...] = ("index",)
    """The fields that identify a fragment's call, the index last; none if each entry is a call."""
    id_key: str = "id"
    """The field with a call's id."""
    ends_with_finish: bool = False
    """Whether the event with the finish reason is the last one."""
    id_prefix: str = "call_"
    """The prefix of a made-up call id."""
    over_http: bool = True
    """Whether it also has HTTP requests, and not only a WebSocket."""
    reads_comments: bool = True
    """Whether the official clients skip SSE comments, as the standard requires."""
    read_only: bool = False
    """Whether its responses are only read and always forwarded unchanged."""
    claims_every_path: bool = False
    """Whether the user said that the response is this protocol's."""

    def claims(self, path: str) -> bool:
        """Whether `path` (with or without query) is one of this API's."""
        return self.claims_every_path or self.api.request_paths.search(path.partition("?")[0]) is not None

    @property
    def content_type(self) -> str:
        """Content types of a stream."""
        return CONTENT_TYPES[self.api.stream_form]

    @property
    def repairs(self) -> tuple[RepairerMaker, ...]:
        """The stages that check and repair a stream, in order: `stages.REPAIRS`."""
        found: tuple[RepairerMaker, ...] = self._stages("REPAIRS")
        return found

    @property
    def at_end(self) -> RepairerMaker | None:
        """Withholds the end of a response with an incomplete call, after all other stages: `stages.AT_END`.

        `None` if the last repairer does that.
        """
        found: RepairerMaker | None = self._stages("AT_END")
        return found

    @property
    def injectors(self) -> Mapping[str, InjectorMaker]:
        """The injectors by the defect's name: `stages.INJECTORS`."""
        found: Mapping[str, InjectorMaker] = self._stages("INJECTORS")
        return found

    @property
    def shapes(self) -> Mapping[str, StageMaker | Policy]:
        """The valid encodings of the same calls, by name: `stages.SHAPES`.

        A policy is given to the last repairer. A stage comes after it.
        """
        found: Mapping[str, StageMaker | Policy] = self._stages("SHAPES")
        return found

    def shaped(self, policy: Policy) -> RepairerMaker:
        """The last of the stages that repair, for a client that needs this policy."""
        *_, last = self._stages("REPAIRS")
        found: RepairerMaker = last if policy.is_empty else partial(last, policy=policy)
        return found

    def promoted(self, promotion: Promotion) -> list[Frame]:
        """Events that turn text into calls, and the event of the finish reason: `stages.promoted`."""
        found: list[Frame] = self._stages("promoted")(promotion)
        return found

    def streamed(self, response: Json, request: Json) -> list[bytes]:
        """The events of a complete response; none if it is not a response of this protocol."""
        return list(self._responses("streamed")(response, request)) if isinstance(response, dict) else []

    def assembled(self, payloads: Sequence[dict[str, Json]], calls: Sequence[Call]) -> Json:
        """The complete response of a stream with these payloads and resolved calls."""
        return self._responses("assembled")(payloads, calls)

    def healthy_stream(self, response: HealthyResponse) -> list[bytes]:
        """The events of a response as a healthy provider streams it."""
        return list(self._responses("healthy_stream")(response))

    def healthy_unstreamed(self, response: HealthyResponse) -> Json:
        """The same response to a request without a stream."""
        return self._responses("healthy_unstreamed")(response)

    def error_body(self, kind: ErrorKind, status: int, message: str = "") -> Json:
        """The JSON body of an HTTP error, with the usual message or another."""
        return self._responses("error_body")(kind, status, message or kind.message)

    def error_event(self, kind: ErrorKind, number: int = 0) -> bytes:
        """The bytes of an error inside a stream; `number` is its place among the events."""
        found: bytes = self._responses("error_event")(kind, number)
        return found

    def load_stages(self) -> None:
        """Load the stages before a stream needs them."""
        import_module(f"{self.package}.stages")

    def _stages(self, name: str) -> Any:
        """The parts that change a stream: repairs, faults, shapes, and the function that writes further calls."""
        return getattr(import_module(f"{self.package}.stages"), name)

    def _responses(self, name: str) -> Any:
        """A function that writes responses; it has the name of the method above."""
        return getattr(import_module(f"{self.package}.responses"), name)
