"""Mutate streams and check toolstream's invariants."""

from __future__ import annotations

import argparse
import math
import multiprocessing
import random
import sys
import time
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "addon"), str(ROOT)]

from tests.conftest import shared_dir  # noqa: E402 - the checkout's own modules are run
from tests.fuzz import cuts, hunt, injected, mutate  # noqa: E402
from tests.fuzz.case import Case, load  # noqa: E402
from tests.fuzz.corpus import seeds  # noqa: E402
from tests.fuzz.invariants import HARMS, INVARIANTS, ClientOutcome  # noqa: E402
from toolstream_core.model import ABSENT  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

SHOWN = 60
MANY = "many"
EPILOG = """\
Examples:
  scripts/fuzz --minutes 2                        everything, for two minutes
  scripts/fuzz --minutes 2 --protocol anthropic    streams of one protocol only
  scripts/fuzz --minutes 2 --invariant nothing-completed --invariant text-is-sent
  scripts/fuzz --replay out/openai-chat/INVARIANT-KIND-MARK.sse    check all invariants for one stream, with the result
  scripts/fuzz --seed 7 --cases 20000             the same streams every time
  scripts/fuzz --defects 1 --cases 200000         streams with exactly one injected defect each
  scripts/fuzz --cuts --minutes 5                 healthy streams with events of up to 1 MB, in chunks of many sizes
A failure is written as a body (.sse, .ndjson) and a .case file with the seed, the violated invariant, the reason, the
request and the options. A body without a .case file is replayed with safe repairs. To read a failure:
  toolstream repair FILE -o - --diff; toolstream inspect FILE
Invariants (tests/fuzz/invariants.py):
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Hunt or replay; return 1 if an invariant was violated."""
    options = _parser().parse_args(arguments)
    if options.cuts:
        return _cut(options)
    invariants = options.invariant or list(INVARIANTS)
    if options.replay:
        return max(_replay(load(Path(name)), invariants) for name in options.replay)
    out = options.out or ROOT / "fuzz-failures"
    start = time.monotonic()
    tally = _hunt(options, invariants, out)
    _report(tally, time.monotonic() - start, out)
    return 1 if tally.kinds else 0


def _cut(options: argparse.Namespace) -> int:
    """Feed healthy streams in chunks, and print the runs with differences."""
    chosen = [one for one in cuts.streams() if not options.protocol or one.protocol.name in options.protocol]
    random.Random(options.seed).shuffle(chosen)
    end = time.monotonic() + 60 * options.minutes
    done = failed = 0
    with multiprocessing.get_context("fork").Pool(options.workers) as pool:
        for found in pool.imap(cuts.failures, chosen):
            done += 1
            failed += bool(found)
            print("".join(f"{line}\n" for line in found), end="", flush=True)
            if time.monotonic() >= end:
                break
    print(f"{done} of {len(chosen)} streams checked, {failed} with differences")
    return 1 if failed else 0


def _hunt(options: argparse.Namespace, invariants: Sequence[str], out: Path) -> hunt.Tally:
    if options.defects == MANY:
        streams = [one for one in seeds(shared_dir()) if not options.protocol or one.protocol in options.protocol]
        make: hunt.Make = partial(mutate.case, streams)
        source = f"{len(streams)} streams to mutate"
    else:
        defects, protocols = int(options.defects), options.protocol or ()
        make = partial(injected.case, defects, protocols=protocols)
        source = f"{len(injected.combinations(defects, tuple(protocols)))} combinations of faults and healthy streams"
    hunt.note_interrupts()
    print(f"{source}; Ctrl-C ends the run and reports what was found", flush=True)
    if options.cases:
        hunt.collect_seldom()
        made = hunt.cases(make, hunt.until(hunt.names(options.seed, 0), math.inf))
        return hunt.hunt(islice(made, options.cases), invariants, out)
    return hunt.in_workers(make, options.seed, options.workers, options.minutes, invariants, out)


def _report(tally: hunt.Tally, seconds: float, out: Path) -> None:
    print(f"{tally.cases} streams in {seconds:.0f} s, {tally.cases / seconds * 60:.0f} a minute")
    print("streams, and of 10,000 streams:")
    for name in HARMS:
        print(f"{_rate(tally, tally.harms[name])} {name}")
    for invariant in INVARIANTS:
        print(f"{_rate(tally, tally.invariants[invariant])} {invariant}")
    for kind, count in tally.kinds.most_common(SHOWN):
        print(f"{count:8} {kind}")
    if tally.kinds:
        print(f"written to {out}")


def _rate(tally: hunt.Tally, count: int) -> str:
    return f"{count:8} {count / max(1, tally.cases) * 10_000:8.2f}"


def _replay(case: Case, invariants: Sequence[str]) -> int:
    outcome = ClientOutcome(case)
    print(f"{outcome.protocol or 'unknown protocol'}, repairs {case.repair}, shapes {case.shape}, broken {case.broken}")
    if case.request is not ABSENT:
        print(f"request {case.request}")
    for title, run in (("received", outcome.off), ("forwarded", outcome.on)):
        print(f"--- {title}\n{run.out.decode('utf-8', 'replace')}")
        print(f"calls {run.calls}\nfindings {sorted(run.finding_names)}")
    print("calls in the forwarded stream", outcome.reread.calls)
    found = list(hunt.violations(case, invariants))
    for one in found:
        print(f"VIOLATED {one.invariant}: {one.why}")
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    epilog = EPILOG + "".join(
        f"  {name}: {(invariant.__doc__ or '').splitlines()[0]}\n" for name, invariant in INVARIANTS.items()
    )
    parser = argparse.ArgumentParser(
        prog="scripts/fuzz", description=__doc__, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=1, help="how long (1)")
    parser.add_argument("--cases", type=int, default=0, help="number of streams in this process, instead of minutes")
    parser.add_argument("--seed", default="1", help="random seed (1)")
    parser.add_argument("--workers", type=int, default=2, help="processes (2)")
    parser.add_argument("--protocol", action="append", help="streams of this protocol only; may be repeated")
    parser.add_argument("--cuts", action="store_true", help="check chunk boundaries of long healthy streams instead")
    parser.add_argument(
        "--defects",
        choices=("1", "2", MANY),
        default=MANY,
        help="inject one fault or two into healthy streams, or mutate streams at random (many)",
    )
    parser.add_argument(
        "--invariant", action="append", choices=list(INVARIANTS), help="this invariant only; may be repeated"
    )
    parser.add_argument("--out", type=Path, help="where failures are written (fuzz-failures)")
    parser.add_argument("--replay", nargs="+", metavar="FILE", help="hold these bodies to the invariants instead")
    return parser


if __name__ == "__main__":
    sys.exit(main())
