"""Which call a step of an interaction belongs to: by its index, from its start to its stop."""

from toolstream_core.calls.started_calls import SequentialCalls


class InteractionsCalls(SequentialCalls):
    """A `step.start` opens a call, `step.stop` ends it; a stop has only an index."""
