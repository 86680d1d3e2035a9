"""What a protocol offers to everything else, as one object. Knows no protocol by name."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolstream_core.protocols.call_form import CallForm
from toolstream_core.protocols.requests.requests import Requests
from toolstream_core.wire.form import CONTENT_TYPES, Form

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Mapping, Sequence

    from toolstream_core.calls.resolver import Calls
    from toolstream_core.model import Call, EventContent, Json
    from toolstream_core.protocols.api import Api
    from toolstream_core.protocols.healthy_answer import HealthyAnswer
    from toolstream_core.protocols.provider_error import ErrorKind
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.promotion import Promotion
    from toolstream_core.stages.repair.repairer import Repairer
    from toolstream_core.stages.stage import Stage
    from toolstream_core.wire.frame import Frame

# A protocol is a folder. Its row names what reads a stream; all else lies in modules whose names are the same in
# every such folder, and is loaded when it is first asked for: most programs read and never rewrite.


@dataclass(frozen=True, slots=True, kw_only=True)
class WireProtocol:
    """A protocol: how to recognise it, how to read it, how its fragments become calls.

    Readers report what is there. They never judge and never raise on foreign bytes.
    """

    name: str
    """As options, reports and JSON say it (`dialect` there)."""
    package: str
    """The folder, as a dotted name."""
    paths: re.Pattern[str]
    """Request paths of this API, anywhere in the path: gateways put prefixes before them."""
    calls: type[Calls]
    """Decides which call a fragment belongs to."""
    recognise: Callable[[str, Json], bool]
    """Whether a frame of this SSE event name and JSON payload can only be this protocol's."""
    read: Callable[[Frame], EventContent]
    """What a frame of the stream says."""
    answer: Callable[[Json], EventContent]
    """What a whole, non-streamed answer says; every call in it is a fragment of phase `WHOLE`."""
    quiet: Callable[[bytes, int], bool]
    """A cheap test on the raw bytes of so many frames: surely no tool call, finish, error or end in any of them.

    It may say no too often, never yes too often: a quiet frame is counted, not parsed.
    """
    requests: Requests = field(default_factory=Requests)
    pointers: tuple[str, ...]
    """JSON pointers to what an event says of calls, text, finish and errors; `*` stands for any one key."""
    form: Form = Form.EVENTS
    """How a streamed answer is framed, where the request does not decide it."""
    call_form: CallForm = CallForm.ANNOUNCED
    """How its streams bring a call."""
    call_keys: tuple[str, ...] = ("index",)
    """The fields that say which call a fragment belongs to, the place last; none where each entry is a call."""
    id_key: str = "id"
    """The field with a call's id."""
    ends_with_finish: bool = False
    """Whether the event that says the finish reason is the last one."""
    id_prefix: str = "call_"
    """How the id of a call begins where one has to be made up."""
    over_http: bool = True
    """Whether it is asked by HTTP requests too, and not over a WebSocket alone."""
    repeats_ids: bool = False
    """Whether each event of a call has the call's id and name, so that no client takes one for a new call."""
    reads_comments: bool = True
    """Whether the official clients skip SSE comments, as the standard demands."""
    read_only: bool = False
    """Whether its answers pass as they came, whatever is switched on: they are read, and nothing else."""

    def claims(self, path: str) -> bool:
        """Whether `path` (with or without query) is one of this API's."""
        return self.paths.search(path.partition("?")[0]) is not None

    @property
    def content_type(self) -> str:
        """Of a streamed answer."""
        return CONTENT_TYPES[self.form]

    @property
    def repairs(self) -> tuple[type[Repairer], ...]:
        """The stages that judge and repair a stream, in order: `repair.REPAIRS`."""
        found: tuple[type[Repairer], ...] = self._room("repair").REPAIRS
        return found

    @property
    def at_end(self) -> type[Repairer]:
        """What keeps back the end of an answer of which a call is half, behind all other stages: `repair.AT_END`."""
        found: type[Repairer] = self._room("repair").AT_END
        return found

    @property
    def injectors(self) -> Mapping[str, InjectorMaker]:
        """What causes each defect, by the defect's name: `inject.INJECTORS`."""
        found: Mapping[str, InjectorMaker] = self._room("inject").INJECTORS
        return found

    @property
    def shapes(self) -> Mapping[str, type[Stage]]:
        """The lawful rewritings, by name: `shape.SHAPES`."""
        found: Mapping[str, type[Stage]] = self._room("shape").SHAPES
        return found

    @property
    def api(self) -> Api:
        """Where the API is, what it is asked, and how its clients are configured: `api.API`."""
        found: Api = self._room("api").API
        return found

    def promoted(self, promotion: Promotion) -> list[Frame]:
        """Events that make calls of what was text, and the event of the finish: `promote.promoted`."""
        found: list[Frame] = self._room("promote").promoted(promotion)
        return found

    def said(self, promotion: Promotion) -> list[Frame]:
        """Events that say calls, where calls are announced: `promote.said`."""
        found: list[Frame] = self._room("promote").said(promotion)
        return found

    def streamed(self, answer: Json, request: Json) -> list[bytes]:
        """The events of a whole answer; none where it is not an answer of this protocol: `whole_answer.streamed`."""
        return list(self._room("whole_answer").streamed(answer, request)) if isinstance(answer, dict) else []

    def assembled(self, payloads: Sequence[dict[str, Json]], calls: Sequence[Call]) -> Json:
        """The whole answer that a stream's payloads and resolved calls amount to: `whole_answer.assembled`."""
        return self._room("whole_answer").assembled(payloads, calls)

    def healthy_stream(self, answer: HealthyAnswer) -> list[bytes]:
        """The events of an answer as a healthy provider streams it: `healthy.streamed`."""
        return list(self._room("healthy").streamed(answer))

    def healthy_whole(self, answer: HealthyAnswer) -> Json:
        """The same answer to a request without a stream: `healthy.whole`."""
        return self._room("healthy").whole(answer)

    def error_body(self, kind: ErrorKind, status: int) -> Json:
        """The JSON body of an HTTP error: `errors.body`."""
        return self._room("errors").body(kind, status)

    def error_event(self, kind: ErrorKind, number: int = 0) -> bytes:
        """The bytes of an error in mid-stream; `number` is its place among the events: `errors.event`."""
        found: bytes = self._room("errors").event(kind, number)
        return found

    def not_saved(self, message: str) -> Json:
        """The body of a 404 that says that no saved answer fits, as the clients of this API show it."""
        return self._room("errors").not_saved(message)

    def _room(self, module: str) -> Any:
        return import_module(f"{self.package}.{module}")
