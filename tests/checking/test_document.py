from __future__ import annotations

import json

import pytest

from tests.checking.reports import case
from toolstream_core.checking.client import Client, Run
from toolstream_core.checking.grading import Grade, Result
from toolstream_core.checking.report import case_object

SECRET = "aB3dE6fG9hI2jK5lM8"


@pytest.mark.parametrize(
    "printed",
    [
        f"PATH=/bin\nDB_PASSWORD={SECRET}\n",
        f"docker login -u me -p {SECRET}",
        json.dumps({"access_token": SECRET}),
        f"Traceback\n  sk-proj-{SECRET}{SECRET}\n",
    ],
)
def test_what_a_client_printed_is_told_without_secrets(printed: str) -> None:
    """Neither in its output nor in what is said of it."""
    run = Run(exit_code=1, output=printed)
    told = case_object(case("half"), Result(Grade.FAILED, None, printed), "again", runs=[run], run=run)
    assert SECRET not in json.dumps(told)
    assert (told["id"], told["exit_code"], len(told["output"])) == (case("half").id, 1, len(printed))


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["agent", "--api-key", "plain-words-4711", "go"], ["agent", "--api-key", "[redacted]", "go"]),
        (["agent", "--api-key=plain-words-4711", "go"], ["agent", "--api-key=[redacted]", "go"]),
        (["curl", "-H", "Authorization: Bearer plain-words-4711"], ["curl", "-H", "Authorization: Bearer [redacted]"]),
        (["agent", "--prompt", "say it's done", ""], ["agent", "--prompt", "say it's done", ""]),
    ],
)
def test_the_words_of_a_command_are_told_without_secrets(command: list[str], shown: list[str]) -> None:
    """Each word stays a word."""
    assert Client(name="a", command=tuple(command)).shown == shown
