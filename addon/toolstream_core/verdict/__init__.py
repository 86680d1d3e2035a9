"""What a client made of an answer, judged by its next request."""

from toolstream_core.verdict.conversations import History, added, history_of
from toolstream_core.verdict.judge import judge, to_run, without_request
from toolstream_core.verdict.outcome import Meant, Outcome, Problem, Verdict

__all__ = [
    "History",
    "Meant",
    "Outcome",
    "Problem",
    "Verdict",
    "added",
    "history_of",
    "judge",
    "to_run",
    "without_request",
]
