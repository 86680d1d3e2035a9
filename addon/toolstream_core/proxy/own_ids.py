"""The provider's own ids and items, in requests whose client has others."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from mitmproxy import http

from toolstream_core.model import ABSENT, Json
from toolstream_core.protocols.requests.conversation import Mention, mentions, refers_to_kept_calls
from toolstream_core.stages.response_ids import DIGITS, Custom, Functions, Ids, ProviderId, ResponseIds
from toolstream_core.wire import json_access, long_json
from toolstream_core.wire.frame import parse
from toolstream_core.wire.write import encoded

_CALL, _OUTPUT = "custom_tool_call", "custom_tool_call_output"


def with_functions(body: bytes, functions: Functions, upstream: str) -> bytes:
    """Convert these calls and results in a request's JSON to those of functions; the same bytes if it has none."""
    if not len(functions) or _CALL.encode() not in body:
        return body
    try:
        request = long_json.of_any_length(body.decode())
    except (ValueError, RecursionError):
        return body
    items = json_access.get(request, "input")
    if not isinstance(items, list):
        return body
    previous = _text(json_access.get(request, "previous_response_id"))
    changed = [*_changed(items, functions, upstream, previous)]
    same = all(new is old for new, old in zip(changed, items, strict=True))
    return body if same else encoded({**request, "input": changed})


def _changed(items: Sequence[Json], seen: Functions, upstream: str, previous: str) -> Iterator[Json]:
    """The items as the provider gets them. A result is changed like its call."""
    functions: set[str] = set()
    others: set[str] = set()
    for item in items:
        call_id, kind = _text(json_access.get(item, "call_id")), json_access.get(item, "type")
        if kind == _CALL:
            custom = Custom(call_id, _text(item.get("name")), _text(item.get("input")))
            arguments = seen.arguments(custom, upstream)
            (others if arguments is None else functions).add(call_id)
            yield item if arguments is None else _function(item, arguments)
        elif (
            kind == _OUTPUT
            and call_id not in others
            and (call_id in functions or seen.kept(previous, call_id, upstream))
        ):
            yield {**item, "type": "function_call_output"}
        else:
            yield item


def _function(item: dict[str, Json], arguments: str) -> dict[str, Json]:
    """A custom tool's item as a function call."""
    fields = {("arguments" if key == "input" else key): value for key, value in item.items()}
    return {**fields, "type": "function_call", "arguments": arguments}


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


_GENERATED = re.compile(rb'"([a-z]{2,8}_[0-9a-f]{%d}_{0,80})"' % DIGITS)
"""A string that may be a generated id. Text that quotes an id has escapes before and after it."""


def restore(flow: http.HTTPFlow, ids: Ids) -> None:
    """Restore the provider's own ids and items in a request that returns calls of this upstream."""
    if not (len(ids) or len(ids.functions)):
        return
    try:
        before = flow.request.content
    except ValueError:
        return
    if before and (after := with_own_ids(before, ids, upstream(flow, flow.request.pretty_host))) != before:
        flow.request.content = after


def with_own_ids(content: bytes, ids: Ids, place: str) -> bytes:
    """A client's request with the ids and items of the provider at `place`; see `upstream`."""
    if not (len(ids) or len(ids.functions)):
        return content
    after = with_functions(content, ids.functions, place)
    return restored(after, lambda generated: ids.own(generated, place)) if len(ids) else after


def is_signed(request: http.Request) -> bool:
    """Whether AWS's signature covers the body and the headers of a request: it is refused if anything changes.

    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html
    """
    authorization: str = request.headers.get("authorization", "")
    return authorization.startswith("AWS4-")


def response_ids(flow: http.HTTPFlow, host: str, ids: Ids) -> ResponseIds:
    """The generator of ids for a flow's response: the same ids each time for a flow from a file."""
    return ids.for_response(upstream(flow, host)) if flow.live or flow.is_replay else ResponseIds(flow.id)


def upstream(flow: http.HTTPFlow, host: str) -> str:
    """The destination of a request: the listener that received it, the host and port, and the API's path."""
    request, mode = flow.request, flow.client_conn.proxy_mode.full_spec
    return f"{mode} {request.scheme}://{host}:{request.port}{request.path.partition('?')[0]}"


def restored(body: bytes, own: Callable[[str], ProviderId | None]) -> bytes:
    """A request's JSON with the provider's ids; the rest stays byte for byte."""
    generated = {match[1].decode() for match in _GENERATED.finditer(body)}
    owns = {name: one for name in generated if (one := own(name)) is not None}
    request = parse(body) if owns else ABSENT
    wanted = _wanted(list(mentions(request)), owns, kept=refers_to_kept_calls(request))
    if not wanted:
        return body
    return _GENERATED.sub(lambda match: json.dumps(wanted.get(name := match[1].decode(), name)).encode(), body)


def _wanted(found: Sequence[Mention], owns: Mapping[str, ProviderId], *, kept: bool) -> dict[str, str]:
    """The provider's id for each generated one that represents exactly one call of this conversation.

    The calls themselves may be `kept` by the server.
    """
    calls = Counter(one.id for one in found if one.call)
    names = {one.id: one.name for one in found if one.call}
    in_use = {one.id for one in found if one.call or kept}
    wanted: dict[str, str] = {}
    for generated in dict.fromkeys(one.id for one in found if one.id in owns):
        own = owns[generated]
        is_it = own.name in {"", names[generated]} if calls[generated] == 1 else kept and not calls[generated]
        if is_it and own.id not in in_use:
            wanted[generated] = own.id
            in_use.add(own.id)
    return wanted
