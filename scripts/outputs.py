"""Keep what users see of many streams, and compare it after a change. Knows the command line."""

from __future__ import annotations

import argparse
import gc
import itertools
import os
import shlex
import sys
import tempfile
import zlib
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "addon"), str(ROOT / "scripts"), str(ROOT)]

from outputslib import inputs  # noqa: E402 - the checkout's own modules are run
from outputslib.commands import FIRST, Tables  # noqa: E402
from outputslib.differences import shown  # noqa: E402
from outputslib.kept import Kept, UnreadableError, digest, kept_in  # noqa: E402
from outputslib.running import inside, run  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from outputslib.commands import Argv
    from outputslib.inputs import Input

SAME, DIFFERENT, USAGE = 0, 1, 2
"""Exit codes."""
SAMPLE: Final = 20
"""A quick run gives one of so many inputs to all commands."""
NO_INPUT: Final = inputs.Input("commands", b"")
"""Stands for the commands that need no input."""
EPILOG = """\
Examples:
  scripts/outputs keep ../outputs        before a change that users must not notice
  scripts/outputs compare ../outputs     after it: each difference, with a short diff; exit code 1 where there is one
  scripts/outputs compare --quick ../outputs
Inputs are flows/, the samples of tests/streams/ and, where ../shared (or TOOLSTREAM_SHARED) is, the
recorded streams; they are kept beside their outputs, so that comparing takes the same ones. Commands are inspect,
repair (each defect, shape and client's set) and fault (each defect, preset, and transit fault), and, without an
input, list, explain and --help.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Keep or compare; 1 where anything differs."""
    options = _parser().parse_args(arguments)
    folder: Path = options.folder.resolve()
    try:
        return _keep(folder, options) if options.does == "keep" else _compare(folder, options)
    except UnreadableError as error:
        print(f"outputs: {error}", file=sys.stderr)
        return USAGE


def _keep(folder: Path, options: argparse.Namespace) -> int:
    if any(kept_in(folder)):
        raise UnreadableError(f"{folder} already holds outputs: name an empty or a new folder")
    streams, outputs = 0, 0
    with _working() as work:
        tables = Tables()
        for given in _inputs(options.flows):
            _lay(work, given)
            argvs = tables.about_all() if given == NO_INPUT else tables.commands(given)
            wanted = itertools.islice(argvs, _count(given, quick=options.quick))
            kept = Kept.of(given, ((argv, run(argv).text()) for argv in wanted))
            kept.write(folder)
            streams, outputs = streams + 1, outputs + len(kept.digests)
    print(f"{outputs} outputs of {streams} inputs kept in {folder}")
    return SAME


def _compare(folder: Path, options: argparse.Namespace) -> int:
    outputs, different = 0, Counter[str]()
    with _working() as work:
        for kept in kept_in(folder):
            _lay(work, kept.given)
            argvs = list(kept.digests)[: _count(kept.given, quick=options.quick)]
            outputs += len(argvs)
            for argv in _differing(kept, argvs, shows=lambda: different.total() < options.most):
                different[argv[0]] += 1
    if not outputs:
        raise UnreadableError(f"{folder} holds no outputs: scripts/outputs keep {folder} writes them")
    told = "".join(f", {name} {count}" for name, count in different.most_common())
    print(f"{different.total()} of {outputs} outputs differ{told}")
    return DIFFERENT if different else SAME


def _differing(kept: Kept, argvs: Iterable[Argv], *, shows: Callable[[], bool]) -> Iterator[Argv]:
    """Run the commands again, and print what is another output than before."""
    for argv in argvs:
        now = run(argv).text()
        if digest(now) == (before := kept.digests[argv]):
            continue
        if shows():
            print(f"== toolstream {shlex.join(argv)}")
            print(*shown(kept.texts[before], now), sep="\n")
        yield argv


def _count(given: Input, *, quick: bool) -> int | None:
    """How many commands an input is given to: all, or the first."""
    all_of_it = given == NO_INPUT or zlib.crc32(given.name.encode()) % SAMPLE == 0
    return FIRST if quick and not all_of_it else None


def _inputs(flows: Path | None) -> Iterator[Input]:
    if flows is not None:
        return inputs.flows(flows, flows)
    shared = Path(os.environ.get("TOOLSTREAM_SHARED") or ROOT.parent / "shared")
    return itertools.chain([NO_INPUT], inputs.project(ROOT, shared if shared.is_dir() else None))


@contextmanager
def _working() -> Iterator[Path]:
    """An empty folder that commands run in."""
    gc.freeze()
    with tempfile.TemporaryDirectory(prefix="outputs-") as name, inside(Path(name)):
        yield Path(name)


def _lay(work: Path, given: Input) -> None:
    path = work / given.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(given.content)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/outputs",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    does = parser.add_subparsers(dest="does", metavar="keep|compare", required=True)
    keep = does.add_parser("keep", help="write what the commands show now")
    keep.add_argument("--flows", type=Path, metavar="DIR", help="take the flow files of this folder alone")
    compare = does.add_parser("compare", help="show what differs from what was kept")
    compare.add_argument("--most", type=int, default=50, metavar="N", help="show so many differences (50); count all")
    for one in (keep, compare):
        told = f"only inspect and safe repairs, and all commands for one of {SAMPLE} inputs"
        one.add_argument("--quick", action="store_true", help=told)
        one.add_argument("folder", type=Path, metavar="DIR", help="where the outputs are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
