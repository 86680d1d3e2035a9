"""Items of requests after a response whose function calls were sent as custom tool calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mitmproxy.test import tflow

from toolstream_core.proxy.own_ids import restore, upstream, with_functions
from toolstream_core.stages.response_ids import Custom, Ids
from toolstream_core.wire import numbers

HERE = "https://a.example:443/v1/responses"
PATCH = '*** Begin\n+"é\ud83d\ude00"'.encode("utf-16", "surrogatepass").decode("utf-16")
ARGUMENTS = '{ "input" : "é" }'
CALL: dict[str, Any] = {
    "type": "custom_tool_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "apply_patch",
    "input": PATCH,
    "status": "completed",
}
OUTPUT: dict[str, Any] = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"}
FUNCTION = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "apply_patch",
    "arguments": ARGUMENTS,
    "status": "completed",
}
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "done"}


def ids_with_custom_call() -> Ids:
    """Return ids that know one function call that was sent as a custom tool call."""
    ids = Ids()
    ids.for_response(HERE).sent_as_custom(Custom("call_1", "apply_patch", PATCH, "resp_1"), ARGUMENTS)
    return ids


def restored(request: Any, place: str = HERE) -> Any:
    """Return a request as the provider receives it."""
    return json.loads(with_functions(json.dumps(request).encode(), ids_with_custom_call().functions, place))


@pytest.mark.parametrize(
    ("items", "changed"),
    [
        ([CALL, OUTPUT], [FUNCTION, RESULT]),
        (
            [{"type": "message", "content": "x"}, CALL, "x", OUTPUT],
            [{"type": "message", "content": "x"}, FUNCTION, "x", RESULT],
        ),
        ([{**CALL, "input": "another"}, OUTPUT], [{**CALL, "input": "another"}, OUTPUT]),
        ([{**CALL, "name": "another"}, OUTPUT], [{**CALL, "name": "another"}, OUTPUT]),
        ([CALL, {**CALL, "input": "another"}, OUTPUT], [FUNCTION, {**CALL, "input": "another"}, OUTPUT]),
        ([OUTPUT], [OUTPUT]),
        ([FUNCTION, RESULT], [FUNCTION, RESULT]),
    ],
    ids=[
        "both",
        "among others",
        "another text",
        "another tool",
        "two calls with one id",
        "only the result",
        "valid already",
    ],
)
def test_a_custom_tool_call_becomes_the_providers_function_call(items: list[Any], changed: list[Any]) -> None:
    """The result of the call changes with it."""
    assert restored({"input": items}) == {"input": changed}
    assert restored({"input": items}, "https://b.example:443/v1/responses") == {"input": items}


@pytest.mark.parametrize(("previous", "result"), [("resp_1", RESULT), ("resp_2", OUTPUT), (None, OUTPUT), (7, OUTPUT)])
def test_a_result_of_a_call_in_server_side_state(previous: object, result: object) -> None:
    """The result is matched by the response id that the request continues."""
    assert restored({"previous_response_id": previous, "input": [OUTPUT]})["input"] == [result]


def test_only_the_items_change() -> None:
    """Other items, the order of the keys, and the notation of numbers do not change."""
    call, output = json.dumps(CALL, ensure_ascii=False), json.dumps(OUTPUT)
    body = f'{{ "z":1e400,"input" :[ {call} ,{{"a":1e400}},[{output}],{output}\t] , "input_":[{call}],"é":"\\u00e9"}}'
    provider_body = with_functions(body.encode(), ids_with_custom_call().functions, HERE).decode()
    function, result = json.dumps(FUNCTION, ensure_ascii=False), json.dumps(RESULT)
    expected = body.replace(call, function, 1).replace(f",{output}\t", f",{result}\t")
    assert provider_body == numbers.dumps(numbers.loads(expected))


@pytest.mark.parametrize(
    "body",
    ["%s", "[%s]", '{"input":[%s]', '{"input":%s}', '{"input":[],"a":%s}', '{"input":{"a":%s}}', '\xff{"input":[%s]}'],
)
def test_other_json_is_not_changed(body: str) -> None:
    """Invalid JSON and JSON without a list of items are forwarded unchanged."""
    raw = (body % json.dumps(CALL)).encode("latin-1")
    assert with_functions(raw, ids_with_custom_call().functions, HERE) is raw


def test_items_and_ids_are_restored_together() -> None:
    """A custom tool call with a generated id gets the provider's type and id."""
    flow = tflow.tflow()
    ids = Ids()
    response = ids.for_response(upstream(flow, flow.request.host))
    generated = response.make("call_")
    response.map_to(generated, "x", "apply_patch")
    response.sent_as_custom(Custom(generated, "apply_patch", PATCH), ARGUMENTS)
    request = {"input": [{**CALL, "call_id": generated}, {**OUTPUT, "call_id": generated}]}
    flow.request.content = json.dumps(request).encode()
    restore(flow, ids)
    assert json.loads(flow.request.content or b"")["input"] == [
        {**FUNCTION, "call_id": "x"},
        {**RESULT, "call_id": "x"},
    ]
