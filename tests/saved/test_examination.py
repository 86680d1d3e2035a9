from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from mitmproxy import http
from mitmproxy.flow import Error
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from tests.redaction.test_random_secrets import ALNUM, HEX, NAMED, SHAPED, random_text
from toolstream_core.redaction import Redaction
from toolstream_core.saved.examine import examine, fix
from toolstream_core.saved.redact import save

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = Redaction()


def flow_of(body: bytes, **headers: str) -> http.HTTPFlow:
    """An LLM's flow."""
    flow = tflow.tflow(resp=True)
    assert flow.response
    request = json.dumps({"model": "m", "messages": [], "stream": True})
    flow.request = http.Request.make("POST", "https://llm.example.com/v1/chat/completions", request)
    flow.request.headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    flow.response.headers = http.Headers(content_type="text/event-stream")
    flow.response.raw_content = body
    return flow


def write(path: Path, *flows: http.HTTPFlow) -> Path:
    """As mitmproxy saves them: nothing redacted."""
    with path.open("wb") as file:
        for flow in flows:
            FlowWriter(file).add(flow)
    path.chmod(0o600)
    return path


def event(text: str) -> bytes:
    """One delta."""
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


def injected(rng: random.Random) -> tuple[http.HTTPFlow, list[str]]:
    """A flow with secrets in every place that is no body, and what shows again elsewhere; and the secrets."""
    make = [*SHAPED.values(), *NAMED.values()]
    header, query, cookie, shown, split, comment = (rng.choice(make)(rng) for _ in range(6))
    cookie = random_text(rng, ALNUM, 20)
    query = random_text(rng, HEX, 32)
    comment = SHAPED["openai"](rng)
    split = SHAPED["anthropic"](rng)
    name = rng.choice(
        ["authorization", "x-api-key", "api-key", "x-goog-api-key", "proxy-authorization", "x-auth-token"]
    )
    flow = flow_of(event("hello") + b"".join(map(event, split)) + event(f"no such key: {header}, {cookie}"))
    assert flow.response
    flow.request.headers[name] = rng.choice(["", "Bearer "]) + header
    flow.request.headers["cookie"] = f"theme=dark; session={cookie}"
    flow.request.headers["referer"] = f"https://x.example/?access_token={query}"
    flow.request.path += f"?alt=sse&key={query}"
    flow.request.text = json.dumps(
        {"messages": [{"role": "user", "content": f"use api_key={shown}"}], "password": shown}
    )
    flow.response.headers["set-cookie"] = f"id={cookie}; Path=/; Secure"
    flow.response.trailers = http.Headers(x_session_token=header)
    flow.comment = f"was {comment}"
    flow.error = Error(f"refused {header} at /?key={query}")
    flow.metadata["toolstream"] = {
        "version": 1,
        "chunks": [],
        "sent": {"body": event(comment), "chunks": []},
        "record": {"calls": [{"arguments": json.dumps({"api_key": header, "url": f"/?key={query}"})}]},
    }
    return flow, [header, query, cookie, shown, split, comment]


@pytest.mark.parametrize("seed", range(4))
def test_no_planted_secret_is_in_any_byte_of_a_saved_flow(tmp_path: Path, seed: int) -> None:
    """Headers, cookies, query, bodies, errors, notes; and nothing is found again."""
    rng = random.Random(seed)
    path = tmp_path / "x.flow"
    for _ in range(25):
        flow, secrets = injected(rng)
        save([flow], path)
        written = path.read_bytes()
        assert [secret for secret in secrets if secret.encode() in written] == []
        assert [problem for problem in examine(path, PLAIN) if problem.kind == "secret"] == []


def test_each_secret_is_told_with_its_place_and_never_in_full(tmp_path: Path) -> None:
    """Four characters of it at most."""
    flow, secrets = injected(random.Random(7))
    problems = examine(write(tmp_path / "x.flow", flow), PLAIN)
    told = [problem.where for problem in problems]
    for place in ("path", "comment", "error", "request header cookie", "request body", "response header set-cookie"):
        assert any(where.startswith(place) for where in told), place
    assert any(where.startswith("response body, event ") for where in told)
    said = "\n".join(f"{problem.message} {problem.advice}" for problem in problems)
    assert not [secret for secret in secrets if secret[:8] in said]


def test_fix_writes_the_flow_again_without_them(tmp_path: Path) -> None:
    """For its owner alone."""
    path = write(tmp_path / "x.flow", flow_of(event("hello"), authorization="Bearer " + "a1" * 20))
    path.chmod(0o644)
    assert {problem.kind for problem in examine(path, PLAIN)} == {"secret", "readable-by-others"}
    assert fix(path, PLAIN)
    assert examine(path, PLAIN) == []
    assert path.stat().st_mode & 0o077 == 0


def test_a_flow_without_its_body_is_told(tmp_path: Path) -> None:
    """Mitmproxy streams answers past the disk."""
    flow = flow_of(b"")
    assert flow.response
    flow.response.raw_content = None
    [problem] = examine(write(tmp_path / "x.flow", flow), PLAIN)
    assert (problem.kind, problem.flow) == ("no-body", 0)


def test_what_mitmproxy_keeps_aside_is_told(tmp_path: Path) -> None:
    """The proxy's password among it."""
    flow = flow_of(event("hello"))
    flow.metadata["proxyauth"] = ("user", "password")
    [problem] = examine(write(tmp_path / "x.flow", flow), PLAIN)
    assert problem.where == "proxyauth"


def test_a_broken_flow_file_is_told(tmp_path: Path) -> None:
    """And what came before the break is looked through."""
    path = write(tmp_path / "x.flow", flow_of(event("hello"), x_api_key="b2" * 20))
    path.write_bytes(path.read_bytes() + b"12:garbage")
    assert [problem.kind for problem in examine(path, PLAIN)] == ["secret", "unreadable"] or {
        problem.kind for problem in examine(path, PLAIN)
    } == {"secret", "unreadable", "readable-by-others"}


def test_an_empty_flow_file_is_told(tmp_path: Path) -> None:
    """It was to hold something."""
    path = tmp_path / "x.flow"
    path.touch(mode=0o600)
    [problem] = examine(path, PLAIN)
    assert (problem.kind, problem.message) == ("unreadable", "is empty")


def test_a_stale_expectation_is_told(tmp_path: Path) -> None:
    """With the difference."""
    path = write(tmp_path / "x.flow", flow_of(event("hello") + b"data: [DONE]\n\n"))
    (tmp_path / "x.expect.json").write_text('{"version": 1, "answers": []}')
    assert [problem.kind for problem in examine(path, PLAIN)][:1] == ["stale-expectation"]


@pytest.mark.parametrize(
    "text",
    [
        "headers:\n  authorization:\n  - Bearer {}\n",
        '{{"request": {{"headers": [{{"name": "x-api-key", "value": "{}"}}]}}}}',
        '{{\n  "headers": [\n    {{\n      "name": "Authorization",\n      "value": "Bearer {}"\n    }}\n  ]\n}}',
        "OPENAI_API_KEY={}\n",
        "x-api-key:\n    - {}\n",
        'data: {{"error":{{"message":"Incorrect API key provided: {}"}}}}\n\n',
    ],
)
def test_secrets_in_text_files_are_told(tmp_path: Path, text: str) -> None:
    """Cassettes, HAR files, bare streams, environments; with their line."""
    path = tmp_path / "x.yaml"
    secret = random_text(random.Random(3), HEX, 32)
    path.write_text(text.format(secret))
    path.chmod(0o600)
    [problem] = examine(path, PLAIN)
    assert problem.kind == "secret"
    assert problem.where.startswith("line ")
    assert secret[:8] not in problem.message


def test_a_binary_file_is_left_alone(tmp_path: Path) -> None:
    """It is no fixture."""
    (tmp_path / "x.png").write_bytes(b"\x89PNG\0" + b"AKIA" + b"A1" * 8)
    assert examine(tmp_path / "x.png", PLAIN) == []


def test_what_was_redacted_behind_a_scheme_is_no_secret_of_the_request(tmp_path: Path) -> None:
    """Its `Bearer ***` is also how every other token begins that was redacted, and longer ones."""
    rng = random.Random(4)
    said = f'curl -H "Authorization: Bearer {random_text(rng, ALNUM, 50)}" https://x.example'
    flow = flow_of(json.dumps({"choices": [{"delta": {"content": said}}]}).encode(), authorization="Bearer " + "a1" * 8)
    path = tmp_path / "kept.flow"
    save([flow], path)
    assert [problem for problem in examine(path, PLAIN) if problem.kind == "secret"] == []
