from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from toolstream_core.dialects.asked import Asked, Form
from toolstream_core.fixtures import Fixture, load, read_flow
from toolstream_core.fixtures.read import chunks_of
from toolstream_core.proxy.provider import Provider, ProviderError

FLOWS = Path(__file__).resolve().parents[2] / "flows"
GLM = str(FLOWS / "glm-5.flow")
ASKED = Asked(dialect="openai-chat", model="gpt-4.1-mini", form=Form.EVENTS, tools=frozenset(), results=0, words="")


def saved(source: str, like: str = "openai-chat-single", **asked: Any) -> Fixture:
    """A fixture that differs from a saved one in what was asked."""
    fixture = load(FLOWS / f"{like}.flow")[0]
    return replace(fixture, source=source, asked=replace(fixture.asked, **asked))


def named(source: str, model: str) -> Fixture:
    """A fixture of this model."""
    fixture = saved(source, model=model)
    fixture.record.model = model
    return fixture


def chosen(wanted: Asked, *fixtures: Fixture) -> str | None:
    """The source of the one that fits best, which must not depend on the order."""
    one, other = Provider(fixtures).choose(wanted), Provider(fixtures[::-1]).choose(wanted)
    assert (one and one.source) == (other and other.source)
    return one.source if one else None


def flow_for(body: Any, path: str = "/v1/chat/completions", method: str = "POST") -> http.HTTPFlow:
    """A request on its way."""
    flow = tflow.tflow()
    flow.request = http.Request.make(
        method, f"https://llm.example.com{path}", json.dumps(body) if body is not None else b""
    )
    return flow


def answered(provider: Provider, flow: http.HTTPFlow) -> http.Response:
    """The response that the provider has set."""
    assert provider.answer(flow)
    assert flow.response
    return flow.response


@pytest.mark.parametrize(
    ("nearer", "farther"),
    [
        ("gpt-4.1-mini", "openai/gpt-4.1-mini"),
        ("gpt-4.1-mini-2025-04-14", "gpt-5"),
        ("openai/gpt-4.1-mini", "gpt-5"),
        ("gpt-5", "claude-sonnet-4-6"),
        ("GPT-4.1-mini-latest", "gpt-4.1"),
    ],
)
def test_the_model_that_is_nearer(nearer: str, farther: str) -> None:
    """The same; the same but for vendor, date and tag; the same family; any."""
    assert chosen(ASKED, named("far", farther), named("near", nearer)) == "near"
    assert chosen(ASKED, named("far", farther)) == "far"


@pytest.mark.parametrize(
    ("results", "there", "best"),
    [
        (0, (0, 1, 2), 0),
        (1, (0, 1, 2), 1),
        (3, (0, 1, 2), 2),
        (1, (0, 2), 0),
        (0, (2, 3), 2),
    ],
)
def test_the_turn_that_is_nearer(results: int, there: tuple[int, ...], best: int) -> None:
    """The same, else the nearest lower, else the nearest higher."""
    fixtures = [saved(str(turn), results=turn) for turn in there]
    assert chosen(replace(ASKED, results=results), *fixtures) == str(best)


def test_calls_that_the_request_offers() -> None:
    """Then text, then calls of tools that it does not offer."""
    weather, text = saved("weather"), saved("text", like="openrouter-no-deltas", model="gpt-4.1-mini")
    playlists = saved("playlists", like="openai-chat-no-arguments")
    offering = replace(ASKED, tools=frozenset({"get_weather", "other"}))
    assert chosen(offering, playlists, text, weather) == "weather"
    assert chosen(offering, playlists, text) == "text"
    assert chosen(offering, playlists) == "playlists"


def test_the_users_last_words_decide_between_equals() -> None:
    """So a recorded conversation is played back in its own words."""
    fixtures = [saved("a", words="red?"), saved("b", words="blue?")]
    assert chosen(replace(ASKED, words="blue?"), *fixtures) == "b"
    first = Provider(fixtures).choose(replace(ASKED, words="green?"))
    assert first is fixtures[0]


def test_who_asks_for_a_stream_is_not_given_a_whole_answer() -> None:
    """The other way round works: it is put together."""
    streamed, whole, _ = load(FLOWS / "openrouter-no-deltas.flow")
    assert Provider([whole]).choose(ASKED) is None
    assert Provider([whole, streamed]).choose(ASKED) is streamed
    assert Provider([streamed]).choose(replace(ASKED, form=Form.WHOLE)) is streamed
    assert Provider([streamed, whole]).choose(replace(whole.asked)) is whole


def test_an_http_error_comes_behind_all_other_answers() -> None:
    """It can be given in any form."""
    whole = load(FLOWS / "openrouter-no-deltas.flow")[1]
    failed = replace(whole, status=429)
    assert Provider([failed]).choose(ASKED) is failed
    assert Provider([failed, saved("far", model="claude")]).choose(ASKED) is not failed
    flow = flow_for({"model": "m", "messages": [], "stream": True})
    assert answered(Provider([failed]), flow).status_code == 429


def test_another_protocol_never_fits() -> None:
    """Whatever else does."""
    assert Provider(load(FLOWS / "anthropic-single.flow")).choose(ASKED) is None


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.flow")), ids=lambda path: path.stem)
def test_a_recorded_request_gets_its_own_answer_out_of_all(path: Path) -> None:
    """Byte for byte, with the recorded status and headers, told like a recorded flow."""
    provider = Provider.load([str(FLOWS)])
    for fixture in load(path):
        flow = flow_for(fixture.request, fixture.path)
        response = answered(provider, flow)
        assert response.content == fixture.body
        assert response.status_code == fixture.status
        assert response.headers["content-length"] == str(len(fixture.body))
        assert "transfer-encoding" not in response.headers
        kept = [pair for pair in fixture.headers if pair[0] not in {b"transfer-encoding", b"content-length"}]
        assert [pair for pair in response.headers.fields if pair[0] != b"content-length"] == kept
        assert chunks_of(flow) == list(fixture.chunks)
        assert Path(flow.comment.removeprefix("answered from ")).name == Path(fixture.source).name
        again = read_flow(flow, "x#0")
        assert again
        assert again.payloads == fixture.payloads


def test_without_stream_the_whole_answer_comes() -> None:
    """As JSON."""
    fixture = load(Path(GLM))[0]
    response = answered(Provider.load([GLM]), flow_for({**fixture.request, "stream": False}))
    assert response.headers["content-type"] == "application/json"
    [call] = json.loads(response.content or b"")["choices"][0]["message"]["tool_calls"]
    assert (call["id"], call["function"]["name"]) == ("call_95df1cc8dabc4b959bbbc431", "web_search")


@pytest.mark.parametrize(
    ("file", "query", "kind"),
    [("gemini-single", "", "application/json"), ("gemini-json-array", "?alt=sse", "text/event-stream")],
)
def test_gemini_gets_the_stream_it_asks_for(file: str, query: str, kind: str) -> None:
    """An array without `alt=sse`, events with it, whichever was saved, and the same things said."""
    path = FLOWS / f"{file}.flow"
    fixture = load(path)[0]
    flow = flow_for(fixture.request, fixture.path.partition("?")[0] + query)
    response = answered(Provider.load([str(path)]), flow)
    assert response.headers["content-type"] == kind
    again = read_flow(flow, "x#0")
    assert again
    assert again.payloads == fixture.payloads
    assert [chunk.after for chunk in again.chunks][: len(fixture.payloads)] == [
        chunk.after for chunk in fixture.chunks[: len(fixture.payloads)]
    ]
    if not query:
        assert json.loads(response.content or b"") == list(fixture.payloads)


@pytest.mark.parametrize(
    "flow",
    [
        flow_for({"hello": "world"}, "/"),
        flow_for({"model": "m", "input": "embed me"}, "/v1/embeddings"),
        flow_for(None, "/v1/chat/completions", "GET"),
        flow_for(None, "/", "GET"),
        flow_for(None),
    ],
)
def test_other_requests_are_left_alone(flow: http.HTTPFlow) -> None:
    """They go where they were going."""
    assert not Provider.load([GLM]).answer(flow)
    assert flow.response is None
    assert flow.comment == ""


def test_a_coded_request_is_read() -> None:
    """Codex compresses what it sends."""
    flow = flow_for(load(Path(GLM))[0].request)
    flow.request.encode("zstd")
    assert answered(Provider.load([GLM]), flow).status_code == 200


def test_a_request_that_nothing_fits_is_told_what_there_is() -> None:
    """A 404 with the protocol asked for and those that are saved."""
    flow = flow_for({"model": "m", "max_tokens": 1, "messages": []}, "/v1/messages")
    response = answered(Provider.load([GLM]), flow)
    assert response.status_code == 404
    message = json.loads(response.content or b"")["error"]["message"]
    assert "no saved anthropic answer" in message
    assert "openai-chat (z-ai/glm-5)" in message


def test_models_are_listed() -> None:
    """Clients ask for them before they ask for anything else."""
    response = answered(Provider.load([GLM]), flow_for(None, "/v1/models", "GET"))
    listed = [one["id"] for one in json.loads(response.content or b"")["data"]]
    assert listed == ["z-ai/glm-5", "z-ai/glm-5-20260211"]


def test_paths_are_read_in_their_order(tmp_path: Path) -> None:
    """Files and folders; a wrong one is named."""
    again = tmp_path / "again.flow"
    shutil.copy(GLM, again)
    for paths in ([GLM, str(tmp_path)], [str(tmp_path), GLM]):
        best = Provider.load(paths).choose(ASKED)
        assert best
        assert best.source == f"{again if paths[1] == GLM else GLM}#0"
    with pytest.raises(ProviderError, match=r"there is no .*nothing\.flow"):
        Provider.load([GLM, str(tmp_path / "nothing.flow")])


def test_a_path_may_begin_with_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mitmproxy's options are not expanded by a shell."""
    monkeypatch.setenv("HOME", str(FLOWS))
    assert Provider.load(["~/glm-5.flow"]).choose(ASKED)
