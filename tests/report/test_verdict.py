"""A verdict as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.model import ABSENT, Call, Kind
from toolstream_core.protocols.requests.conversation import CallFields, ReturnedCall, ToolResult
from toolstream_core.report.verdict import (
    Explained,
    ReportedVerdict,
    advice_text,
    as_command,
    as_flags,
    as_marker,
)
from toolstream_core.verdict import Outcome, Problem, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from toolstream_core.report.columns import Marked

CALL = Call(0, 0, Kind.FUNCTION, "c1", "ls", '{"p":"secret"}', complete=True)
CALL.events.extend(3, 2)
LOST = Problem(Outcome.RETURNED_WITHOUT_ARGUMENTS, 0, "returned without its arguments")


def hide(text: str) -> str:
    """The text with a word redacted."""
    return text.replace("secret", "***")


def reported(verdict: Verdict, calls: Sequence[Call], **more: Any) -> ReportedVerdict:
    """A verdict on a response with these calls."""
    return ReportedVerdict(source="s", verdict=verdict, calls=calls, **more)


def painted(marked: Marked) -> str:
    """The only line, with the names of its styles."""
    [line] = marked.lines("", "", lambda style, text: f"<{style} {text}>")
    return line


def test_an_object() -> None:
    """The fields of returned calls keep their types, and missing ones are null."""
    fields = CallFields(None, ABSENT, {"p": ["secret", 1, None], "secret": True})
    sent = (ReturnedCall("", "ls", "", fields),)
    verdict = Verdict(
        Outcome.RETURNED_WITHOUT_ARGUMENTS, (LOST,), sent, (ToolResult("", "", "", None), ToolResult("", "", ""))
    )
    written = reported(verdict, [CALL], request="r", hide=hide).object
    assert written["sent"] == [{"id": None, "name": None, "arguments": {"p": ["***", 1, None], "secret": True}}]
    assert written["results"] == [None, None]
    assert (written["call"], written["event"], written["explained"]) == (0, 3, [])
    explained = Explained(["first-arguments"], 4, "takes the first arguments alone")
    written = reported(verdict, [CALL], request=None, explained=explained).object
    assert (written["event"], written["explained"], written["request"]) == (4, ["first-arguments"], None)


def test_a_verdict_without_a_call_has_no_event() -> None:
    """A call that was never sent has no event."""
    phantom = Verdict(Outcome.PHANTOM_CALL, (Problem(Outcome.PHANTOM_CALL, None, "was never sent"),))
    assert reported(phantom, [CALL], request="r").object["event"] is None
    assert reported(Verdict(Outcome.OK), [], request="r").object["call"] is None


def test_lines() -> None:
    """The line has the verdict, the explanation, and the request."""
    lost = Verdict(Outcome.RETURNED_WITHOUT_ARGUMENTS, (LOST,))
    explained = Explained(text="the client starts a new call for every id, also an empty one")
    assert reported(Verdict(Outcome.OK), [CALL], request="r").text.text == "verdict ok (request r)"
    assert reported(lost, [CALL], request="r", explained=explained).text.text == (
        "verdict returned-without-arguments: call 0 ls: returned without its arguments (request r), "
        "because the client starts a new call for every id, also an empty one"
    )
    again = Verdict(Outcome.RETRIED, (Problem(Outcome.RETRIED, 0, "the secret\n"),), count=3)
    marked = reported(again, [CALL], request="r", hide=hide).text
    assert painted(marked) == "<error verdict retried> 3 times: call 0 ls: the ***\\n (request r)"


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.CALL_REJECTED])
def test_an_understood_response_has_the_style_of_success(outcome: Outcome) -> None:
    """A rejected call that must not run is understood."""
    problems = () if outcome is Outcome.OK else (Problem(outcome, 0, "rejected"),)
    assert painted(reported(Verdict(outcome, problems), [CALL], request=None).text).startswith(
        f"<ok verdict {outcome}>"
    )


def test_repeated_problems_are_counted() -> None:
    """The first problem of a call is shown, and the number of problems like it."""
    problem = Problem(Outcome.SPLIT_CALL, 0, "came back in pieces")
    more = [Problem(Outcome.PHANTOM_CALL, None, text) for text in ("a was never sent", "b was never sent")]
    split = Verdict(Outcome.SPLIT_CALL, (LOST, problem, problem, *more, problem, more[1]))
    assert reported(split, [CALL], request=None).text.text == (
        "verdict split-call: call 0 ls: returned without its arguments; call 0 ls: came back in pieces "
        "(2 more like this); a was never sent; b was never sent (1 more like this)"
    )


@pytest.mark.parametrize(
    ("syntax", "written"),
    [
        (as_flags, "--repair safe --shape for:aichat"),
        (as_command, "toolstream run --repair safe --shape for:aichat -- CMD"),
        (as_marker, 'repair="safe", shape="for:aichat"'),
    ],
)
def test_advice_is_written_for_the_command_in_use(syntax: Callable[[str], str], written: str) -> None:
    """Commands have flags, saved responses need `toolstream run`, and tests have a marker."""
    options = "--set toolstream_repair=safe --set toolstream_shape=for:aichat"
    assert syntax(options) == written
    assert advice_text(Explained(advice=(options,)), syntax) == f"→ {written}"


def test_the_fix_is_written_if_no_option_helps() -> None:
    """It is part of the verdict, and no advice."""
    explained = Explained(text="the client drops it", fix="no option helps: fix the client: x")
    assert advice_text(explained) == ""
    assert reported(Verdict(Outcome.SILENT, (LOST,)), [CALL], request=None, explained=explained).text.text.endswith(
        "arguments, because the client drops it; no option helps: fix the client: x"
    )
    assert advice_text(Explained()) == ""
    assert as_command("--set toolstream_repair=missing-calls (unsafe)") == (
        "toolstream run --repair missing-calls -- CMD (unsafe)"
    )
