"""What `serve` and `run` share: the options of a proxy session, and the session itself."""

from __future__ import annotations

import math
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    import argparse

LEVELS = ("off", "calls", "chunks")


class UsageError(ValueError):
    """What was asked is not possible; the message says what would be."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Declare what both take."""
    parser.add_argument(
        "--fault", action="append", default=[], metavar="SPEC", help="cause a defect: NAME[:key=value…]"
    )
    parser.add_argument("--repair", action="append", default=[], metavar="DEFECT", help="repair what passes: safe, …")
    parser.add_argument(
        "--shape", action="append", default=[], metavar="SHAPE", help="another lawful way, or for:CLIENT"
    )
    parser.add_argument("--speed", type=_speed, default=1.0, metavar="N", help="1: as recorded; 0: at once")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="faults are drawn from it")
    parser.add_argument("--strict", action="store_true", help="refuse requests that were not recorded just so")
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


def setup_of(args: argparse.Namespace, *, network: str, log: str) -> Setup:
    """What the arguments ask for. Raises `UsageError` for a path that is not there."""
    for path in args.flows:
        if not path.exists():
            raise UsageError(f"there is no {path}; give a flow file or a folder of such")
    options: dict[str, list[str]] = {}
    for name, value in args.options:
        options.setdefault(name, []).append(value)
    return Setup(
        flows=tuple(args.flows),
        fault=tuple(args.fault),
        repair=tuple(args.repair),
        shape=tuple(args.shape),
        speed=args.speed,
        seed=args.seed,
        strict=args.strict,
        network=network,
        log=log,
        options=options,
    )


def session_of(args: argparse.Namespace, setup: Setup, log: IO[Any] | int | None) -> ProxySession:
    """The session, not yet started; it keeps nothing, however long it runs."""
    return ProxySession(setup, port=args.port, log=log, keep=False)


def _speed(text: str) -> float:
    speed = float(text)
    if not 0 <= speed < math.inf:
        raise ValueError
    return speed


def _port(text: str) -> int:
    port = int(text)
    if not 0 <= port <= 65535:  # noqa: PLR2004 - the highest port
        raise ValueError
    return port


def _option(text: str) -> tuple[str, str]:
    name, given, value = text.partition("=")
    if not name or not given:
        raise ValueError
    return name, value


def flow_path(text: str) -> Path:
    """A path as the user gave it, with `~` for home."""
    return Path(text).expanduser()
