"""Items of requests that follow an answer whose function calls were said as those of custom tools."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mitmproxy.test import tflow

from toolstream_core.proxy.own_ids import restore, upstream, with_functions
from toolstream_core.stages.response_ids import Custom, Ids

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


def known() -> Ids:
    """A call of the custom tool that was said as a function's."""
    ids = Ids()
    ids.for_response(HERE).sent_as_custom(Custom("call_1", "apply_patch", PATCH, "resp_1"), ARGUMENTS)
    return ids


def after(request: Any, place: str = HERE) -> Any:
    """A request as the provider gets it."""
    return json.loads(with_functions(json.dumps(request).encode(), known().functions, place))


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
    ids=["both", "among others", "another text", "another tool", "two of an id", "the result alone", "valid already"],
)
def test_the_provider_gets_its_own_item(items: list[Any], changed: list[Any]) -> None:
    """And the result goes the way of its call."""
    assert after({"input": items}) == {"input": changed}
    assert after({"input": items}, "https://b.example:443/v1/responses") == {"input": items}


@pytest.mark.parametrize(("previous", "result"), [("resp_1", RESULT), ("resp_2", OUTPUT), (None, OUTPUT), (7, OUTPUT)])
def test_a_result_whose_call_the_server_keeps(previous: object, result: object) -> None:
    """It is known by the response that it answers."""
    assert after({"previous_response_id": previous, "input": [OUTPUT]})["input"] == [result]


def test_nothing_else_of_the_request_changes() -> None:
    """Spelling, order, spaces and numbers stay as they were."""
    call, output = json.dumps(CALL, ensure_ascii=False), json.dumps(OUTPUT)
    body = f'{{ "z":1e400,"input" :[ {call} ,\n{{"a":1e400}},[{output}],{output}\t] , "input_":[{call}],"é":"\\u00e9"}}'
    went = with_functions(body.encode(), known().functions, HERE).decode()
    function = json.dumps(FUNCTION, separators=(",", ":"), ensure_ascii=False)
    result = json.dumps(RESULT, separators=(",", ":"))
    assert went == body.replace(call, function, 1).replace(f",{output}\t", f",{result}\t")


@pytest.mark.parametrize(
    "body",
    ["%s", "[%s]", '{"input":[%s]', '{"input":%s}', '{"input":[],"a":%s}', '{"input":{"a":%s}}', '\xff{"input":[%s]}'],
)
def test_what_is_no_list_of_items_stays(body: str) -> None:
    """Broken or foreign JSON."""
    raw = (body % json.dumps(CALL)).encode("latin-1")
    assert with_functions(raw, known().functions, HERE) is raw


def test_items_and_ids_are_put_back_together() -> None:
    """A call whose id was made up, too."""
    flow = tflow.tflow()
    ids = Ids()
    response = ids.for_response(upstream(flow))
    made = response.make("call_")
    response.stands_for(made, "x", "apply_patch")
    response.sent_as_custom(Custom(made, "apply_patch", PATCH), ARGUMENTS)
    request = {"input": [{**CALL, "call_id": made}, {**OUTPUT, "call_id": made}]}
    flow.request.content = json.dumps(request).encode()
    restore(flow, ids)
    assert json.loads(flow.request.content or b"")["input"] == [
        {**FUNCTION, "call_id": "x"},
        {**RESULT, "call_id": "x"},
    ]
