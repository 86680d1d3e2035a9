"""What `serve` and `run` share: the options of a proxy session."""

from __future__ import annotations

import argparse
import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.cli.output import Output, check_outputs
from toolstream_core.proxy.option_table import LOG, OPTIONS, PROVIDER
from toolstream_core.report.jsonl import may_append
from toolstream_core.sources import demo
from toolstream_core.sources.files import READABLE
from toolstream_core.synthetic.call_specs import PREFIX, CallSpecError, parse_calls
from toolstream_core.testing import Setup

if TYPE_CHECKING:
    from toolstream_core.proxy.option_table import AddonOption

FLAGS: Final = tuple(option for option in OPTIONS if option not in {LOG, PROVIDER})
"""The addon's options that are flags of both commands; flows are arguments, and each has its own way to log."""
_OF_SETUP: Final = frozenset(one.name for one in fields(Setup))


FLOW_HELP: Final = "a flow file, a folder of such, or calls: to call harmless tools of the client (any: calls:NAME)"


class UsageError(ValueError):
    """What was asked is not possible; the message says what would be."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what both take."""
    for option in FLAGS:
        _add_flag(parser, option)
    parser.add_argument("--port", type=_port, default=0, metavar="N", help="where to listen; any free one without it")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=_option,
        metavar="NAME=VALUE",
        dest="options",
        help="another option of toolstream or mitmproxy",
    )


def _add_flag(parser: argparse.ArgumentParser, option: AddonOption) -> None:
    described = option.help[0].lower() + option.help[1:].removesuffix(".")
    if isinstance(option.default, bool):
        parser.add_argument(option.flag, action="store_true", help=described)
    elif option.many:
        parser.add_argument(option.flag, action="append", default=[], metavar=option.metavar, help=described)
    else:
        kind = _TYPES.get(option.name, type(option.default))
        default = kind(str(option.default)) if _word(option) in _OF_SETUP else None
        metavar = option.metavar or None
        choices = option.choices or None
        parser.add_argument(option.flag, type=kind, default=default, choices=choices, metavar=metavar, help=described)


def setup_of(args: argparse.Namespace, *, network: str, log: str) -> Setup:
    """What the arguments ask for. Raises `UsageError` for what cannot answer."""
    flows = [one for one in args.flows if isinstance(one, Path)]
    calls = tuple(one.removeprefix(PREFIX) for one in args.flows if isinstance(one, str))
    try:
        parse_calls(calls)
    except CallSpecError as error:
        raise UsageError(str(error)) from error
    for path in flows:
        if unknown := demo.unknown(path):
            raise UsageError(unknown)
        if not demo.located(path).exists():
            raise UsageError(f"no such file or directory: {path}. Expected {READABLE}, a folder of them, or `calls:`")
    mine: dict[str, Any] = {}
    options: dict[str, list[str]] = {}
    for option in FLAGS:
        value = getattr(args, _word(option))
        if _word(option) in _OF_SETUP:
            mine[_word(option)] = tuple(value) if option.many else value
        elif value:
            options[option.name] = value if option.many else [value]
    for name, value in args.options:
        options.setdefault(name, []).append(value)
    return Setup(flows=tuple(flows), calls=calls or None, network=network, log=log, options=options, **mine)


def check_files(args: argparse.Namespace, *outputs: Output) -> None:
    """Check these outputs, and those of the shared options, against the flows. Raises `OutputError`."""
    jsonl = [Output(flow_path(args.jsonl), "--jsonl", force=None, is_own=may_append)] if args.jsonl else []
    providers = [value for name, value in args.options if name == PROVIDER.name]
    check_outputs([*outputs, *jsonl], map(Path, (*args.flows, *providers)))


def _word(option: AddonOption) -> str:
    """The name of its flag among the parsed arguments."""
    return option.flag.removeprefix("--").replace("-", "_")


def _speed(text: str) -> float:
    try:
        speed = float(text)
    except ValueError:
        speed = -1
    if not 0 <= speed < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no speed: 1 is as recorded, 2 twice as fast, 0 at once")
    return speed


def repeats(text: str) -> int:
    """A limit of equal requests, as an option's value."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no number of requests: 8 is the default, 0 is no limit")
    return int(text)


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is no port: a number from 0 (any free one) to {_HIGHEST_PORT}")
    return int(text)


def _option(text: str) -> tuple[str, str]:
    name, given, value = text.partition("=")
    if not name or not given:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def flow_or_calls(text: str) -> Path | str:
    """A path, or `calls:…` as it is."""
    return text if text.startswith(PREFIX) else flow_path(text)


def flow_path(text: str) -> Path:
    """A path as the user gave it, with `~` for home."""
    return Path(text).expanduser()


_HIGHEST_PORT: Final = 65535
_TYPES: Final[dict[str, Any]] = {"toolstream_speed": _speed, "toolstream_provider_repeats": repeats}
