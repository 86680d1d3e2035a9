from __future__ import annotations

import gc

from toolstream_core.proxy.capture.worker import Batch


def test_a_batch_lists_its_reads_and_their_chunk_sizes() -> None:
    """A batch keeps the time, data, chunk count and chunk sizes of each network read."""
    batch = Batch()
    batch.add(1.0, b"abc", (1, 2))
    batch.add(1.5, b"d", [1])
    assert (batch.whens, batch.counts, batch.data, batch.sizes) == ([1.0, 1.5], [2, 1], [b"abc", b"d"], [1, 2, 1])


def test_a_batch_holds_no_objects_that_the_garbage_collector_tracks() -> None:
    """Parallel responses keep thousands of reads waiting, so a read must add no object for the garbage collector."""
    batch = Batch()
    batch.add(0.0, b"abc", (3,))
    parts = (batch.whens, batch.counts, batch.data, batch.sizes)
    assert not any(gc.is_tracked(part_item) for part in parts for part_item in part)
