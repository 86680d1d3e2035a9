"""Responses with the specified calls, of the tools that a request offers."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from toolstream_core.errors import ToolstreamError
from toolstream_core.model import ABSENT, Json
from toolstream_core.protocols.api import Api
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests import conversation, match_key, tools
from toolstream_core.protocols.requests.match_key import RequestKey
from toolstream_core.protocols.requests.tools import OfferedTool
from toolstream_core.protocols.writing import HealthyCall, HealthyResponse
from toolstream_core.synthetic.harmless import may_be_called
from toolstream_core.synthetic.schema import distinct_arguments
from toolstream_core.synthetic.strings import clear_places
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.frame import Form, parse
from toolstream_core.wire.write import encoded

PREFIX: Final = "calls:"
"""The beginning of a value of `toolstream_provider` that is not a path."""
_NAME: Final = re.compile(r"[^\s;{\[\"]+")
_EXAMPLE: Final = """get_weather {"city":"Oslo"}"""


class CallSpec(NamedTuple):
    """A call to make."""

    tool: str
    arguments: Json = ABSENT
    """An object, or the text for a tool of free text; `ABSENT` if they are generated from the schema."""


def parse_calls(texts: Iterable[str]) -> tuple[CallSpec, ...]:
    """Parse calls, with or without `calls:` before them; empty: a harmless offered tool is called.

    Raises `ToolstreamError`.
    """
    return tuple(spec for text in texts for spec in _calls(text.removeprefix(PREFIX)))


def spec_text(spec: CallSpec) -> str:
    """The call as `parse_calls` reads it."""
    if spec.arguments is ABSENT:
        return spec.tool
    return f"{spec.tool} {json.dumps(spec.arguments, ensure_ascii=False)}"


def _calls(text: str) -> Iterator[CallSpec]:
    rest = text.strip().strip(";").strip()
    while rest:
        name = _NAME.match(rest)
        if name is None:
            raise ToolstreamError(f"{rest!r} does not begin with a tool name. Expected {_EXAMPLE}")
        arguments, rest = _arguments(name[0], rest[name.end() :].lstrip())
        yield CallSpec(name[0], arguments)


def _arguments(tool: str, rest: str) -> tuple[Json, str]:
    """The arguments of the call, and the text after them."""
    if not rest or rest.startswith(";"):
        return ABSENT, rest.lstrip("; \t\n")
    try:
        value, end = json.JSONDecoder().raw_decode(rest)
    except ValueError as error:
        message = f"the arguments of {tool} are not valid JSON ({error}). Expected {_EXAMPLE}"
        raise ToolstreamError(message) from error
    unexpected = rest[end:].lstrip()
    if unexpected and not unexpected.startswith(";"):
        raise ToolstreamError(
            f"unexpected {unexpected!r} after the arguments of {tool}; separate calls with a semicolon"
        )
    if not isinstance(value, dict | str):
        raise ToolstreamError(f"the arguments of {tool} are {rest[:end]}. Expected an object, as in {_EXAMPLE}")
    return value, unexpected.lstrip("; \t\n")


MODEL: Final = "toolstream"
"""The name of the model if a request has none, and in lists of models."""
DONE: Final = "The tool results are here, and the task is done."
PLAIN: Final = "No tool fits this request, so this is a plain response."
_REMEMBERED: Final = 256
"""Maximum number of calls that are recognised in the text of later messages."""
_MARK: Final = 8
"""Letters of an id that are searched there."""


@dataclass(frozen=True, slots=True)
class Written:
    """A response in the requested form."""

    protocol: WireProtocol
    wanted: RequestKey
    events: tuple[bytes, ...]
    """The events of the stream, in the protocol's usual framing; none unless the request asks for a stream."""
    unstreamed: Json
    """The response without streaming; `ABSENT` if the request asks for a stream."""
    calls: tuple[HealthyCall, ...]
    not_offered: str = ""
    """The specified tools that the request does not offer, and the offered ones, for people."""
    withheld: tuple[str, ...] = ()
    """The offered tools, if none is called because each may have effects."""


class SyntheticProvider:
    """Responds to the requests of one run."""

    def __init__(self, specs: Sequence[CallSpec] = (), seed: int = 0) -> None:
        """`specs`: the calls to send; without any, a harmless offered tool is called, if there is one."""
        clear_places()
        self._specs = tuple(specs)
        self._seed = seed
        self._requested: Counter[str] = Counter()
        self._sent: deque[str] = deque(maxlen=_REMEMBERED)
        self._lock = threading.Lock()

    def respond(self, path: str, body: bytes) -> Written | None:
        """The response to a POST of `body` to `path` (with query); `None` if it is not a completion request.

        The same request has the same calls, each time under other ids.
        """
        request = parse(body)
        wanted = match_key.read(path, request)
        if wanted is None:
            return None
        reader = named(wanted.protocol).api
        token = self._token(wanted, body)
        calls = () if self._is_answered(reader, request) else self._calls(reader, request)
        text = "" if calls else DONE if tools.offered(request) else PLAIN
        response = HealthyResponse(model=wanted.model or MODEL, request=request, calls=calls, text=text, token=token)
        self._sent.extend(response.call_letters(place, _MARK) for place in range(len(calls)))
        written = _written(response, wanted, self._not_offered(request))
        return written if calls or self._specs else replace(written, withheld=withheld(reader, request))

    def _not_offered(self, request: Json) -> str:
        """As `Written` has it. A request without tools, such as one for a title, lacks none."""
        offered = dict.fromkeys(tool.name for tool in tools.offered(request))
        missing = dict.fromkeys(spec.tool for spec in self._specs if offered and spec.tool not in offered)
        return f"{', '.join(missing)} is not an offered tool; available tools: {', '.join(offered)}" if missing else ""

    def _token(self, wanted: RequestKey, body: bytes) -> str:
        key = f"{self._seed}|{wanted.protocol}|{hashlib.sha256(body).hexdigest()}"
        with self._lock:
            self._requested[key] += 1
            return f"{key}|{self._requested[key]}"

    def _is_answered(self, reader: Api, request: Json) -> bool:
        """Whether the calls were returned, with results or in the text."""
        if conversation.ends_with_results(request):
            return True
        text = "\n".join(reader.conversation(request).texts)
        return any(mark in text for mark in self._sent)

    def _calls(self, reader: Api, request: Json) -> tuple[HealthyCall, ...]:
        choice = reader.tool_choice(request)
        names = [spec.tool for spec in self._specs]
        harmless = may_be_called(tools.offered(request), choice, names)
        specs = self._specs or [CallSpec(tool.name) for tool in harmless[:1]]
        offered = {tool.name: tool for tool in harmless}
        wanted = [(offered[one.tool], one, at) for at, one in enumerate(specs) if one.tool in offered]
        used = [_value(spec.arguments) for _, spec, _ in wanted if spec.arguments is not ABSENT]
        calls = [self._make_call(tool, spec, place, used) for tool, spec, place in wanted]
        return tuple(calls[:1] if choice.single else calls)

    def _make_call(self, tool: OfferedTool, spec: CallSpec, place: int, used: list[Json]) -> HealthyCall:
        """A call with new arguments, which are added to `used`."""
        given = spec.arguments
        if given is ABSENT:
            given = self._text(tool, used) if tool.custom else self._arguments(tool, place, used)
            used.append(given)
        text = given if isinstance(given, str) else numbers.dumps(given)
        return HealthyCall(tool.name, text, custom=tool.custom, namespace=tool.namespace)

    def _arguments(self, tool: OfferedTool, place: int, used: Sequence[Json]) -> Json:
        """Arguments that differ from all others, if possible."""
        seed = f"{self._seed}|{tool.name}|{place}"
        made = distinct_arguments(tool, seed, used)
        return distinct_arguments(tool, seed, ()) if made is None else made

    def _text(self, tool: OfferedTool, used: Sequence[Json]) -> Json:
        """The same for a tool of free text."""
        schema = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}
        inputs = [{"input": text} for text in used]
        made = self._arguments(tool._replace(schema=schema, custom=False), 0, inputs)
        return json_access.get(made, "input")


def final_text(wanted: RequestKey, request: Json) -> Written:
    """The response after the last tool result."""
    token = hashlib.sha256(encoded(request)).hexdigest()
    return _written(HealthyResponse(model=wanted.model or MODEL, request=request, text=DONE, token=token), wanted)


def _written(response: HealthyResponse, wanted: RequestKey, missing: str = "") -> Written:
    """A response in the requested form; `missing` as in `Written.not_offered`."""
    protocol = named(wanted.protocol)
    if wanted.form is Form.WHOLE:
        return Written(protocol, wanted, (), protocol.healthy_unstreamed(response), response.calls, missing)
    return Written(protocol, wanted, tuple(protocol.healthy_stream(response)), ABSENT, response.calls, missing)


def withheld(reader: Api, request: Json) -> tuple[str, ...]:
    """The names of the tools that a request offers and allows, if none of them is harmless."""
    choice, offered = reader.tool_choice(request), tools.offered(request)
    allowed = [tool.name for tool in offered if choice.names is None or tool.name in choice.names]
    return () if may_be_called(offered, choice) else tuple(dict.fromkeys(allowed))


def _value(given: Json) -> Json:
    """The JSON value of argument text; other values unchanged."""
    parsed = parse(given.encode("utf-8", "surrogatepass")) if isinstance(given, str) else given
    return given if parsed is ABSENT else parsed
