"""Save the output of commands for many streams, and compare it after a change."""

from __future__ import annotations

import argparse
import base64
import contextlib
import difflib
import functools
import gc
import hashlib
import importlib.metadata
import io
import itertools
import json
import lzma
import os
import shlex
import sys
import tempfile
import zlib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tests.calls.patterns import Pattern

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "addon"), str(ROOT)]

type Argv = tuple[str, ...]

SAME, DIFFERENT, USAGE = 0, 1, 2
"""Exit codes."""
COLUMNS: Final = "110"
"""The terminal width of help texts."""
HOST: Final = "https://api.example.com"
BODIES: Final = frozenset({".sse", ".ndjson", ".json", ".jsonarray", ".jsonl", ".eventstream"})
"""Suffixes of recorded streams."""
BESIDE: Final = ".chunklens.json"
"""The suffix of files with the chunk sizes of a recorded stream."""
OF_RECORDED: Final = 4
"""Each recorded stream gets one fault of so many, because they are many and long."""
SAMPLE: Final = 20
"""In a quick run, one of so many inputs gets all commands."""
FIRST: Final = 4
"""The number of commands for the other inputs of a quick run."""
SUFFIX: Final = ".json.xz"
VERSION: Final = 1
LINES: Final = 24
WIDTH: Final = 180
"""The maximum number of characters in a line of a difference."""
EPILOG: Final = """\
Examples:
  scripts/outputs keep ../outputs        before a change that must not change any output
  scripts/outputs compare ../outputs     after it: a short diff of each difference; exit code 1 if there are any
  scripts/outputs compare --quick ../outputs
Inputs are flows/, the samples of tests/streams/ and, if ../shared (or TOOLSTREAM_SHARED) exists, the recorded
streams. They are saved with their outputs, and compared with the same inputs. Commands are inspect, repair (each
defect, shape and client) and fault (each defect, preset and transit fault), and, without an input, list, explain
and --help.
"""


class UnreadableError(Exception):
    """A file was not written by `keep`."""


class Input(NamedTuple):
    """A saved stream and its file name; the outputs contain the name."""

    name: str
    content: bytes
    faults: int = 1
    """Only one of so many faults is injected into this stream."""


NO_INPUT: Final = Input("commands", b"")
"""Represents the commands without an input."""


class Kept(NamedTuple):
    """An input, and the digests of its outputs by command. Equal outputs are stored once."""

    given: Input
    digests: dict[Argv, str]
    texts: dict[str, bytes]

    @classmethod
    def of(cls, given: Input, outputs: Iterable[tuple[Argv, bytes]]) -> Self:
        """Create it from the output of each command."""
        kept = cls(given, {}, {})
        for argv, text in outputs:
            kept.digests[argv] = key = digest(text)
            kept.texts[key] = text
        return kept

    def write(self, folder: Path) -> None:
        """Write the input and its outputs to a file in `folder`, named after the input."""
        path = folder / (self.given.name + SUFFIX)
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "version": VERSION,
            "input": [self.given.name, self.given.content.decode("latin-1")],
            "digests": [[list(argv), key] for argv, key in self.digests.items()],
            "texts": {key: text.decode("latin-1") for key, text in self.texts.items()},
        }
        path.write_bytes(lzma.compress(json.dumps(document).encode(), preset=1))

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a file. Raises `UnreadableError`."""
        try:
            document = json.loads(lzma.decompress(path.read_bytes()))
            name, content = document["input"]
            digests = {tuple(argv): key for argv, key in document["digests"]}
            texts = {key: text.encode("latin-1") for key, text in document["texts"].items()}
        except (OSError, ValueError, LookupError, TypeError, lzma.LZMAError) as error:
            raise UnreadableError(f"{path} was not written by keep: {error}") from error
        return cls(Input(name, content.encode("latin-1")), digests, texts)


def digest(text: bytes) -> str:
    """The hash of an output."""
    return hashlib.sha256(text).hexdigest()


def kept_in(folder: Path) -> Iterator[Kept]:
    """Read all files of a folder. Raises `UnreadableError`."""
    return map(Kept.read, sorted(folder.rglob(f"*{SUFFIX}")))


def main(arguments: Sequence[str] | None = None) -> int:
    """Save or compare outputs. Returns 1 if an output differs."""
    options = _parser().parse_args(arguments)
    folder: Path = options.folder.resolve()
    try:
        return _keep(folder, options) if options.does == "keep" else _compare(folder, options)
    except UnreadableError as error:
        print(f"outputs: {error}", file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/outputs", description=__doc__, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    does = parser.add_subparsers(dest="does", metavar="keep|compare", required=True)
    keep = does.add_parser("keep", help="save the current outputs")
    keep.add_argument("--flows", type=Path, metavar="DIR", help="use only the flow files of this folder")
    compare = does.add_parser("compare", help="show differences from the saved outputs")
    compare.add_argument(
        "--most", type=int, default=50, metavar="N", help="show at most N differences (50); all are counted"
    )
    for one in (keep, compare):
        quick = f"only inspect and safe repairs, and all commands for one of {SAMPLE} inputs"
        one.add_argument("--quick", action="store_true", help=quick)
        one.add_argument("folder", type=Path, metavar="DIR", help="folder of the outputs")
    return parser


def _keep(folder: Path, options: argparse.Namespace) -> int:
    if any(kept_in(folder)):
        raise UnreadableError(f"{folder} already holds outputs: name an empty or a new folder")
    streams = outputs = 0
    with _working() as work:
        tables = Tables()
        for given in _inputs(options.flows):
            _put(work, given)
            argvs = tables.about_all() if given == NO_INPUT else tables.commands(given)
            wanted = itertools.islice(argvs, _count(given, quick=options.quick))
            kept = Kept.of(given, ((argv, shown_by(argv)) for argv in wanted))
            kept.write(folder)
            streams, outputs = streams + 1, outputs + len(kept.digests)
    print(f"{outputs} outputs of {streams} inputs kept in {folder}")
    return SAME


def _compare(folder: Path, options: argparse.Namespace) -> int:
    outputs, different = 0, Counter[str]()
    with _working() as work:
        for kept in kept_in(folder):
            _put(work, kept.given)
            for argv in itertools.islice(kept.digests, _count(kept.given, quick=options.quick)):
                outputs += 1
                now = shown_by(argv)
                if digest(now) == (before := kept.digests[argv]):
                    continue
                if different.total() < options.most:
                    print(f"== toolstream {shlex.join(argv)}", *shown(kept.texts[before], now), sep="\n")
                different[argv[0]] += 1
    if not outputs:
        raise UnreadableError(f"{folder} holds no outputs: scripts/outputs keep {folder} writes them")
    by_command = "".join(f", {name} {count}" for name, count in different.most_common())
    print(f"{different.total()} of {outputs} outputs differ{by_command}")
    return DIFFERENT if different else SAME


def _count(given: Input, *, quick: bool) -> int | None:
    """The number of commands for an input; `None` means all."""
    all_of_it = given == NO_INPUT or zlib.crc32(given.name.encode()) % SAMPLE == 0
    return FIRST if quick and not all_of_it else None


@contextlib.contextmanager
def _working() -> Iterator[Path]:
    """An empty working folder for the commands."""
    gc.freeze()
    with tempfile.TemporaryDirectory(prefix="outputs-") as name, inside(Path(name)):
        yield Path(name)


def _put(work: Path, given: Input) -> None:
    path = work / given.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(given.content)


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[None]:
    """Run commands in `folder`, with outputs that do not depend on the user's terminal."""
    kept, version = dict(os.environ), importlib.metadata.version
    os.environ.update(COLUMNS=COLUMNS, NO_COLOR="1")
    os.environ.pop("FORCE_COLOR", None)
    # Each command reads its version from the installed package: cache it.
    importlib.metadata.version = functools.cache(version)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        importlib.metadata.version = version
        os.environ.clear()
        os.environ.update(kept)


def _run(argv: Sequence[str]) -> tuple[str, bytes, bytes]:
    """Run a command in this process. Returns `exit N` or the exception, standard error and standard output."""
    from toolstream_core.cli.main import main as toolstream

    out, err = io.BytesIO(), io.BytesIO()
    with (
        contextlib.redirect_stdout(io.TextIOWrapper(out, encoding="utf-8", write_through=True)),
        contextlib.redirect_stderr(io.TextIOWrapper(err, encoding="utf-8", write_through=True)),
    ):
        try:
            end = f"exit {toolstream(argv)}"
        except Exception as error:  # noqa: BLE001 - an exception is an output to compare
            end = f"{type(error).__name__}: {error}"
        return end, err.getvalue(), out.getvalue()


def shown_by(argv: Sequence[str]) -> bytes:
    """The complete output of a command."""
    end, err, out = _run(argv)
    return b"".join((end.encode(), b"\n--- stderr\n", err, b"\n--- stdout\n", out))


def _inputs(folder: Path | None) -> Iterator[Input]:
    """The flow files of a folder; else all streams of the project and, if available, the recorded streams."""
    if folder is not None:
        yield from flows(folder, folder)
        return
    yield NO_INPUT
    yield from flows(ROOT / "flows", ROOT)
    yield from samples()
    shared = Path(os.environ.get("TOOLSTREAM_SHARED") or ROOT.parent / "shared") / "streams"
    for path in sorted(shared.glob("*/*")):
        if path.suffix in BODIES and not path.name.endswith(BESIDE):
            yield Input(path.relative_to(shared).as_posix(), path.read_bytes(), faults=OF_RECORDED)


def flows(folder: Path, root: Path) -> Iterator[Input]:
    """The flow files of a folder, named by their path relative to `root`."""
    for path in sorted(folder.glob("*.flow")):
        yield Input(path.relative_to(root).as_posix(), path.read_bytes())


def samples() -> Iterator[Input]:
    """Each sample of tests/streams with its request, as a HAR file."""
    from tests.calls.patterns import patterns

    for number, pattern in enumerate(patterns()):
        yield Input(f"tests/streams/{pattern.protocol}-{number:03}.har", _har(pattern))


def _har(pattern: Pattern) -> bytes:
    known = pattern.exchange
    request = {"method": "POST", "url": HOST + known.path, "postData": {"text": json.dumps(known.request)}}
    content = {"mimeType": known.content_type}
    try:
        content["text"] = pattern.body.decode()
    except UnicodeDecodeError:
        content |= {"text": base64.b64encode(pattern.body).decode(), "encoding": "base64"}
    entry = {"request": request, "response": {"status": 200, "content": content}}
    return json.dumps({"log": {"entries": [{"comment": pattern.name, **entry}]}}, indent=1).encode()


class Tables:
    """The commands for an input, from `toolstream list` and `toolstream inspect`.

    Names of other protocols, and repairs of defects that a stream does not have, change nothing. They are combined in
    one command, which would show a change.
    """

    def __init__(self) -> None:
        """Read `toolstream list`."""
        self._listed: dict[str, list[dict[str, Any]]] = json.loads(_run(["list", "--format", "json"])[2])
        known = self._listed["defects"] + self._listed["shapes"]
        self._protocols = {one["name"]: frozenset(one["dialects"]) for one in known}

    def about_all(self) -> Iterator[Argv]:
        """The commands without an input."""
        from toolstream_core.cli.commands import COMMANDS

        yield from (("list",), ("list", "--format", "json"), ("explain",), ("--help",))
        yield from ((name, "--help") for name in COMMANDS)
        for name in sorted({*self._names("defects"), *self._names("shapes"), *self._names("presets")}):
            yield ("explain", name)

    def commands(self, given: Input) -> Iterator[Argv]:
        """All commands for an input; the commands of a quick run are first."""
        stream = given.name
        yield ("inspect", "--format", "json", stream)
        yield ("inspect", "--chunks", stream)
        yield ("inspect", "--no-chunks", stream)
        yield ("repair", "--diff", "-o", "-", stream)
        out = _run(["inspect", "--format", "json", stream])[2]
        read = json.loads(out)["streams"] if out.startswith(b"{") else []
        protocols = frozenset(one["dialect"] for one in read)
        found = {finding["name"] for one in read for finding in one["findings"]}
        for group in _apart((one["name"] for one in self._listed["defects"] if one["repair"]), found):
            yield ("repair", "--repair", ",".join(group), "-o", "-", stream)
        for group in _apart(self._names("shapes"), self._of(protocols, self._names("shapes"))):
            yield ("repair", *itertools.chain(*(("--shape", name) for name in group)), "-o", "-", stream)
        for name in self._names("clients"):
            yield ("repair", "--repair", "safe", "--shape", f"for:{name}", "-o", "-", stream)
        yield from self._faults(stream, protocols, given.faults)

    def _faults(self, stream: str, protocols: frozenset[str], one_of: int) -> Iterator[Argv]:
        plants = [one["name"] for one in self._listed["defects"] if one["plant"]]
        presets = {one["name"]: one["parts"] for one in self._listed["presets"]}
        own = self._of(protocols, plants)
        own += [name for name, parts in presets.items() if self._of(protocols, parts)]
        foreign = [name for name in (*plants, *presets) if name not in own]
        own = [name for name in own if zlib.crc32(f"{stream} {name}".encode()) % one_of == 0]
        # A timing fault does not change a file.
        timed = [one["name"] for one in self._listed["transit"] if any(key["name"] == "ms" for key in one["keys"])]
        acting = [name for name in self._names("transit") if name not in timed]
        for group in (*_apart(own, own), foreign, *_apart([*acting, *timed], acting if protocols else ())):
            yield ("fault", *group, "-o", "-", stream)

    def _names(self, table: str) -> list[str]:
        return [one["name"] for one in self._listed[table]]

    def _of(self, protocols: frozenset[str], names: Iterable[str]) -> list[str]:
        return [name for name in names if not self._protocols.get(name, frozenset()).isdisjoint(protocols)]


def _apart(names: Iterable[str], alone: Iterable[str]) -> Iterator[list[str]]:
    """Each name of `alone` in its own group, and all other names in one group."""
    names, alone = list(names), set(alone)
    yield from ([name] for name in names if name in alone)
    if others := [name for name in names if name not in alone]:
        yield others


def shown(before: bytes, after: bytes) -> Iterator[str]:
    """The first lines of a unified diff; long lines are shortened around the first difference."""
    diff = difflib.unified_diff(_lines(before), _lines(after), "kept", "now", n=1, lineterm="")
    lines = list(itertools.islice(diff, LINES + 1))
    for number, line in enumerate(lines[:LINES]):
        yield _short(line, _common(line, lines[number - 1], lines[number + 1 : number + 2]))
    if len(lines) > LINES:
        yield "…"


def _lines(text: bytes) -> list[str]:
    """The lines of a text, also lines in JSON strings."""
    return text.decode("utf-8", "backslashreplace").replace("\\n", "\\n\n").split("\n")


def _common(line: str, before: str, after: list[str]) -> int:
    """The length of the common prefix of a changed line and its counterpart; removed lines precede added lines."""
    other = before if line.startswith("+") else "".join(after)
    pairs = zip(line[1:], other[1:], strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _short(line: str, same: int) -> str:
    if len(line) <= WIDTH:
        return line
    start = max(0, same - WIDTH // 3)
    cut = line[1:][start : start + WIDTH]
    return f"{line[0]}{'…' if start else ''}{cut}{'…' if start + WIDTH < len(line) - 1 else ''}"


if __name__ == "__main__":
    sys.exit(main())
