"""The standard library's own scanner and writers of JSON strings, which its documents do not name: the one seam."""

from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs
from json.encoder import encode_basestring, encode_basestring_ascii

__all__ = ["encode_basestring", "encode_basestring_ascii", "scanstring"]
