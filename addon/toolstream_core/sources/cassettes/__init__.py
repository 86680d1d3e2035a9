"""VCR cassettes in YAML or JSON, as vcrpy (pytest-recording) and Ruby's vcr write them."""

from toolstream_core.sources.cassettes.reading import interactions
from toolstream_core.sources.cassettes.writing import cassette

__all__ = ["cassette", "interactions"]
