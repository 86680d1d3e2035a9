"""What a client made of an answer, judged by its next request."""

from toolstream_core.verdict.judge import judge, to_run
from toolstream_core.verdict.outcome import Meant, Outcome, Problem, Verdict

__all__ = ["Meant", "Outcome", "Problem", "Verdict", "judge", "to_run"]
