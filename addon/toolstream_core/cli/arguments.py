"""The parser of a command, the values of options, and options by their old names.

The modules for checking a value are loaded on demand.
"""

from __future__ import annotations

import argparse
import importlib
import math
import re
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NoReturn, override

from toolstream_core.errors import ToolstreamError, nearest, unknown
from toolstream_core.proxy.option_table import LEVELS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from toolstream_core.model import Json
    from toolstream_core.redaction import Redaction


OK, NOT_OK, CANNOT, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES: Final = {
    OK: "success",
    NOT_OK: "findings of severity error or warning, failed cases, or nothing to do",
    CANNOT: "usage error, or input that cannot be read",
    INTERRUPTED: "interrupted",
}
FAIL_ON: Final[dict[str, frozenset[str]]] = {
    "error": frozenset({"error"}),
    "warning": frozenset({"error", "warning"}),
    "note": frozenset({"error", "warning", "note"}),
    "never": frozenset(),
}
"""The severities of findings that count for the exit code, by the values of `--fail-on`."""
RUN_EXIT_CODES: Final = {
    CANNOT: "usage error, input that cannot be read, or the proxy cannot start",
    126: "CMD cannot be run",
    127: "CMD was not found",
    INTERRUPTED: EXIT_CODES[INTERRUPTED],
}


def _listed(codes: Mapping[int, str]) -> str:
    return "; ".join(f"{code} {meaning}" for code, meaning in codes.items())


EPILOG: Final = f"Exit codes: {_listed(EXIT_CODES)}."
RUN_EPILOG: Final = f"Exit code: that of CMD, or {_listed(RUN_EXIT_CODES)}."


class Parser(argparse.ArgumentParser):
    """A parser that raises `ToolstreamError`."""

    def __init__(self, name: str, **settings: Any) -> None:
        super().__init__(prog=f"toolstream {name}", allow_abbrev=False, **settings)
        self.name = name

    def parsed(
        self, words: Sequence[str], args: argparse.Namespace, renamed: Mapping[str, str] = MappingProxyType({})
    ) -> argparse.Namespace:
        """The arguments in `words`, options and others in any order; `renamed` has the new options by old ones."""
        args, left = self.parse_known_intermixed_args(words, args)
        if left and left[0].startswith("-"):
            option = left[0].partition("=")[0]
            known = [flag for flag in self._option_string_actions if flag.startswith("--")]
            near = nearest(option, [*known, *renamed])
            near = near and (renamed.get(near) or near)
            hint = f"; did you mean {near}?" if near else "."
            raise ToolstreamError(f"unknown option {option}{hint} See `toolstream help {self.name}`")
        if left:
            raise ToolstreamError(f"unexpected argument {left[0]!r}. See `toolstream help {self.name}`")
        return args

    @override
    def error(self, message: str) -> NoReturn:
        text = message.removeprefix("argument ").replace("the following arguments are required:", "missing argument:")
        hint = "" if "See `" in text or "Expected" in text else f". See `toolstream help {self.name}`"
        raise ToolstreamError(text + hint)

    @override
    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(action, unknown("value", str(value), map(str, action.choices)))


CALLS: Final = "calls:"
"""The beginning of a FLOW with calls of the client's tools."""
_HIGHEST_PORT: Final = 65535


@dataclass(frozen=True, slots=True)
class Names:
    """A value that is a name, or contains names."""

    known: Callable[[], Iterable[str]]
    """All names; completion offers them."""
    read: Callable[[str], Any]

    def __call__(self, text: str) -> Any:
        """The value. Raises `ArgumentTypeError`."""
        try:
            return self.read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error


def _loaded(module: str, names: Callable[[Any], Iterable[str]]) -> Callable[[], list[str]]:
    """A function that returns the names in a module, and loads it only then."""
    return lambda: list(names(importlib.import_module(f"toolstream_core.{module}")))


_protocols = _loaded("protocols.registry", lambda registry: (one.name for one in registry.PROTOCOLS))
_verdicts = _loaded("verdict.outcome", lambda outcome: (one.value for one in outcome.Outcome))
_defects = _loaded(
    "defects.table",
    lambda table: dict.fromkeys(
        [*(one.name for one in table.DEFECTS), *(one.family for one in table.DEFECTS), table.ALL]
    ),
)
_repairs = _loaded("defects.table", lambda table: ["safe", *(one.name for one in table.DEFECTS if one.repair)])


def _one_of(known: Callable[[], list[str]]) -> Names:

    def read(text: str) -> str:
        if text not in known():
            raise ValueError(unknown("protocol", text, known()))
        return text

    return Names(known, read)


def _codes(text: str) -> frozenset[str]:
    """The codes of the defects in a comma-separated list."""
    from toolstream_core.defects.table import named

    return named(word for part in text.split(",") if (word := part.strip()))


def selected_codes(args: argparse.Namespace) -> frozenset[str]:
    """The codes of the findings after `--select` and `--ignore`; all if neither is given."""
    from toolstream_core.defects.table import named

    wanted = named(["all"]) if args.select is None else frozenset().union(*args.select)
    return wanted.difference(*(args.ignore or ()))


def not_found(args: argparse.Namespace) -> str:
    """The message that the file has no finding of `--select`."""
    from toolstream_core.defects.table import DEFECTS

    codes = frozenset().union(*args.select or ())
    names = " or ".join(defect.name for defect in DEFECTS if defect.code in codes)
    return f"no {names} in {args.flow}. See `toolstream inspect {args.flow}`"


def requested_redaction(args: argparse.Namespace) -> Redaction:
    """The redaction from `--secret`, and `--text` if there is such an option. Raises `ToolstreamError`."""
    from toolstream_core.redaction import TextMode, redaction_of

    try:
        return redaction_of(args.secret, TextMode(getattr(args, "text", TextMode.KEEP)))
    except ValueError as error:
        raise ToolstreamError(f"--secret: {error}") from error


def _verdict(text: str) -> Any:
    from toolstream_core.verdict.outcome import RENAMED, Outcome

    if text in RENAMED:
        return Outcome(RENAMED[text])
    if text not in (known := _verdicts()):
        raise ValueError(unknown("verdict", text, known))
    return Outcome(text)


def _setting(name: str) -> Callable[[str], str]:
    """Checks a value of the field `name` of `Words`."""

    def read(text: str) -> str:
        from toolstream_core.settings import Words, settings

        try:
            settings(Words(**{name: [text]}))  # type: ignore[arg-type]  # never the seed
        except ValueError:
            if Path(text).is_file():
                raise ValueError(f"{text!r} is a file. Expected the name of a {name}; files come after it") from None
            raise
        return text

    return read


PROTOCOL: Final = _one_of(_protocols)
PROBED: Final = _one_of(_loaded("probing.ask", lambda ask: ask.PROTOCOLS))
DEFECTS: Final = Names(_defects, _codes)
REPAIR: Final = Names(_repairs, _setting("repair"))
SHAPE: Final = Names(_loaded("settings", lambda settings: settings.known_shapes()), _setting("shape"))
FAULT: Final = Names(_loaded("settings", lambda settings: sorted(settings.fault_names())), _setting("fault"))
VERDICT: Final = Names(_verdicts, _verdict)
NAME: Final = Names(_loaded("report.catalogue", lambda catalogue: sorted(catalogue.explainable())), str)
"""`explain` knows codes and old names too."""
CASE: Final = Names(_loaded("checking.cases", lambda cases: sorted({one.name for one in cases.all_cases()})), str)
"""`check` itself checks the words, since globs are allowed."""


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() else -1


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1


def _bounded[Value: float](
    read: Callable[[str], Value], fits: Callable[[Value], bool], expected: str
) -> Callable[[str], Value]:
    """A parser of a number that `fits`; `read` returns -1 for a text without a number."""

    def value(text: str) -> Value:
        found = read(text)
        if not fits(found):
            raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
        return found

    return value


positive: Final = _bounded(_whole, lambda count: count > 0, "a count. Expected a whole number from 1 on")
seconds: Final = _bounded(_number, lambda time: 0 < time < math.inf, "a number of seconds. Expected, for example: 60")
speed: Final = _bounded(
    _number, lambda speed: 0 <= speed < math.inf, "a speed. Expected: 1 as recorded, 2 faster, 0 no delay"
)
repeats: Final = _bounded(_whole, lambda limit: limit >= 0, "a number of requests. Expected: 8 (default), 0 (no limit)")
port: Final = _bounded(
    _whole, lambda port: 0 <= port <= _HIGHEST_PORT, f"a port. Expected 0 (any free port) to {_HIGHEST_PORT}"
)


def option(text: str) -> tuple[str, str]:
    """NAME=VALUE."""
    name, given, value = text.partition("=")
    if not name or not given:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def path(text: str) -> Path:
    """A path, with `~` for home."""
    return Path(text).expanduser()


def flow(text: str) -> Path | str:
    """A path, or `calls:…` unchanged."""
    return text if text.startswith(CALLS) else path(text)


def log_file(text: str) -> Path:
    """A log file; the name of a level without a folder is a mistaken `--level`."""
    if text in LEVELS:
        raise argparse.ArgumentTypeError(f"{text!r} is a level. Expected: --level {text}, or --log ./{text} for a file")
    return path(text)


_HOST_AND_PORT: Final = re.compile(r"[\w.-]+:\d+(?:/|$)")


def url(text: str) -> str:
    """A base URL."""
    if "://" not in text:
        expected = f"Expected http://{text}" if _HOST_AND_PORT.match(text) else "Put flows before --base-url"
        raise argparse.ArgumentTypeError(f"{text!r} is not a URL. {expected}")
    return text


_VIEW_ADDRESS: Final = re.compile(r"(http://(?:127\.0\.0\.1|localhost):\d+/)#token=([\w-]+)")


def view_address(text: str) -> tuple[str, str]:
    """The URL of a live view, and its token."""
    found = _VIEW_ADDRESS.fullmatch(text)
    if found is None:
        expected = "Expected the address that `toolstream run --view` prints: http://127.0.0.1:PORT/#token=TOKEN"
        raise argparse.ArgumentTypeError(f"{text!r} is not the address of a live view. {expected}")
    return found[1], found[2]


def file_name(text: str) -> str:
    """A file name without folders."""
    if not text or text.startswith(".") or Path(text).name != text or not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!r} is not a file name. Expected a name without folders: broken-call")
    return text


def request(text: str) -> Json:
    """The JSON object in a file: the body of a request."""
    from toolstream_core.wire.frame import parse

    try:
        found = parse(Path(text).read_bytes())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise argparse.ArgumentTypeError(f"{text} cannot be read: {why}") from error
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text} is not a request. Expected a JSON object, as it was sent")
    return found


def output(text: str) -> Path | None:
    """A file to write; `None` for standard output."""
    return None if text == "-" else path(text)


OF_OPTIONS: Final[dict[str, Any]] = {
    "toolstream_speed": speed,
    "toolstream_provider_repeats": repeats,
    "toolstream_repair": REPAIR,
    "toolstream_shape": SHAPE,
    "toolstream_fault": FAULT,
}
"""The values of the addon's options that are not just texts or numbers."""


_CAPTURES: Final = {"--capture-when": "--when", "--capture-text": "--text", "--capture-secret": "--secret"}
RENAMED: Final[dict[str, dict[str, str]]] = {
    "inspect": {"--dialect": "--protocol"},
    "extract": {"--only": "--when"},
    "report": {"--finding": "--select"},
    "shrink": {"--finding": "--select", "--state": "--resume"},
    "check": {
        "--faults": "--case",
        "--only": "--case",
        "--json": "--format json --output",
        "--flow": "",
        "--call": CALLS,
    },
    "run": _CAPTURES,
    "serve": {**_CAPTURES, "--log": "--level"},
}
"""The old options of each command, all with a value: the new option, or the prefix of an argument."""


def with_new_names(command: str, words: Sequence[str]) -> list[str]:
    """The words with new options for old ones."""
    return list(_replaced(RENAMED.get(command, {}), iter(words)))


def _replaced(renamed: dict[str, str], words: Iterator[str]) -> Iterator[str]:
    for word in words:
        name, joined, value = word.partition("=")
        new = renamed.get(name)
        if new is None:
            yield word
            continue
        values = [value] if joined else list(islice(words, 1))
        if name == "--log" and not {*values} <= {*LEVELS}:  # not a level: the new option of this name
            yield from (name, *values)
        elif new.startswith("--"):
            *before, option = new.split()
            yield from (*before, "=".join([option, *values]))
        else:
            yield from (new + value for value in values)
