from __future__ import annotations

import gc

from toolstream_core.proxy.capture.worker import Batch


def test_reads_with_their_chunks() -> None:
    """Each read's chunks follow those of the one before."""
    batch = Batch()
    batch.add(1.0, b"abc", (1, 2))
    batch.add(1.5, b"d", [1])
    assert (batch.whens, batch.counts, batch.data, batch.sizes) == ([1.0, 1.5], [2, 1], [b"abc", b"d"], [1, 2, 1])


def test_a_read_leaves_nothing_that_the_collector_walks() -> None:
    """However many come: thousands wait while many answers stream."""
    batch = Batch()
    batch.add(0.0, b"abc", (3,))
    parts = (batch.whens, batch.counts, batch.data, batch.sizes)
    assert not any(gc.is_tracked(one) for part in parts for one in part)
