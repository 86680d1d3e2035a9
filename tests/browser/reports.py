"""Reports of `toolstream check` for the browser tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.browser.sessions import SESSIONS
from toolstream_core.checking.client import Sessions
from toolstream_core.saved.flow import packed
from toolstream_core.saved.redact import redact

if TYPE_CHECKING:
    from collections.abc import Callable

HOSTILE = "</script><img src=x onerror=\"document.title='run'\"><!--&amp;\u2028\u202e${1}"
"""Text with markup, a script and a right-to-left override."""


def event(call: str) -> str:
    """An event of Chat Completions with one fragment."""
    return f'data: {{"choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}}}}]}}'


TURN: dict[str, Any] = {
    "number": 1,
    "status": 200,
    "broken": None,
    "events": [
        event('{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}'),
        event('{"index":0,"id":"","function":{"arguments":"{\\"city\\":"}}'),
        event('{"index":0,"id":"","function":{"arguments":"\\"Graz\\"}"}}'),
        'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}',
        "data: [DONE]",
    ],
    "calls": [
        {
            "choice": 0,
            "position": 0,
            "kind": "function",
            "id": "call_1",
            "name": "get_weather",
            "arguments": '{"city":"Graz"}',
            "complete": True,
            "events": [0, 1, 2],
        }
    ],
    "findings": [
        {
            "code": "TS102",
            "name": "empty-id",
            "severity": "warning",
            "event": 1,
            "call": 0,
            "message": 'id is "" after "call_1"',
            "repair": "safe",
        }
    ],
    "request": {
        "calls": [{"id": "call_1", "name": "get_weather", "arguments": "{}"}],
        "results": [{"id": "call_1", "name": "", "text": "no city"}],
    },
    "verdict": {
        "verdict": "returned-without-arguments",
        "understood": False,
        "call": 0,
        "event": 1,
        "explained": ["by-present-id"],
        "explanation": 'the client starts a new call for every id, also an empty one (first misreads event 1: id "")',
        "advice": ["--set toolstream_repair=empty-id"],
        "problems": [{"verdict": "returned-without-arguments", "call": 0, "message": "came back as {}"}],
    },
}


def case(name: str, grade: str = "ok", reason: str | None = None, **other: Any) -> dict[str, Any]:
    """A case."""
    kind = other.pop("kind", "fault")
    values = {
        "id": f"openai-chat/{kind}/{name}",
        "kind": kind,
        "name": name,
        "code": None,
        "spec": name,
        "title": f"The response has {name}.",
        "required": True,
        "needs": None if kind == "healthy" else "openai-chat/healthy",
        "grade": grade,
        "reason": reason,
        "message": None,
        "runs": 1,
        "exit_code": 0,
        "seconds": 1.25,
        "rerun": f"toolstream check --only openai-chat/{kind}/{name} -- python agent.py",
        "output": "",
        "turns": [],
    }
    return values | other


def client(*cases: dict[str, Any], name: str = "agent.py", **other: Any) -> dict[str, Any]:
    """A client with these cases."""
    values = {"name": name, "command": ["python", name], "protocol": "openai-chat", "repair": [], "cases": list(cases)}
    return values | other


def report(*clients: dict[str, Any]) -> dict[str, Any]:
    """A run of these clients."""
    return {
        "version": 2,
        "toolstream": "0.1.0",
        "mitmproxy": "12.2.0",
        "started": "2026-01-02T03:04:05Z",
        "seconds": 61.0,
        "seed": 0,
        "clients": list(clients),
    }


def usual() -> dict[str, Any]:
    """A report of one client with a case of each grade."""
    return report(
        client(
            case("healthy", kind="healthy"),
            case(
                "empty-id",
                "failed",
                "returned without arguments",
                code="TS102",
                message="call 0 came back as {}",
                advice="--repair empty-id",
                turns=[TURN],
            ),
            case("cut-off", "failed", "returned an incomplete call", code="TS301", exit_code=1),
            case("bare", "not-strict", kind="shape", message="right after one retry"),
            case("stall", "skipped", kind="transit", required=False),
            case("drip", "info", kind="transit", required=False),
            case("broken", "harness-failure", kind="preset", message="no request came"),
        )
    )


def large(clients: int, cases: int) -> dict[str, Any]:
    """A report of many clients with many cases, each of two turns."""
    grades = [("ok", None), ("failed", "lost a call"), ("not-strict", None), ("failed", "wrong id"), ("info", None)]
    return report(
        *(
            client(
                *(
                    case(f"row-{at}", *grades[(at * (column + 1)) % len(grades)], turns=[TURN, TURN], kind=kind)
                    for at in range(cases)
                    for kind in [("fault", "shape", "transit")[at % 3]]
                ),
                name=f"client-{column}",
            )
            for column in range(clients)
        )
    )


def several() -> dict[str, Any]:
    """A report of two clients, one of them with repair."""
    second = client(case("a", "failed", "crashed"), name="two", repair=["safe"])
    return report(client(case("a"), case("b", "failed", "wrong id"), name="one"), second)


def changed() -> tuple[dict[str, Any], dict[str, Any]]:
    """A run and an earlier run: one case is better, one worse, one new, one missing."""
    now = client(case("a"), case("b", "failed", "crashed"), case("c"))
    then = client(case("a", "failed", "lost a call", turns=[TURN]), case("b"), case("d"))
    return report(now), report(then, client(name="gone.py"))


def hostile() -> dict[str, Any]:
    """A report with markup and script in every text."""
    findings = [TURN["findings"][0] | {"message": HOSTILE, "event": 0}]
    calls = [{"id": HOSTILE, "name": HOSTILE, "arguments": HOSTILE}]
    request = {"calls": calls, "results": [{"id": HOSTILE}]}
    turn = TURN | {"events": [HOSTILE], "broken": HOSTILE, "findings": findings, "request": request}
    texts = {"title": HOSTILE, "message": HOSTILE, "output": HOSTILE, "rerun": HOSTILE, "advice": HOSTILE}
    named = case(HOSTILE, "failed", HOSTILE, **texts, turns=[turn])
    return report(client(named, name=HOSTILE, protocol=HOSTILE, repair=[HOSTILE], command=[HOSTILE]))


def recorded() -> tuple[dict[str, Any], None, list[dict[str, Any]]]:
    """A run of two clients with recorded sessions; the second session lacks the case."""
    failed = case("empty-id", "failed", "returned without arguments", turns=[TURN])
    sessions = Sessions()
    sessions.add(failed["id"], [packed([redact(flow)]) for flow in SESSIONS["loop"]()])
    return report(client(failed, name="one"), client(failed, name="two")), None, [sessions.object, Sessions().object]


REPORTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "check-usual": lambda: (usual(), None),
    "check-several": lambda: (several(), None),
    "check-now": lambda: (changed()[0], None),
    "check-changed": changed,
    "check-repaired": lambda: (
        report(client(case("a"), repair=["safe"])),
        report(client(case("a", "failed", "lost a call"))),
    ),
    "check-hostile": lambda: (hostile(), hostile()),
    "check-recorded": recorded,
    "check-large": lambda: (large(5, 150), None),
}
"""By page name: a run, an earlier run for comparison, and the sessions of its cases."""
