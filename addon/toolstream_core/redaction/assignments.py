"""`name=value` in any text: queries, forms, shell commands, source, JSON in strings."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.names import Sensitivity, field_sensitivity, parameter_sensitivity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

type Span = tuple[int, int]

# A piece of every name that counts.
_STEMS: Final = (
    b"key", b"token", b"secret", b"pass", b"pwd", b"auth", b"cookie", b"cred", b"sess", b"signature",
    b"jwt", b"user", b"account", b"organi", b"project", b"org_id", b"srf", b"connection", b"identifier",
    b"orgid", b"tenant", b"bearer", b"otp", b"hmac", b"psk", b"assertion", b"saml", b"verifier", b"device_code",
    b"client-key", b"recovery", b"backup_code", b"mfa_code", b"seed_phrase", b"cvv", b"cvc", b"card_",
    b"pin_code", b"security_", b"ssn", b"mnemonic", b'sid"', b'uid"',
    b"customer_id", b"workspace_id", b"team_id", b"subscription_id",
)  # fmt: skip
_SHORT_PARAMETER: Final = re.compile(rb"[?&](?i:sig|sid|pat|hmac|uid|otp)=")
# Parameters of which a random value is a secret, and a word is none.
_CODE_PARAMETER: Final = re.compile(rb"[?&](?i:code|appid)=")
_BEFORE: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
"""Characters of a name before the piece that counts."""
_NAME_AFTER: Final = re.compile(rb"[A-Za-z0-9_\-]*")
_LONGEST_NAME: Final = 64
_BETWEEN: Final = re.compile(
    rb"""(?P<quote>\\*["'`]|\*{1,2})?\]?\s{0,8}"""
    # `key: str = "…"`, `**Password:** …`, `| password | …`.
    rb"""(?P<sign>:\s?[&'A-Za-z][\w.\[\]<>' ]{0,40}?\s=\s(?=\\*["'`])|:\*{1,2}"""
    rb"""|=>|:=|\?=|={1,3}|:{1,3}=?|,\s{0,8}\\*["']value\\*["']\s?:|>|\|\||\||,)"""
    rb"""(?:\s{0,16}-[ ]+|\s{0,8})"""
    rb"""(?P<open>\\*(?:\"{3}|'{3}|["'`]))?(?:(?:Bearer|Basic|Token|Digest|ApiKey|Bot)(?:\s+|%20|\+))?""",
    re.IGNORECASE,
)
# `Incorrect API key provided: …`, `the token is …`.
_PROSE: Final = re.compile(
    rb"""s?(?:[ \t](?:you[ \t])?(?:provided|given|is|was|used|received|sent|header|value|supplied)){0,2}"""
    rb"""[ \t]?[:=]?[ \t](?P<open>["'`(])?""",
    re.IGNORECASE,
)
_FLAG: Final = re.compile(rb"""\s{1,4}(?P<open>\\*["'])?""")
# Within quotes that are not escaped themselves, escaped ones are of the value.
_QUOTED: Final = re.compile(rb"""[^"'`\\\r\n]{1,8192}""")
_QUOTING: Final = re.compile(rb"""(?:[^"'`\\\r\n]|\\["']){1,8192}""")
_BARE: Final = re.compile(rb"""[^\s"'`<>&;,\\(){}\[\]|]{1,8192}""")
_PLACEHOLDER: Final = re.compile(
    rb"[^A-Za-z0-9\x80-\xff]{0,5}|(?:(?:bearer|basic|token|digest) )?\*+"
    rb"|(?:[*x.\-_0]|\xe2\x80\xa2)+|1+|\$.*|<.*|\{.*|%\w+%"
    rb"|(?:your|my|the|some|insert|enter|replace|process\.env|os\.environ|getenv)\b.*"
    rb"|your[_-].*|[A-Za-z_]*_(?:KEY|TOKEN|SECRET)|(?:null|none|true|false|string|str|undefined|changeme|redacted|\[redacted\]|placeholder|secret"
    rb"|password|token|api[_-]?key|optional|required|object|number|integer|boolean|any|bytes|bearer|basic)[.,!]*",
    re.IGNORECASE,
)
_PHRASE: Final = re.compile(rb"(?:[a-z]{3,8} ){11,23}[a-z]{3,8}")
"""Words from which a wallet is made: https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki."""
_MIXED: Final = re.compile(rb"[a-z][A-Z]")
_CAMEL: Final = re.compile(rb"[a-z]*(?:[A-Z][a-z]+)+")
"""`someOrdinaryName`."""
_WORD_LENGTH: Final = 4
_LOWER: Final = b"abcdefghijklmnopqrstuvwxyz"
_RANDOM_LENGTH: Final = 12
_SHORT_LENGTH: Final = 6
_BITS: Final = 3.0


def assignments(text: bytes, sensitivity: Callable[[str], Sensitivity] = field_sensitivity) -> Iterator[Span]:
    """Where the values of secret names stand."""
    lowered = text.lower()
    done = -1
    for at in _hits(lowered):
        if at < done:
            continue
        before = text[max(0, at - _LONGEST_NAME) : at]
        start = at - len(before) + len(before.rstrip(_BEFORE))
        if text[start - 1 : start] == b"\\" and start < at and text[start : start + 1] in b"nrt":
            # The letter of an escape: `\\ncache-key` is a line that begins with `cache-key`.
            start += 1
        done = _NAME_AFTER.match(text, at).end()  # type: ignore[union-attr]
        name = text[start:done].decode("ascii").lstrip("-.")
        in_query = text.startswith(b"=", done) and text[max(0, start - 1) : start] in {b"?", b"&"}
        level = parameter_sensitivity(name) if in_query else sensitivity(name)
        if level and len(name) <= _LONGEST_NAME and (span := _value(text, start, done, level, in_query=in_query)):
            yield span
    if b"?" not in text and b"&" not in text:
        return
    for parameters, tells in ((_SHORT_PARAMETER, is_value), (_CODE_PARAMETER, looks_random)):
        for found in parameters.finditer(text):
            if (value := _BARE.match(text, found.end())) and tells(value[0]):
                yield value.span()


def _hits(text: bytes) -> list[int]:
    """Where pieces of names stand, in order."""
    found: set[int] = set()
    for stem in _STEMS:
        at = text.find(stem)
        while at >= 0:
            found.add(at)
            at = text.find(stem, at + len(stem))
    return sorted(found)


def _value(text: bytes, start: int, end: int, level: Sensitivity, *, in_query: bool) -> Span | None:
    """Where the value of such a name stands, which itself stands from `start` to `end`."""
    between = _BETWEEN.match(text, end)
    if between is None and text.startswith(b"--", start):
        between = _FLAG.match(text, end)
    in_prose = between is None
    if between is None:
        between = _PROSE.match(text, end)
    if between is None or text.startswith(b"-----", end - 5):
        return None
    if in_prose:
        level = Sensitivity.WEAK
    quoted = _QUOTED if (between["open"] or b"").startswith(b"\\") else _QUOTING
    value = (quoted if between["open"] else _BARE).match(text, between.end())
    # What may be any word comes often: mostly its length alone tells that it is no secret.
    if value is None or (in_prose and len(value[0]) < _RANDOM_LENGTH):
        return None
    if is_placeholder(value[0]) or (in_query and b" " in value[0]):
        return None
    sign = between.groupdict().get("sign")
    if sign == b">" and between["open"]:
        # The end of a tag and of the text around it: `<a class=\"password\">"}`.
        return None
    is_flag = sign == b"," and text.startswith(b"--", start) and not value[0].startswith(b"-")
    if sign in {b",", b"|"} and not is_flag:
        # Two words of a list or a table, such as `"role": "user", "content"`, unless the second one is none.
        return value.span() if looks_random(value[0]) else None
    is_number = sign == b":" and between["quote"] and value[0].isdigit()
    sure = in_query or bool(between["open"] or is_number)
    if not counts_as_secret(value[0], level, sure=sure):
        return None
    # Where a sentence ends, its full stop is no part of what it names.
    return value.start(), value.end() if between["open"] else value.start() + len(value[0].rstrip(b".,:!?"))


def counts_as_secret(value: bytes, level: Sensitivity, *, sure: bool) -> bool:
    """Whether the value of such a name is hidden; `sure` where it is known to be a value, as in JSON or a query."""
    if is_placeholder(value):
        return False
    if level is Sensitivity.STRONG and sure:
        return True
    if b" " in value:
        return _PHRASE.fullmatch(value) is not None
    if level is Sensitivity.IDENTITY:
        return sure and len(value) >= _SHORT_LENGTH // 2
    if level is Sensitivity.STRONG:
        mixed = _has_digit(value) or _MIXED.search(value) is not None
        return len(value) >= _SHORT_LENGTH and (mixed or looks_random(value))
    return looks_random(value)


def is_placeholder(value: bytes) -> bool:
    """Whether a value only stands where a secret would: `$API_KEY`, `<token>`, `****`, `Bearer ****`."""
    return _PLACEHOLDER.fullmatch(value.strip()) is not None


def is_value(value: bytes) -> bool:
    """Whether a value is no placeholder."""
    return not is_placeholder(value)


def looks_random(value: bytes) -> bool:
    """Whether a word looks drawn by chance: long, with a digit or with as many different characters as that needs."""
    if len(value) < _RANDOM_LENGTH or b" " in value:
        return False
    if value.isdigit():
        return True
    if _has_digit(value) and any(65 <= byte | 32 <= 122 for byte in value):  # noqa: PLR2004
        return True
    return _entropy(value) >= _BITS + 1 and not _is_name(value)


def _is_name(value: bytes) -> bool:
    """Whether it is words, each with a capital letter; in what is drawn by chance these are half of all."""
    return _CAMEL.fullmatch(value) is not None and len(value.translate(None, _LOWER)) * _WORD_LENGTH <= len(value)


def _has_digit(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)  # noqa: PLR2004


def _entropy(value: bytes) -> float:
    """Bits a byte."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
