from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest
from mitmproxy import http
from mitmproxy.flow import Error
from mitmproxy.io import tnetstring
from mitmproxy.version import FLOW_FORMAT_VERSION

from tests.redaction.test_random_secrets import ALNUM, HEX, NAMED, SHAPED, random_text
from tests.saved.flows import chat_flow, save_private, text_event
from toolstream_core.redaction import Redaction
from toolstream_core.saved.examine import examine, fix
from toolstream_core.saved.redact import save

if TYPE_CHECKING:
    from pathlib import Path

REDACTION = Redaction()


def flow_with_secrets(rng: random.Random) -> tuple[http.HTTPFlow, list[str]]:
    """Return a flow with secrets in all places, and the secrets."""
    make = [*SHAPED.values(), *NAMED.values()]
    header, query, cookie, in_text, split, comment = (rng.choice(make)(rng) for _ in range(6))
    cookie = random_text(rng, ALNUM, 20)
    query = random_text(rng, HEX, 32)
    comment = SHAPED["openai"](rng)
    split = SHAPED["anthropic"](rng)
    name = rng.choice(
        ["authorization", "x-api-key", "api-key", "x-goog-api-key", "proxy-authorization", "x-auth-token"]
    )
    flow = chat_flow(
        text_event("hello") + b"".join(map(text_event, split)) + text_event(f"no such key: {header}, {cookie}")
    )
    assert flow.response
    flow.request.headers[name] = rng.choice(["", "Bearer "]) + header
    flow.request.headers["cookie"] = f"theme=dark; session={cookie}"
    flow.request.headers["referer"] = f"https://x.example/?access_token={query}"
    flow.request.path += f"?alt=sse&key={query}"
    flow.request.text = json.dumps(
        {"messages": [{"role": "user", "content": f"use api_key={in_text}"}], "password": in_text}
    )
    flow.response.headers["set-cookie"] = f"id={cookie}; Path=/; Secure"
    flow.response.trailers = http.Headers(x_session_token=header)
    flow.comment = f"was {comment}"
    flow.error = Error(f"refused {header} at /?key={query}")
    flow.metadata["toolstream"] = {
        "version": 1,
        "chunks": [],
        "sent": {"body": text_event(comment), "chunks": []},
        "record": {"calls": [{"arguments": json.dumps({"api_key": header, "url": f"/?key={query}"})}]},
    }
    return flow, [header, query, cookie, in_text, split, comment]


@pytest.mark.parametrize("seed", range(4))
def test_no_secret_is_in_a_saved_flow(tmp_path: Path, seed: int) -> None:
    """Headers, cookies, query, bodies, errors and metadata are redacted, and `examine` finds no secret."""
    rng = random.Random(seed)
    path = tmp_path / "x.flow"
    for _ in range(25):
        flow, secrets = flow_with_secrets(rng)
        save([flow], path)
        written = path.read_bytes()
        assert [secret for secret in secrets if secret.encode() in written] == []
        assert [problem for problem in examine(path, REDACTION) if problem.kind == "secret"] == []


def test_each_secret_is_reported_with_its_place(tmp_path: Path) -> None:
    """A report shows at most four characters of a secret."""
    flow, secrets = flow_with_secrets(random.Random(7))
    problems = examine(save_private(tmp_path / "x.flow", flow), REDACTION)
    places = [problem.where for problem in problems]
    for expected in ("path", "comment", "error", "request header cookie", "request body", "response header set-cookie"):
        assert any(where.startswith(expected) for where in places), expected
    assert any(where.startswith("response body, event ") for where in places)
    messages = "\n".join(f"{problem.message} {problem.advice}" for problem in problems)
    assert not [secret for secret in secrets if secret[:8] in messages]


def test_fix_removes_secrets_and_permissions(tmp_path: Path) -> None:
    """After the fix, only the owner may read the file."""
    path = save_private(
        tmp_path / "x.flow", chat_flow(text_event("hello"), headers={"authorization": "Bearer " + "a1" * 20})
    )
    path.chmod(0o644)
    assert {problem.kind for problem in examine(path, REDACTION)} == {"secret", "readable-by-others"}
    assert fix(path, REDACTION)
    assert examine(path, REDACTION) == []
    assert path.stat().st_mode & 0o077 == 0


def test_a_missing_body_is_reported(tmp_path: Path) -> None:
    """Mitmproxy does not store streamed bodies by default."""
    flow = chat_flow(b"")
    assert flow.response
    flow.response.raw_content = None
    [problem] = examine(save_private(tmp_path / "x.flow", flow), REDACTION)
    assert (problem.kind, problem.flow) == ("no-body", 0)


def test_credentials_of_the_proxy_are_reported(tmp_path: Path) -> None:
    """The metadata of a flow may contain the proxy's password."""
    flow = chat_flow(text_event("hello"))
    flow.metadata["proxyauth"] = ("user", "password")
    [problem] = examine(save_private(tmp_path / "x.flow", flow), REDACTION)
    assert problem.where == "proxyauth"


def test_own_metadata_is_searched(tmp_path: Path) -> None:
    """Verdicts and marks in a file that mitmproxy saved are no secrets; a value of the request may be one."""
    flow = chat_flow(text_event("hello"))
    flow.metadata |= {"toolstream_verdict": "ok", "toolstream_replay": {"asked": "hello"}}
    assert examine(save_private(tmp_path / "x.flow", flow), REDACTION) == []
    flow.metadata["toolstream_replay"] = {"asked": "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"}
    [problem] = examine(save_private(tmp_path / "x.flow", flow), REDACTION)
    assert (problem.kind, problem.where) == ("secret", "toolstream_replay")


def test_a_damaged_flow_file_is_reported(tmp_path: Path) -> None:
    """The flows before the damage are examined."""
    path = save_private(tmp_path / "x.flow", chat_flow(text_event("hello"), headers={"x-api-key": "b2" * 20}))
    path.write_bytes(path.read_bytes() + b"12:garbage")
    assert [problem.kind for problem in examine(path, REDACTION)] == ["secret", "unreadable"]


def test_a_flow_that_mitmproxy_cannot_read_is_reported(tmp_path: Path) -> None:
    """A flow without its parts makes mitmproxy raise `KeyError`."""
    path = tmp_path / "foreign.flow"
    path.write_bytes(tnetstring.dumps({"type": "http", "version": FLOW_FORMAT_VERSION}))
    assert [problem.kind for problem in examine(path, REDACTION)] == ["unreadable"]
    assert not fix(path, REDACTION)


def test_an_empty_flow_file_is_reported(tmp_path: Path) -> None:
    """An empty file is unreadable."""
    path = tmp_path / "x.flow"
    path.touch(mode=0o600)
    [problem] = examine(path, REDACTION)
    assert (problem.kind, problem.message) == ("unreadable", "is empty")


def test_a_stale_expectation_is_reported(tmp_path: Path) -> None:
    """An expectation that differs from its flow is reported."""
    path = save_private(tmp_path / "x.flow", chat_flow(text_event("hello") + b"data: [DONE]\n\n"))
    (tmp_path / "x.expect.json").write_text('{"version": 1, "answers": []}')
    assert [problem.kind for problem in examine(path, REDACTION)][:1] == ["stale-expectation"]


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
def test_secrets_in_text_files_are_reported(tmp_path: Path, text: str) -> None:
    """Cassettes, HAR files, bare streams and environment files are examined line by line."""
    path = tmp_path / "x.yaml"
    secret = random_text(random.Random(3), HEX, 32)
    path.write_text(text.format(secret))
    path.chmod(0o600)
    [problem] = examine(path, REDACTION)
    assert problem.kind == "secret"
    assert problem.where.startswith("line ")
    assert secret[:8] not in problem.message


def test_a_binary_file_is_not_examined(tmp_path: Path) -> None:
    """A binary file is no fixture."""
    (tmp_path / "x.png").write_bytes(b"\x89PNG\0" + b"AKIA" + b"A1" * 8)
    assert examine(tmp_path / "x.png", REDACTION) == []


def test_a_redacted_token_is_not_reported(tmp_path: Path) -> None:
    """`Bearer ***` in the request does not make other redacted tokens a secret."""
    rng = random.Random(4)
    text = f'curl -H "Authorization: Bearer {random_text(rng, ALNUM, 50)}" https://x.example'
    flow = chat_flow(
        json.dumps({"choices": [{"delta": {"content": text}}]}).encode(),
        headers={"authorization": "Bearer " + "a1" * 8},
    )
    path = tmp_path / "kept.flow"
    save([flow], path)
    assert [problem for problem in examine(path, REDACTION) if problem.kind == "secret"] == []
