"""The addon's options: their names, types, defaults and help."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from mitmproxy import flowfilter
from mitmproxy.addonmanager import Loader
from mitmproxy.exceptions import OptionsError
from mitmproxy.options import Options

from toolstream_core.errors import ToolstreamError, unknown
from toolstream_core.proxy.option_table import OPTIONS
from toolstream_core.proxy.provider import AnyProvider, CallProvider, Provider
from toolstream_core.settings import Settings, Words, settings
from toolstream_core.synthetic.responses import PREFIX, SyntheticProvider, parse_calls

OURS = tuple(option.name for option in OPTIONS)
CHANGES = frozenset({"toolstream_repair", "toolstream_shape", "toolstream_fault", "toolstream_seed"})
CAPTURE = frozenset(name for name in OURS if name.startswith("toolstream_capture"))
PROVIDER_OPTIONS = frozenset(
    {"toolstream_provider", "toolstream_provider_strict", "toolstream_provider_repeats", "toolstream_seed"}
)

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def declare(loader: Loader) -> None:
    """Register the options with mitmproxy."""
    for option in OPTIONS:
        if isinstance(option.default, tuple):
            loader.add_option(option.name, Sequence[str], [*option.default], option.help)
        else:
            kind = type(option.default)
            loader.add_option(option.name, kind, option.default, option.help, choices=option.choices or None)


_KINDS: dict[type, str] = {
    tuple: "a string, or a list of strings",
    str: "a string",
    int: "a number",
    bool: "true or false",
}


def normalize_config(options: Options) -> Iterator[str]:
    """Convert values of `config.yaml` as `--set` does: a string to a list, a number to a string. Yields errors.

    Values of another type are removed, because mitmproxy ends with a traceback for them.
    """
    for option in OPTIONS:
        given, kind = options.deferred.get(option.name), type(option.default)
        if option.name not in options.deferred or hasattr(given, "val"):  # of `--set`
            continue
        texts = given if isinstance(given, list) else [given]
        if kind is tuple and all(isinstance(one, str) for one in texts):
            options.deferred[option.name] = texts
        elif kind is str and isinstance(given, int | float) and not isinstance(given, bool):
            options.deferred[option.name] = str(given)
        elif type(given) is not kind:
            del options.deferred[option.name]
            yield f"{option.name}: {given!r} is not {_KINDS[kind]}"


def check_choices(options: Options, updated: Container[str]) -> None:
    """Refuse values that are not among an option's choices; mitmproxy only shows these. Raises `OptionsError`."""
    for option in OPTIONS:
        if not option.choices or option.name not in updated:
            continue
        value = getattr(options, option.name)
        if value not in option.choices:
            raise OptionsError(f"{option.name}: {value!r} is unknown. Expected {', '.join(option.choices)}")


def filter_of(expression: str) -> flowfilter.TFilter | None:
    """The value of `toolstream_filter`. Raises `OptionsError`."""
    try:
        return flowfilter.parse(expression) if expression else None
    except ValueError as error:
        message = (
            f"toolstream_filter: {expression!r} is not a mitmproxy filter expression ({error}). "
            "Expected, for example: ~d api.openai.com & ~m POST"
        )
        raise OptionsError(message) from error


def changes_of(options: Options) -> Settings:
    """The settings of the options in `CHANGES`. Raises `OptionsError`."""
    words = Words(
        options.toolstream_repair, options.toolstream_shape, options.toolstream_fault, options.toolstream_seed
    )
    try:
        return settings(words)
    except ToolstreamError as error:
        raise OptionsError(str(error)) from error


def speed_of(text: str) -> float:
    """The value of `toolstream_speed`. Raises `OptionsError`."""
    try:
        speed = float(text)
    except ValueError:
        speed = -1.0
    if not 0 <= speed < float("inf"):
        message = f"toolstream_speed: {text!r} is not a number from 0. 1 is the recorded speed, 0 removes all delays"
        raise OptionsError(message)
    return speed


def size_of(name: str, text: str, *, least: int = 1) -> int:
    """The number of bytes of an option's value like `500M`. Raises `OptionsError`."""
    found = _SIZE.fullmatch(text.strip())
    size = int(float(found[1]) * _UNITS[found[2].lower()]) if found else -1
    if size < least:
        message = f"{name}: {text!r} is not a number of bytes. Expected, for example, 500M or 2G"
        raise OptionsError(message)
    return size


def malformed(options: Options) -> Iterator[str]:
    """The errors of options whose values have the wrong type, or are one too many.

    mitmproxy drops the script at such a value, without a message:
    https://github.com/mitmproxy/mitmproxy/blob/v12.2.3/mitmproxy/addons/script.py#L112
    """
    for name, given in options.deferred.items():
        texts = getattr(given, "val", None)
        if name in OURS and texts is not None:
            try:
                options.set(*([f"{name}={text}" for text in texts] or [name]))
            except OptionsError as error:
                yield f"{name}: {error}"


def refuse_misspelt(names: Iterable[str]) -> None:
    """Refuse unknown options of toolstream; mitmproxy ignores options that no addon has declared."""
    for name in names:
        if name.startswith("toolstream_"):
            raise OptionsError(unknown("option", name, OURS, "`mitmdump --options`"))


def provider_of(options: Options) -> AnyProvider | None:
    """The provider of saved or generated responses; `None` if there is none. Raises `OptionsError`."""
    values: Sequence[str] = options.toolstream_provider
    repeats: int = options.toolstream_provider_repeats
    if repeats < 0:
        message = f"toolstream_provider_repeats: {repeats} is negative. Expected a number, or 0 for no limit"
        raise OptionsError(message)
    try:
        return _provider(values, options) if values else None
    except ToolstreamError as error:
        raise OptionsError(f"toolstream_provider: {error}") from error


def _provider(values: Sequence[str], options: Options) -> AnyProvider:
    made = [value for value in values if value.startswith(PREFIX)]
    if not made:
        strict, repeats = options.toolstream_provider_strict, options.toolstream_provider_repeats
        return Provider.load(values, strict=strict, repeats=repeats)
    if len(made) < len(values):
        saved = next(value for value in values if value not in made)
        raise ToolstreamError(f"{made[0]!r} and {saved!r} exclude each other: give calls: or saved flows")
    return CallProvider(SyntheticProvider(parse_calls(made), options.toolstream_seed))
