from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.proxy.flows import SECRET, llm_flow
from toolstream_core.proxy.flow_facts import REPLAY, report_match
from toolstream_core.proxy.provider import Provider
from toolstream_core.saved.read import load

ROOT = Path(__file__).resolve().parents[2]
GLM = load(ROOT / "flows" / "glm-5.flow")[0]
LINE = jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "jsonl.schema.json").read_text()))


def told(request: Any, *, strict: bool = False) -> tuple[str, dict[str, Any], str]:
    """The line of the log, that of the file, and the flow's comment."""
    flow = llm_flow()
    flow.response = None
    flow.request.content = json.dumps(request).encode()
    assert Provider([GLM], strict=strict).respond(flow)
    lines: list[str] = []
    objects: list[str] = []
    report_match(flow, line=lines.append, jsonl=objects.append)
    [line], [document] = lines, objects
    assert [error.message for error in LINE.iter_errors(json.loads(document))] == []
    assert SECRET not in line + document + flow.comment + repr(flow.metadata)
    return line, json.loads(document), flow.comment


def test_an_exact_answer_is_told() -> None:
    """With the flow that gave it."""
    line, document, comment = told(GLM.request)
    assert line == f"replay address z-ai/glm-5 {GLM.source} exact"
    assert (document["type"], document["answer"], document["source"]) == ("replay", "exact", GLM.source)
    assert comment == f"answered from {GLM.source}: exact"


def test_an_answer_to_another_request_says_where_it_parts() -> None:
    """The secret that the request carries is not shown."""
    line, document, comment = told({**GLM.request, "model": f"x {SECRET}"})
    assert (document["answer"], document["at"], document["recorded"]) == ("diverged", "model", '"z-ai/glm-5"')
    assert " is that of the most similar one (differs at model: recorded" in line
    assert " is that of the most similar one (differs at model: recorded" in comment


def test_a_request_that_is_refused_says_what_is_near() -> None:
    """Also in the flow's comment."""
    line, document, comment = told({**GLM.request, "tools": []}, strict=True)
    assert (document["answer"], document["source"]) == ("refused", None)
    assert [near["source"] for near in document["near"]] == [GLM.source]
    assert f"refused: {GLM.source} differs at tools[0]: recorded" in line
    assert comment.startswith("refused: ")


def test_a_final_text_says_whose_calls_have_results() -> None:
    """The line names the flow whose calls they are."""
    messages = [*GLM.request["messages"], *load(ROOT / "flows" / "glm-5.flow")[1].request["messages"][-2:]]
    line, document, comment = told({**GLM.request, "messages": messages})
    assert (document["answer"], document["source"]) == ("finished", GLM.source)
    said = "finished: the request has the results of its calls; the response is a final text"
    assert line == f"replay address z-ai/glm-5 {GLM.source} {said}"
    assert comment == said


@pytest.mark.parametrize("metadata", [{}, {"toolstream": {}}])
def test_other_flows_are_not_told(metadata: dict[str, Any]) -> None:
    """Nobody replayed them."""
    flow = llm_flow()
    flow.metadata = metadata
    report_match(flow, line=pytest.fail, jsonl=pytest.fail)
    assert REPLAY not in flow.metadata
