"""The zstd that is there: Python's own, its backport, or the older package, whichever mitmproxy has brought.

mitmproxy up to 12.2 comes with `zstandard`, from 12.3 on with `backports.zstd`; Python 3.14 has `compression.zstd`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

LACKING: Final = "zstd is not available: install backports.zstd or zstandard"
"""What to do where nothing is there."""

_WINDOW_LOG = 23
"""8 MiB. Larger windows are forbidden for this coding: https://www.rfc-editor.org/rfc/rfc9659"""

type Decode = Callable[[bytes], bytes]


class ZstdMissingError(Exception):
    """No module that reads zstd is there."""


class _Frames:
    """Any number of frames, with the interface that Python 3.14 has."""

    def __init__(self, module: Any) -> None:
        self._zstd = module
        self._frame = self._begin()

    def __call__(self, coded: bytes) -> bytes:
        plain: bytes = b""
        while coded:
            if self._frame.eof:
                self._frame = self._begin()
            plain += self._frame.decompress(coded)
            coded = self._frame.unused_data if self._frame.eof else b""
        return plain

    def _begin(self) -> Any:
        options = {self._zstd.DecompressionParameter.window_log_max: _WINDOW_LOG}
        return self._zstd.ZstdDecompressor(options=options)


def _zstandard(module: Any) -> Decode:
    decompressor = module.ZstdDecompressor(max_window_size=1 << _WINDOW_LOG)
    decode: Decode = decompressor.decompressobj(read_across_frames=True).decompress
    return decode


MODULES: Final[dict[str, Callable[[Any], Decode]]] = {
    "compression.zstd": _Frames,
    "backports.zstd": _Frames,
    "zstandard": _zstandard,
}
"""By name, in the order in which they are tried: what makes a decoder of each."""


def _found() -> tuple[Any, Callable[[Any], Decode] | None]:
    for name, make in MODULES.items():
        try:
            return importlib.import_module(name), make
        except ImportError:
            continue
    return None, None


_MODULE, _MAKE = _found()
ERRORS: Final[tuple[type[Exception], ...]] = (_MODULE.ZstdError,) if _MODULE is not None else ()
"""What a decoder raises where the bytes are wrong."""


def decoder() -> Decode:
    """What undoes the coding of one body, piece by piece. Raises `ZstdMissingError`."""
    if _MAKE is None:
        raise ZstdMissingError(LACKING)
    return _MAKE(_MODULE)
