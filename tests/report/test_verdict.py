"""A verdict in one line and as one object."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from toolstream_core.model import ABSENT, Call, Kind
from toolstream_core.protocols.requests.conversation import CallFields, EchoedCall, ToolResult
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
    """Hides one word."""
    return text.replace("secret", "***")


def reported(verdict: Verdict, calls: Sequence[Call], **more: Any) -> ReportedVerdict:
    """A verdict on a response with these calls."""
    return ReportedVerdict(source="s", verdict=verdict, calls=calls, **more)


def painted(marked: Marked) -> str:
    """The only line, with its styles."""
    [line] = marked.lines("", "", lambda style, text: f"<{style} {text}>")
    return line


def test_an_object() -> None:
    """What the request had, as it had it; what it did not have is null."""
    fields = CallFields(None, ABSENT, {"p": ["secret", 1, None], "secret": True})
    sent = (EchoedCall("", "ls", "", fields),)
    verdict = Verdict(
        Outcome.RETURNED_WITHOUT_ARGUMENTS, (LOST,), sent, (ToolResult("", "", "", None), ToolResult("", "", ""))
    )
    said = reported(verdict, [CALL], request="r", hide=hide).object
    assert said["sent"] == [{"id": None, "name": None, "arguments": {"p": ["***", 1, None], "secret": True}}]
    assert said["results"] == [None, None]
    assert (said["call"], said["event"], said["explained"]) == (0, 3, [])
    why = Explained(["first-arguments"], 4, "takes the first arguments alone")
    said = reported(verdict, [CALL], request=None, explained=why).object
    assert (said["event"], said["explained"], said["request"]) == (4, ["first-arguments"], None)


def test_an_event_is_known_where_a_call_is() -> None:
    """A call that was never sent is in none."""
    phantom = Verdict(Outcome.PHANTOM_CALL, (Problem(Outcome.PHANTOM_CALL, None, "was never sent"),))
    assert reported(phantom, [CALL], request="r").object["event"] is None
    assert reported(Verdict(Outcome.OK), [], request="r").object["call"] is None


def test_lines() -> None:
    """The verdict, why, and by which request."""
    lost = Verdict(Outcome.RETURNED_WITHOUT_ARGUMENTS, (LOST,))
    why = Explained(text="the client starts a new call for every id, also an empty one")
    assert reported(Verdict(Outcome.OK), [CALL], request="r").text.text == "verdict ok (request r)"
    assert reported(lost, [CALL], request="r", explained=why).text.text == (
        "verdict returned-without-arguments: call 0 ls: returned without its arguments (request r), "
        "because the client starts a new call for every id, also an empty one"
    )
    again = Verdict(Outcome.RETRIED, (Problem(Outcome.RETRIED, 0, "the secret\n"),), count=3)
    marked = reported(again, [CALL], request="r", hide=hide).text
    assert painted(marked) == "<error verdict retried> 3 times: call 0 ls: the ***\\n (request r)"


@pytest.mark.parametrize("outcome", [Outcome.OK, Outcome.CALL_REJECTED])
def test_a_client_that_understood_is_good(outcome: Outcome) -> None:
    """In the colour of success: a call that must not run is rightly rejected."""
    problems = () if outcome is Outcome.OK else (Problem(outcome, 0, "rejected"),)
    assert painted(reported(Verdict(outcome, problems), [CALL], request=None).text).startswith(
        f"<ok verdict {outcome}>"
    )


def test_what_is_alike_is_said_once() -> None:
    """Of one call's pieces the first, with how many more there are; what concerns no call, each but once."""
    piece = Problem(Outcome.SPLIT_CALL, 0, "came back in pieces")
    more = [Problem(Outcome.PHANTOM_CALL, None, text) for text in ("a was never sent", "b was never sent")]
    split = Verdict(Outcome.SPLIT_CALL, (LOST, piece, piece, *more, piece, more[1]))
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
    """`run`, `serve` and `check` have flags; a reader of saved files runs the client; a test has its marker."""
    options = "--set toolstream_repair=safe --set toolstream_shape=for:aichat"
    assert syntax(options) == written
    assert advice_text(Explained(advice=(options,)), syntax) == f"→ {written}"


def test_the_fix_is_written_where_no_option_helps() -> None:
    """In the verdict, as it is no option. Where options were not tried, nothing is advised."""
    explained = Explained(text="the client drops it", fix="no option helps: fix the client: x")
    assert advice_text(explained) == ""
    assert reported(Verdict(Outcome.SILENT, (LOST,)), [CALL], request=None, explained=explained).text.text.endswith(
        "arguments, because the client drops it; no option helps: fix the client: x"
    )
    assert advice_text(Explained()) == ""
    assert as_command("--set toolstream_repair=missing-calls (unsafe)") == (
        "toolstream run --repair missing-calls -- CMD (unsafe)"
    )
