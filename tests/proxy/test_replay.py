from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import FLOWS
from tests.proxy.flows import SECRET, llm_flow
from tests.test_schemas import LINE
from toolstream_core.proxy.flow_facts import REPLAY, report_match
from toolstream_core.proxy.provider import Provider
from toolstream_core.saved.read import load

GLM = load(FLOWS / "glm-5.flow")[0]


def reported(request: Any, *, strict: bool = False) -> tuple[str, dict[str, Any], str]:
    """Return the log line, the JSON Lines object and the flow's comment for a request."""
    flow = llm_flow()
    flow.response = None
    flow.request.content = json.dumps(request).encode()
    Provider([GLM], strict=strict).respond(flow)
    lines: list[str] = []
    objects: list[str] = []
    report_match(flow, line=lines.append, jsonl=objects.append)
    [line], [document] = lines, objects
    assert [error.message for error in LINE.iter_errors(json.loads(document))] == []
    assert SECRET not in line + document + flow.comment + repr(flow.metadata)
    return line, json.loads(document), flow.comment


def test_an_exact_match_is_reported() -> None:
    """The report names the flow that gave the response."""
    line, document, comment = reported(GLM.request)
    assert line == f"replay address z-ai/glm-5 {GLM.source} exact"
    assert (document["type"], document["answer"], document["source"]) == ("replay", "exact", GLM.source)
    assert comment == f"answered from {GLM.source}: exact"


def test_a_diverged_match_is_reported_with_the_first_difference() -> None:
    """A secret in the request is not shown."""
    line, document, comment = reported({**GLM.request, "model": f"x {SECRET}"})
    assert (document["answer"], document["at"], document["recorded"]) == ("diverged", "model", '"z-ai/glm-5"')
    assert " is that of the most similar one (differs at model: recorded" in line
    assert " is that of the most similar one (differs at model: recorded" in comment


def test_a_rejected_request_is_reported_with_the_nearest_flow() -> None:
    """The flow's comment names the nearest flow, too."""
    line, document, comment = reported({**GLM.request, "tools": []}, strict=True)
    assert (document["answer"], document["source"]) == ("refused", None)
    assert [near["source"] for near in document["near"]] == [GLM.source]
    assert f"refused: {GLM.source} differs at tools[0]: recorded" in line
    assert comment.startswith("refused: ")


def test_a_final_text_is_reported_with_the_flow_of_the_calls() -> None:
    """The report says that the request has the results of the flow's calls."""
    messages = [*GLM.request["messages"], *load(FLOWS / "glm-5.flow")[1].request["messages"][-2:]]
    line, document, comment = reported({**GLM.request, "messages": messages})
    assert (document["answer"], document["source"]) == ("finished", GLM.source)
    reason = "finished: the request has the results of its calls; the response is a final text"
    assert line == f"replay address z-ai/glm-5 {GLM.source} {reason}"
    assert comment == reason


@pytest.mark.parametrize("metadata", [{}, {"toolstream": {}}])
def test_other_flows_are_not_reported(metadata: dict[str, Any]) -> None:
    """A flow without a replayed response is not reported."""
    flow = llm_flow()
    flow.metadata = metadata
    report_match(flow, line=pytest.fail, jsonl=pytest.fail)
    assert REPLAY not in flow.metadata
