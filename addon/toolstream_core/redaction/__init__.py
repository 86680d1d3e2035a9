"""Overwrites secrets in saved data, length for length."""

from toolstream_core.redaction.body import BodyRedactor, redacted_body
from toolstream_core.redaction.headers import known_secrets, redacted_fields, redacted_path, redacted_text
from toolstream_core.redaction.settings import Redaction, TextMode, redaction_of

__all__ = [
    "BodyRedactor",
    "Redaction",
    "TextMode",
    "known_secrets",
    "redacted_body",
    "redacted_fields",
    "redacted_path",
    "redacted_text",
    "redaction_of",
]
