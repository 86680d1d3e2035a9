"""How a client interpreted a response, judged by its next request."""

from toolstream_core.verdict.conversations import History, added, history_of
from toolstream_core.verdict.judge import judge, to_run, without_request
from toolstream_core.verdict.outcome import IntendedCall, Outcome, Problem, Verdict

__all__ = [
    "History",
    "IntendedCall",
    "Outcome",
    "Problem",
    "Verdict",
    "added",
    "history_of",
    "judge",
    "to_run",
    "without_request",
]
