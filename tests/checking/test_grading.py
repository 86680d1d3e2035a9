"""The grade of a client, for every verdict and every end of a run."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from toolstream_core.checking.cases import Case, Kind, healthy
from toolstream_core.checking.client import Run
from toolstream_core.checking.grading import REASONS, Result, graded, rank
from toolstream_core.testing.exchanges import ProxiedExchange, proxied_exchange
from toolstream_core.verdict import Outcome
from toolstream_core.verdict.judge import KnownResult
from toolstream_core.verdict.outcome import Grade, Reason

CALL = {
    "choice": 0, "position": 0, "kind": "function", "id": "c1", "name": "ls", "arguments": "{}", "complete": True,
    "events": [1],
}  # fmt: skip
INCOMPLETE = {**CALL, "arguments": '{"p"', "complete": False}
INJECTED = [{"spec": "x", "drawn": 1, "changes": 2}]
PLAIN = Case(protocol="openai-chat", kind=Kind.FAULT, name="empty-id", title="t", spec="empty-id")
LOSSY = Case(protocol="openai-chat", kind=Kind.FAULT, name="cut-off-call", title="t", spec="cut-off-call", lossy=True)
REFUSING = Case(protocol="openai-chat", kind=Kind.FAULT, name="x", title="t", spec="x", may_refuse=True)
VALID = replace(LOSSY, name="unknown-tool", spec="unknown-tool", must_continue=True)
INFORMATIONAL = Case(
    protocol="openai-chat", kind=Kind.TRANSIT, name="x", title="t", spec="x", lossy=True, informational=True
)


def verdict(outcome: str, problem: str | None = None, request: int | None = 1) -> dict[str, Any]:
    """The verdict on a response, as the proxy sends it."""
    problems = [] if problem is None else [{"verdict": problem, "call": 0, "message": "m"}]
    return {
        "verdict": outcome, "understood": not problems, "call": None, "event": None, "explained": [], "advice": [],
        "problems": problems, "sent": [], "results": [], "count": 0, "request": request, "explanation": "", "fix": "",
    }  # fmt: skip


def exchange(number: int, judged: dict[str, Any] | None = None, **more: Any) -> ProxiedExchange:
    """A request and its response. `messages` and `call` are their content."""
    body: dict[str, Any] = {"model": "m", "messages": more.pop("messages", [{"role": "user", "content": "x"}])}
    if tools := more.pop("tools", ()):
        body["tools"] = [{"type": "function", "function": {"name": name}} for name in tools]
    call = more.pop("call", CALL if judged is not None else None)
    findings = more.pop("findings", [])
    record = {
        "calls": [call] if call else [],
        "findings": findings,
        "faults": more.pop("faults", INJECTED if number == 0 else []),
    }
    request = {
        "number": number, "method": more.pop("method", "POST"), "url": "https://h.example/v1/chat/completions",
        "path": "/v1/chat/completions", "headers": [], "body": json.dumps(body),
    }  # fmt: skip
    return proxied_exchange(
        {"request": request, "over": True, "status": 200, "record": record, "verdict": judged, **more}
    )


def run_of(*exchanges: ProxiedExchange, exit_code: int | None = 0, **more: Any) -> Run:
    """A run with these exchanges."""
    return Run(exchanges=exchanges, exit_code=exit_code, timeout=60, **more)


WORKED = (exchange(0, verdict("ok")), exchange(1))
RETRIED = exchange(0, verdict("retried", "retried"))
GRADED_BY_RESULT = {
    Outcome.RAN_INCOMPLETE_CALL: (Grade.FAILED, Reason.RAN_INCOMPLETE),
    Outcome.RETURNED_INCOMPLETE_CALL: (Grade.UNKNOWN, Reason.INCOMPLETE),
    Outcome.CALL_REJECTED: (Grade.CALL_REJECTED, Reason.INCOMPLETE),
    Outcome.AS_TEXT: (Grade.UNKNOWN, Reason.INCOMPLETE),
    Outcome.DUPLICATE_CALL: (Grade.UNKNOWN, Reason.TWICE),
}


def test_every_outcome_has_a_reason() -> None:
    """The correct outcomes have none."""
    assert REASONS.keys() == set(Outcome)
    assert {reason for reason in REASONS.values() if reason} == set(Reason) - {Reason.CRASHED, Reason.TWICE}


@pytest.mark.parametrize(
    "outcome",
    [one for one in Outcome if one not in GRADED_BY_RESULT and REASONS[one] not in {None, *list(Reason)[-3:]}],
)
def test_a_wrong_call_fails(outcome: Outcome) -> None:
    """Also if no call had to run, except for a lost call, which is correct then."""
    wrong = (exchange(0, verdict(outcome, outcome)), exchange(1))
    assert graded(PLAIN, run_of(*wrong))[:2] == (Grade.FAILED, REASONS[outcome])
    expected = Grade.OK if outcome in (Outcome.LOST_CALL, Outcome.NOT_RETURNED) else Grade.FAILED
    assert graded(LOSSY, run_of(*wrong)).grade is expected


@pytest.mark.parametrize("outcome", GRADED_BY_RESULT)
def test_an_incomplete_call_fails_only_if_its_result_shows_that_it_ran(outcome: Outcome) -> None:
    """The verdict alone does not show it."""
    returned = (exchange(0, verdict(outcome, outcome), call=INCOMPLETE), exchange(1))
    assert graded(LOSSY, run_of(*returned))[:2] == GRADED_BY_RESULT[outcome]


HEALTHY = KnownResult("ls", '{"p":"x"}', "a.txt\nb.txt")


def result(text: str, identity: str = "c1") -> dict[str, Any]:
    """A message with the result of a call."""
    return {"role": "tool", "tool_call_id": identity, "content": text}


def echo(*ids: str) -> dict[str, Any]:
    """A message with returned calls."""
    function = {"name": "ls", "arguments": "{}"}
    return {"role": "assistant", "tool_calls": [{"id": identity, "function": function} for identity in ids]}


@pytest.mark.parametrize(
    ("text", "known", "grade", "reason"),
    [
        ("a.txt\nb.txt", [HEALTHY], Grade.FAILED, Reason.RAN_INCOMPLETE),
        ("failed to parse function arguments: EOF", [HEALTHY], Grade.CALL_REJECTED, Reason.INCOMPLETE),
        ("failed to parse function arguments: EOF", [], Grade.UNKNOWN, Reason.INCOMPLETE),
        ("failed to parse", [HEALTHY._replace(name="cat")], Grade.UNKNOWN, Reason.INCOMPLETE),
        ('{"error":"no"}', [], Grade.CALL_REJECTED, Reason.INCOMPLETE),
        ("Exit code: 2\nOutput:\n", [], Grade.CALL_REJECTED, Reason.INCOMPLETE),
        ("Exit code: 0\nOutput:\nx", [], Grade.FAILED, Reason.RAN_INCOMPLETE),
    ],
)
def test_the_result_of_an_incomplete_call_decides_its_grade(
    text: str, known: list[KnownResult], grade: Grade, reason: Reason
) -> None:
    """A rejection passes."""
    incomplete = exchange(0, verdict("returned-incomplete-call", "returned-incomplete-call"), call=INCOMPLETE)
    run = run_of(incomplete, exchange(1, messages=[echo("c1"), result(text)]))
    assert graded(LOSSY, run, known)[:2] == (grade, reason)


@pytest.mark.parametrize(
    ("first", "second", "known", "grade", "reason"),
    [
        ("a.txt\nb.txt", "a.txt\nb.txt", [HEALTHY], Grade.FAILED, Reason.RAN_TWICE),
        ("a.txt\nb.txt", "duplicate call", [HEALTHY], Grade.CALL_REJECTED, Reason.TWICE),
        ("a.txt\nb.txt", '{"error":"duplicate"}', [], Grade.CALL_REJECTED, Reason.TWICE),
        ("a.txt\nb.txt", "duplicate call", [], Grade.UNKNOWN, Reason.TWICE),
    ],
)
def test_a_call_with_two_ids_ran_twice_only_with_two_results(
    first: str, second: str, known: list[KnownResult], grade: Grade, reason: Reason
) -> None:
    """One result may be a rejection, and both may have the same id."""
    problem = {"verdict": "duplicate-call", "call": None, "message": "m"}
    judged = {**verdict("duplicate-call"), "problems": [problem], "understood": False}
    messages = [{"role": "user", "content": "x"}, echo("c1", "c2"), result(first), result(second, "c2")]
    assert graded(PLAIN, run_of(exchange(0, judged), exchange(1, messages=messages)), known)[:2] == (grade, reason)
    same_id = [{"role": "user", "content": "x"}, echo("c1", "c1"), result(first), result(second)]
    both = {**verdict("duplicate-call", "duplicate-call"), "problems": [problem, {**problem, "call": 0}]}
    assert graded(PLAIN, run_of(exchange(0, both), exchange(1, messages=same_id)), known)[:2] == (grade, reason)


def test_a_call_that_was_rejected_each_time_did_not_run_twice() -> None:
    """The failure is that the client split the call."""
    split, again = ({"verdict": name, "call": 0, "message": "m"} for name in ("split-call", "duplicate-call"))
    judged = {**verdict("split-call", "split-call"), "problems": [split, again]}
    messages = [{"role": "user", "content": "x"}, echo("c1", "c1"), *[result("Validation failed")] * 2]
    run = run_of(exchange(0, judged), exchange(1, messages=messages))
    assert graded(PLAIN, run, [HEALTHY])[:2] == (Grade.FAILED, Reason.SPLIT)


def test_another_call_that_ran_once_is_no_second_run() -> None:
    """The copy of the first call was rejected."""
    arguments = '{"p":"y"}'
    problem = {"verdict": "duplicate-call", "call": None, "message": "m"}
    judged = {**verdict("duplicate-call"), "problems": [problem], "understood": False}
    sent = exchange(0, judged)
    two = replace(sent, calls=(*sent.calls, replace(sent.calls[0], id="c3", arguments=arguments)))
    other = {"id": "c3", "function": {"name": "ls", "arguments": arguments}}
    back = [echo("c1", "c2"), {"role": "assistant", "tool_calls": [other]}]
    results = [result("a.txt"), result('{"error":"no"}', "c2"), result("b.txt", "c3")]
    run = run_of(two, exchange(1, messages=[{"role": "user", "content": "x"}, *back, *results]))
    assert graded(PLAIN, run, [HEALTHY._replace(text="a.txt"), HEALTHY._replace(text="b.txt")])[:2] == (
        Grade.CALL_REJECTED,
        Reason.TWICE,
    )


def test_a_rejected_complete_call_is_not_ok() -> None:
    """It was returned correctly, but its tool did not run."""
    run = run_of(exchange(0, verdict("ok")), exchange(1, messages=[echo("c1"), result("Exit code: 1")]))
    assert graded(PLAIN, run).grade is Grade.CALL_REJECTED
    assert graded(VALID, run).grade is Grade.OK
    twice = run_of(exchange(0, verdict("call-rejected", "call-rejected")), exchange(1))
    assert graded(PLAIN, twice) == (Grade.CALL_REJECTED, Reason.TWICE, "m")
    run = run_of(exchange(0, verdict("ok")), exchange(1, messages=[echo("c1"), result("SchemaError")]))
    assert (graded(PLAIN, run, [HEALTHY]).grade, graded(PLAIN, run).grade) == (Grade.CALL_REJECTED, Grade.OK)


def test_results_are_matched_by_the_id_that_the_client_received() -> None:
    """The provider sent the same id for two calls, and the repair gave the second a new one."""
    sent = exchange(0, verdict("ok"))
    other = replace(sent.calls[0], name="cat", arguments='{"p":"z"}')
    back = {"id": "new", "function": {"name": "cat", "arguments": '{"p": "z"}'}}
    messages = [echo("c1"), {"role": "assistant", "tool_calls": [back]}, result("a.txt\nb.txt"), result("meow", "new")]
    known = [HEALTHY, KnownResult("cat", '{"p":"z"}', "meow")]
    run = run_of(replace(sent, calls=(*sent.calls, other)), exchange(1, messages=messages))
    assert graded(PLAIN, run, known).grade is Grade.OK
    refused = [*messages[:3], result("no such file", "new")]
    run = run_of(replace(sent, calls=(*sent.calls, other)), exchange(1, messages=refused))
    assert graded(PLAIN, run, known).grade is Grade.CALL_REJECTED


@pytest.mark.parametrize(
    ("text", "grade"), [("unsupported call: functions.ls", Grade.CALL_REJECTED), ("a.txt\nb.txt", Grade.OK)]
)
@pytest.mark.parametrize("name", ["functions.ls", ""])
def test_a_tool_that_was_not_offered_is_compared_with_all_known_results(name: str, text: str, grade: Grade) -> None:
    """It has no known result of its own."""
    sent = exchange(0, verdict("ok"), call={**CALL, "name": name}, tools=("ls",))
    run = run_of(sent, exchange(1, messages=[echo("c1"), result(text)], tools=("ls",)))
    assert graded(PLAIN, run, [HEALTHY]).grade is grade


@pytest.mark.parametrize(
    ("sent", "message"), [(INJECTED, "returned the call as it was sent"), ([], "of a repeated request")]
)
def test_a_returned_call_is_not_reported_as_retried(sent: list[dict[str, Any]], message: str) -> None:
    """The exception is a call of a later, healthy response."""
    first = exchange(0, call=INCOMPLETE)
    run = run_of(first, exchange(1, verdict("ok"), faults=sent), exchange(2))
    assert message in str(graded(LOSSY, run).message)


@pytest.mark.parametrize(
    ("sent", "grade"),
    [({**CALL, "complete": True}, Grade.CALL_REJECTED), (INCOMPLETE, Grade.CALL_REJECTED), (None, Grade.FAILED)],
)
def test_a_call_of_an_earlier_response_is_not_a_phantom(sent: dict[str, Any] | None, grade: Grade) -> None:
    """A client may return it with a rejection after a retry."""
    problem = {"verdict": "phantom-call", "call": None, "message": "ls id='c1' was never sent"}
    judged = {**verdict("phantom-call", request=2), "problems": [problem], "understood": False}
    messages = [
        {"role": "user", "content": "x"},
        echo("c1", "c2"),
        result("Tool execution aborted"),
        result("a.txt\nb.txt", "c2"),
    ]
    first = exchange(0, verdict("retried", "retried") if sent else None, call=sent)
    run = run_of(first, exchange(1, judged, call={**CALL, "id": "c2"}, faults=[]), exchange(2, messages=messages))
    assert graded(LOSSY, run, [HEALTHY]).grade is grade


def test_the_reason_is_the_name_if_name_and_arguments_are_wrong() -> None:
    """A client may refuse a tool that it did not offer."""
    problems = [{"verdict": name, "call": 0, "message": name} for name in ("wrong-name", "wrong-arguments")]
    judged = {**verdict("wrong-name"), "problems": problems, "understood": False}
    for name, grade in (("ls", Grade.FAILED), ("functions.ls", Grade.CALL_REJECTED)):
        sent = exchange(0, judged, call={**CALL, "name": name}, tools=("ls",))
        run = run_of(sent, exchange(1, messages=[echo("c1"), result("Unavailable tool")], tools=("ls",)))
        assert graded(PLAIN, run, [HEALTHY])[:2] == (grade, Reason.WRONG_NAME)


@pytest.mark.parametrize(("times", "reason"), [(4, Reason.LOOPED), (1, Reason.GAVE_UP)])
def test_a_client_that_is_stopped_while_it_retries_has_looped(times: int, reason: Reason) -> None:
    """With few retries, it gave up."""
    run = run_of(
        *[exchange(number, verdict("retried", "retried")) for number in range(times)], exit_code=None, timed_out=True
    )
    assert graded(PLAIN, run)[:2] == (Grade.FAILED, reason)


@pytest.mark.parametrize("outcome", ["wrong-arguments", "returned-without-arguments", "wrong-name"])
@pytest.mark.parametrize(
    ("required", "text", "grade"),
    [
        (False, "Exit code: 1", Grade.CALL_REJECTED),
        (False, "SchemaError", Grade.CALL_REJECTED),
        (False, "a.txt\nb.txt", Grade.FAILED),
        (True, "Exit code: 1", Grade.FAILED),
    ],
)
def test_a_rejection_passes_if_the_case_is_optional(outcome: str, required: bool, text: str, grade: Grade) -> None:
    """The rejected call must be the one that was returned incorrectly."""
    case = replace(PLAIN, required=required)
    run = run_of(exchange(0, verdict(outcome, outcome)), exchange(1, messages=[echo("c1"), result(text)]))
    assert graded(case, run, [HEALTHY]).grade is grade
    assert graded(case, run_of(exchange(0, verdict(outcome, outcome)), exchange(1)), [HEALTHY]).grade is Grade.FAILED


def test_the_worst_reason_is_reported() -> None:
    """Of all problems of all responses, with explanation and fix."""
    first = verdict("wrong-id", "wrong-id")
    second = {
        **verdict("split-call", "split-call"),
        "explanation": "the client goes by id",
        "fix": "fix the client: go by index",
    }
    result = graded(PLAIN, run_of(exchange(0, first), exchange(1, second)))
    assert result == (
        Grade.FAILED,
        Reason.SPLIT,
        "call 0 ls: m, because the client goes by id; fix the client: go by index",
    )


@pytest.mark.parametrize(
    ("case", "run", "grade", "reason"),
    [
        (PLAIN, run_of(*WORKED), Grade.OK, None),
        (PLAIN, run_of(exchange(0, verdict("results-only")), exchange(1)), Grade.OK, None),
        (PLAIN, run_of(*WORKED, exit_code=1), Grade.FAILED, Reason.CRASHED),
        (PLAIN, run_of(*WORKED, exit_code=-11), Grade.FAILED, Reason.CRASHED),
        (PLAIN, run_of(*WORKED, exit_code=None, timed_out=True), Grade.FAILED, Reason.GAVE_UP),
        (PLAIN, run_of(RETRIED, *WORKED), Grade.NOT_STRICT, None),
        (PLAIN, run_of(*[RETRIED] * 4, *WORKED), Grade.FAILED, Reason.LOOPED),
        (PLAIN, run_of(*[RETRIED] * 4), Grade.FAILED, Reason.LOOPED),
        (PLAIN, run_of(exchange(0, verdict("silent", "silent", None))), Grade.FAILED, Reason.GAVE_UP),
        (PLAIN, run_of(exchange(0, verdict("silent", "silent", None)), exit_code=1), Grade.FAILED, Reason.CRASHED),
        (PLAIN, run_of(exchange(0, verdict("aborted", "aborted", None))), Grade.FAILED, Reason.GAVE_UP),
        (REFUSING, run_of(exchange(0, verdict("silent", "silent", None)), exit_code=1), Grade.NOT_STRICT, None),
        (REFUSING, run_of(exchange(0, verdict("silent", "silent", None))), Grade.FAILED, Reason.GAVE_UP),
        (LOSSY, run_of(exchange(0, verdict("silent", None, None))), Grade.OK, None),
        (LOSSY, run_of(exchange(0, verdict("silent", None, None)), exit_code=1), Grade.OK, None),
        (
            LOSSY,
            run_of(exchange(0, verdict("retried")), exchange(1, verdict("ok", None, 2)), exchange(2)),
            Grade.OK,
            None,
        ),
        (LOSSY, run_of(*[exchange(0, verdict("retried"))] * 4), Grade.FAILED, Reason.LOOPED),
        (
            LOSSY,
            run_of(exchange(0, verdict("silent", None, None)), exit_code=None, timed_out=True),
            Grade.FAILED,
            Reason.GAVE_UP,
        ),
        (LOSSY, run_of(exchange(0, verdict("silent", None, None)), exit_code=-6), Grade.FAILED, Reason.CRASHED),
        (LOSSY, run_of(exchange(0)), Grade.OK, None),
        (VALID, run_of(exchange(0, verdict("silent", None, None))), Grade.OK, None),
        (VALID, run_of(exchange(0, verdict("silent", None, None)), exit_code=1), Grade.FAILED, Reason.CRASHED),
        (
            INFORMATIONAL,
            run_of(exchange(0, verdict("wrong-arguments", "wrong-arguments"))),
            Grade.INFO,
            Reason.WRONG_ARGUMENTS,
        ),
        (INFORMATIONAL, run_of(exchange(0, verdict("retried"))), Grade.OK, None),
    ],
)
def test_the_grade_depends_on_the_end_of_the_run(case: Case, run: Run, grade: Grade, reason: Reason | None) -> None:
    """A correct client behaves differently if the call cannot run."""
    assert graded(case, run)[:2] == (grade, reason)


def test_an_incomplete_call_may_be_returned_after_a_retry() -> None:
    """It does not count if a later response had a complete call with the same id."""
    echo = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": "{}"}}]}
    late = exchange(2, messages=[echo, {"role": "tool", "tool_call_id": "c1", "content": "r"}])
    incomplete = exchange(0, verdict("retried"), call=INCOMPLETE)
    run = run_of(incomplete, exchange(1, verdict("ok", None, 2), call={**CALL, "id": "c2"}), late)
    assert graded(LOSSY, run, [KnownResult("ls", "{}", "r")])[:2] == (Grade.FAILED, Reason.RAN_INCOMPLETE)
    assert graded(LOSSY, run)[:2] == (Grade.UNKNOWN, Reason.INCOMPLETE)
    assert graded(LOSSY, run_of(incomplete, exchange(1, verdict("ok", None, 2)), late)).grade is Grade.OK


@pytest.mark.parametrize(
    ("case", "run", "message"),
    [
        (PLAIN, Run(failure="x cannot be run: no"), "cannot be run"),
        (PLAIN, run_of(), "sent no request to an LLM, and the command exited with code 0; if it ignores proxy"),
        (PLAIN, run_of(distrust={"a.example": True}), "rejected the proxy's certificate for a.example. Let it trust"),
        (PLAIN, run_of(exchange(0, method="GET")), "it requested https://h.example"),
        (PLAIN, run_of(exchange(0, verdict("ok"), faults=[])), "nothing was injected"),
        (healthy("openai-chat"), run_of(exchange(0)), "no request offered a tool"),
        (healthy("openai-chat"), run_of(exchange(0, tools=["ls", "cat"])), "available tools: ls, cat"),
    ],
)
def test_a_failure_of_the_harness_is_not_the_clients(case: Case, run: Run, message: str) -> None:
    """The message has the cause."""
    result = graded(case, run)
    assert (result.grade, result.reason) == (Grade.HARNESS_FAILURE, None)
    assert message in str(result.message)


def test_an_http_error_counts_as_injected_by_its_status() -> None:
    """Its response has no stream."""
    refused = exchange(0, faults=[], comment="answered by fault http-error", status=500)
    assert graded(LOSSY, run_of(refused, exit_code=1)).grade is Grade.OK


def test_the_healthy_case() -> None:
    """No fault has to be injected."""
    right = (exchange(0, verdict("ok"), faults=[]), exchange(1))
    assert graded(healthy("openai-chat"), run_of(*right)).grade is Grade.OK
    assert graded(healthy("openai-chat"), run_of(*right, exit_code=3))[:2] == (Grade.FAILED, Reason.CRASHED)


def test_the_finding_of_an_incomplete_call_is_reported() -> None:
    """It need not be that the call was truncated."""
    echo = {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "ls", "arguments": ""}}]}
    about = {"code": "TS1", "name": "n", "event": 1, "repair": None}
    findings = [
        {**about, "severity": "error", "call": 0, "message": "ls has required parameters and got no arguments"},
        {**about, "severity": "note", "call": 0, "message": "a note"},
        {**about, "severity": "error", "call": 1, "message": "another call's"},
    ]
    lost = exchange(0, verdict("returned-incomplete-call"), call={**INCOMPLETE, "arguments": ""}, findings=findings)
    result = graded(LOSSY, run_of(lost, exchange(1, messages=[echo])))
    expected = "ls has required parameters and got no arguments; the client returned it"
    assert result == (Grade.UNKNOWN, Reason.INCOMPLETE, expected)


def test_the_worst_result_is_first() -> None:
    """Failures are sorted by reason, and before harness failures."""
    results = [
        Result(Grade.OK),
        Result(Grade.FAILED, Reason.CRASHED),
        Result(Grade.HARNESS_FAILURE),
        Result(Grade.FAILED, Reason.INCOMPLETE),
        Result(Grade.NOT_STRICT),
    ]
    assert [one.reason or one.grade for one in sorted(results, key=rank)] == [
        Reason.INCOMPLETE,
        Reason.CRASHED,
        Grade.HARNESS_FAILURE,
        Grade.NOT_STRICT,
        Grade.OK,
    ]
