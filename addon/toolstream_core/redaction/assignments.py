"""`name=value` in any text: queries, forms, shell commands, source, JSON in strings."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote_to_bytes

from toolstream_core.redaction.names import Sensitivity, field_sensitivity, parameter_sensitivity
from toolstream_core.redaction.strings import Span


def has(text: bytes, signs: tuple[bytes, ...]) -> bool:
    """Whether one of the signs is in a text."""
    for sign in signs:  # noqa: SIM110 - a generator costs more than the search itself
        if sign in text:
            return True
    return False


# A part of every name that counts.
_STEMS: Final = (
    b"key", b"token", b"secret", b"pass", b"pwd", b"auth", b"cookie", b"cred", b"sess", b"signature",
    b"jwt", b"user", b"account", b"organi", b"project", b"org_id", b"srf", b"connection", b"identifier",
    b"orgid", b"tenant", b"bearer", b"otp", b"hmac", b"psk", b"assertion", b"saml", b"verifier", b"device_code",
    b"client-key", b"recovery", b"backup_code", b"mfa_code", b"seed_phrase", b"cvv", b"cvc", b"card_",
    b"pw:", b"pw=", b'pw"', b"pin_code", b"security_", b"ssn", b"mnemonic", b'sid"', b'uid"',
    b"customer_id", b"workspace_id", b"team_id", b"subscription_id",
)  # fmt: skip
_SHORT_PARAMETER: Final = re.compile(rb"[?&](?i:sig|sid|pat|hmac|uid|otp)=")
# Parameters whose value is a secret if it is random, but not if it is a word.
_CODE_PARAMETER: Final = re.compile(rb"[?&](?i:code|appid|state|ticket|nonce)=")
_PLAIN_CODE: Final = re.compile(rb"(?:[A-Za-z0-9._~+/-]|%2[BF]|%3D)+", re.IGNORECASE)
SIGNS: Final = (*_STEMS, *b"sig= sid= pat= uid= code= appid= state= ticket= nonce=".split())
"""In lower case: a text in which `assignments` finds something has one of these."""
_BEFORE: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
"""Characters of a name before the part that counts."""
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
# Within quotes that are not escaped, escaped quotes belong to the value.
_QUOTED: Final = re.compile(rb"""[^"'`\\\r\n]{1,8192}""")
_QUOTING: Final = re.compile(rb"""(?:[^"'`\\\r\n]|\\["']){1,8192}""")
_BARE: Final = re.compile(rb"""[^\s"'`<>&;,\\(){}\[\]|]{1,8192}""")
_IN_QUERY: Final = re.compile(rb"""[^\s"'`<>&;,\\(){}\[\]|#]{1,8192}""")
_ARGUMENT: Final = re.compile(rb"-{0,2}[A-Za-z_][\w.-]*=[^=]")
"""The next argument or option: `key, default=None`, `my-project --location=us-east1`."""
_COOKIE_NAME: Final = re.compile(rb"cookies?(?:[-_]?[0-9]+)?\Z", re.IGNORECASE)
_COOKIE_PARTS: Final = re.compile(rb"[=;,\s]+")
_CALLED: Final = re.compile(rb"[A-Za-z_][\w.:]*")
_TYPE_VARIABLE: Final = re.compile(rb"_(?:[A-Z][a-z]+)+T")
_OF_UNION: Final = re.compile(rb"\s\|\s(?:None|str|bytes|int|bool)\b")
"""The text after the first type of an annotation: `auth: httpx2.Auth | None`."""
_PLACEHOLDER: Final = re.compile(
    rb"[^A-Za-z0-9\x80-\xff]*|[^A-Za-z0-9]{0,5}|[,;)].*|[0-9]?[*&][\w./=]+|abcd[a-z_]*|n/?a|pass(?:wd)?|pwd"
    rb"|(?:(?:foo|bar|baz)+|name|data)[0-9]{0,2}|val(?:ue)?s?(?:[0-9]{0,2}|[0-9]{1,2}[a-z:;,|/].*)"
    rb"|\.[a-z_]+|\[[a-z_ -]+\].*|%\(\w+\)s|\+ ?[a-z_.]+\)*"
    rb"|v?[0-9]{1,4}(?:\.[0-9]{1,5}){1,3}(?:[-+.]?(?:a|b|rc|dev|alpha|beta|post)[.0-9]*)?|0x[0-9a-f_]{1,16}"
    rb"|[^.\s]{0,12}(?:\.{3}|\xe2\x80\xa6)[^.\s]{0,12}"
    rb"|(?:bearer|basic|token|digest) [<{$%\[].*|(?:cram|digest|scram)-(?:md5|sha-?[0-9]{1,3})(?:-plus)?"
    rb"|(?:fake|dummy|mock|test)[-_ ](?:[a-z]+[-_ ])*(?:key|token|secret|password|project)[-_0-9]*"
    rb"|(?:(?:bearer|basic|token|digest) )?(?:[a-z]{2,6}[-_])?\*+"
    rb"|(?:[*x.\-_0]|\xe2\x80\xa2)+|1+|\$.*|<.*|\{.*|%\w+%"
    rb"|(?:your|my|the|some|insert|enter|replace|process\.env|os\.environ|getenv)\b.*"
    rb"|https?://[^@\s]*|.*\.\.\.|0?12345[0-9]*[.]?|123|1234|[A-Z_]*ID|urn:.*|:.*|your[_-].*"
    rb"|[A-Za-z_]*_(?:KEY|TOKEN|SECRET)|(?:null|none|true|false|string|str|undefined|changeme|redacted|\[redacted\]|placeholder|secret"
    rb"|same-origin|include|omit|password|token|api[_-]?key|optional|required|object|number|integer|boolean|any|bytes|bearer|basic)[.,!]*",
    re.IGNORECASE,
)
_OVERWRITTEN: Final = b"*" * 8
"""In a value whose secret is already overwritten: `sid=********; theme=********`."""
_TEMPLATE: Final = re.compile(rb"\$?\{{1,2}[^{}]*\}{1,2}")
_PHRASE: Final = re.compile(rb"(?:[a-z]{3,8} ){11,23}[a-z]{3,8}")
"""The words of a wallet: https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki."""
_NAMED: Final = re.compile(rb"[._:]|[a-z0-9][A-Z]")
"""Between the words of a name in a program."""
_MIXED: Final = re.compile(rb"[a-z][A-Z]")
_PARTS: Final = re.compile(
    rb"([A-Z][a-z]+|[a-z]{2,}|[A-Z]{2,}(?![a-z])|[A-Z]+(?=[A-Z][a-z]))"
    rb"|[A-Z][0-9]{1,2}(?=[A-Z][a-z]|[^A-Za-z0-9]|\Z)"
    rb"|(?:(?<![A-Za-z0-9])[A-Za-z])?[0-9]{1,4}(?![0-9])|(?<![A-Za-z0-9])(?:[A-Za-z](?=[._:$-])|[a-z](?=[A-Z][a-z]))"
    rb"|[._/:$#=,@*\[\]-]"
)
_NUMBERS: Final = re.compile(
    rb"25519|(?<=[Pp])-?(?:256|384|521)|(?<=secp)[0-9]{3}[kr]1|(?i:(?<=int)(?:8|16|32|64)|(?<=sha)-?[0-9]{1,3}|(?<=base)(?:32|64))"
)
"""Numbers that belong to a name: `Ed25519PrivateKey`, `sha256`."""
_TYPE_NAME: Final = re.compile(
    rb"_?[A-Za-z]\w*?(?:[a-z0-9_])(?:Credentials?|Session|Key|Token|Cookie|Auth|_key|_token)[0-9]{0,4}"
)
"""The name of a type or of a field: `"session": "PipSession"`."""
_ID: Final = re.compile(rb"[0-9@]")
_DATED: Final = re.compile(rb"[a-z0-9.-]*[a-z][a-z0-9.-]*-[12][0-9]{3}-[01][0-9]-[0-3][0-9]")
"""A name with its version: `monitoring-2010-08-01`."""
_FILE: Final = re.compile(
    rb"[^\s@?&=]{1,200}\.(?:pem|key|crt|cer|pub|json|ya?ml|toml|txt|env|ini|conf|cfg|py|js|ts|go|rs|java|c|h)"
)
_STOP_WORDS: Final = frozenset(
    b"a an and are be been by can cannot for from has have in is it its must of or"
    b" should than that the this to used via was were will with your".split()
)
_WORD_LENGTH: Final = 3
_MOSTLY: Final = 0.5
"""The minimum share of words of that length in a name."""
_WORD_AND_NUMBER: Final = 6
"""Characters for each change between letters and digits: a name has no more changes."""
_VOWEL: Final = re.compile(rb"[aeiouyAEIOUY]")
_RANDOM_LENGTH: Final = 12
_SHORT_LENGTH: Final = 6
_LEAST: Final = 3
"""The minimum length of a secret or an id, in characters."""
_BITS: Final = 3.0


def assignments(text: bytes, sensitivity: Callable[[str], Sensitivity] = field_sensitivity) -> Iterator[Span]:
    """The places of the values of secret names."""
    lowered = text.lower()
    done = -1
    for position in _hits(lowered):
        if position < done:
            continue
        before = text[max(0, position - _LONGEST_NAME) : position]
        start = position - len(before) + len(before.rstrip(_BEFORE))
        if text[start - 1 : start] == b"\\" and start < position and text[start : start + 1] in b"nrt":
            # The letter of an escape: `\\ncache-key` is a line that begins with `cache-key`.
            start += 1
        done = _NAME_AFTER.match(text, position).end()  # type: ignore[union-attr]
        name = text[start:done].decode("ascii").lstrip("-.")
        in_query = text.startswith(b"=", done) and text[max(0, start - 1) : start] in {b"?", b"&"}
        level = parameter_sensitivity(name) if in_query else sensitivity(name)
        if level and len(name) <= _LONGEST_NAME and (span := _value(text, start, done, level, in_query=in_query)):
            yield span
    if b"?" not in text and b"&" not in text:
        return
    for parameters, is_secret in ((_SHORT_PARAMETER, is_value), (_CODE_PARAMETER, _is_code)):
        for found in parameters.finditer(text):
            if (value := _BARE.match(text, found.end())) and is_secret(value[0]):
                yield value.span()


def _hits(text: bytes) -> list[int]:
    """The places of parts of names, in order."""
    found: set[int] = set()
    for stem in _STEMS:
        position = text.find(stem)
        while position >= 0:
            found.add(position)
            position = text.find(stem, position + len(stem))
    return sorted(found)


def _value(text: bytes, start: int, end: int, level: Sensitivity, *, in_query: bool) -> Span | None:
    """The place of the value of such a name, which extends from `start` to `end`."""
    is_flag = text.startswith(b"--", start)
    between = _BETWEEN.match(text, end) or (_FLAG.match(text, end) if is_flag else None)
    if between is None:
        return None if looks_random(text[start:end]) else _in_prose(text, end)
    if text.startswith(b"-----", end - 5) or (level is Sensitivity.IDENTITY and is_flag):
        return None
    value = _IN_QUERY.match(text, between.end()) if in_query and not between["open"] else _after(text, between)
    if value is None or is_placeholder(value[0]) or (in_query and b" " in value[0]):
        return None
    if not in_query and _is_code_of(text, start, end, value, quoted=bool(between["open"])):
        return None
    if _COOKIE_NAME.search(text[start:end]) and not any(map(looks_random, _COOKIE_PARTS.split(value[0]))):
        return None
    sign = between.groupdict().get("sign")
    if sign == b">" and between["open"]:
        # The end of a tag and of the text around it: `<a class=\"password\">"}`.
        return None
    if sign in {b",", b"|"} and not (sign == b"," and is_flag and not value[0].startswith(b"-")):
        # Two words of a list or a table, such as `"role": "user", "content"`, unless the second one is none.
        return value.span() if looks_random(value[0]) and not _ARGUMENT.match(value[0]) else None
    is_number = sign == b":" and between["quote"] and value[0].isdigit()
    sure = in_query or bool(between["open"] or is_number)
    return _span(value, between) if counts_as_secret(value[0], level, sure=sure) else None


def _in_prose(text: bytes, end: int) -> Span | None:
    """The place of the value in a sentence, after a name that ends at `end`."""
    between = _PROSE.match(text, end)
    value = _after(text, between) if between and not text.startswith(b"-----", end - 5) else None
    # Any word is possible here: most are too short for a secret.
    if between is None or value is None or len(value[0]) < _RANDOM_LENGTH or not _has_digit(value[0]):
        return None
    if _ARGUMENT.match(value[0]) or text.startswith(b"(", value.end()):
        return None
    return _span(value, between) if counts_as_secret(value[0], Sensitivity.WEAK, sure=bool(between["open"])) else None


def _is_code_of(text: bytes, start: int, end: int, value: re.Match[bytes], *, quoted: bool) -> bool:
    """Whether the value assigned in a program is a call, a type, or a name as well: `auth = Auth2()`, `KEY = "key"`."""
    if not quoted and _CALLED.fullmatch(value[0]):
        is_call = text.startswith(b"(", value.end())
        if is_call or _OF_UNION.match(text, value.end()) or _TYPE_VARIABLE.fullmatch(value[0]):
            return True
    name, plain = (re.sub(rb"[^a-z0-9]", b"", word.lower()) for word in (text[start:end], value[0]))
    if plain and plain in name:
        return True
    last = re.sub(rb"[^a-z0-9]", b"", text[start:end].rpartition(b".")[2].lower())
    return not quoted and plain.endswith(last) and _NAMED.search(value[0]) is not None and len(last) > _SHORT_LENGTH


def _after(text: bytes, between: re.Match[bytes]) -> re.Match[bytes] | None:
    """The value, up to its closing quote if it has one."""
    opening = between["open"]
    if opening in {None, b"("}:
        return _BARE.match(text, between.end())
    return (_QUOTED if opening.startswith(b"\\") else _QUOTING).match(text, between.end())


def _span(value: re.Match[bytes], between: re.Match[bytes]) -> Span:
    """Without the full stop of a sentence."""
    return value.start(), value.end() if between["open"] else value.start() + len(value[0].rstrip(b".,:!?"))


def counts_as_secret(value: bytes, level: Sensitivity, *, sure: bool) -> bool:
    """Whether the value of such a name is hidden; `sure` if it is known to be a value, as in JSON or a query."""
    if is_placeholder(value) or _FILE.fullmatch(value):
        return False
    if level is Sensitivity.STRONG and sure:
        return len(value) >= _LEAST and not _is_of_program(value) and not _is_prose(value)
    if b" " in value:
        return _PHRASE.fullmatch(value) is not None
    if level is Sensitivity.IDENTITY:
        is_id = _ID.search(value) is not None and b"/" not in value and not _DATED.fullmatch(value)
        return sure and len(value) >= _LEAST and is_id
    if level is Sensitivity.STRONG:
        mixed = _has_digit(value) or _MIXED.search(value) is not None
        return len(value) >= _SHORT_LENGTH and (mixed or looks_random(value)) and not is_code_name(value)
    return looks_random(value)


def is_placeholder(value: bytes) -> bool:
    """Whether a value is only a placeholder of a secret: `$API_KEY`, `<token>`, `****`, `Bearer ****`."""
    if b"EXAMPLE" in value or _PLACEHOLDER.fullmatch(value.strip()) is not None:
        return True
    if _OVERWRITTEN in value and 2 * value.count(b"*") >= len(value):
        return True
    return b"{" in value and not looks_random(_TEMPLATE.sub(b"", value))


def _is_code(value: bytes) -> bool:
    """Whether the value of an ordinary parameter is random, and not a percent-encoded text."""
    return _PLAIN_CODE.fullmatch(value) is not None and looks_random(value)


def is_value(value: bytes) -> bool:
    """Whether a value is not a placeholder."""
    return not is_placeholder(value)


def looks_random(value: bytes) -> bool:
    """Whether a word looks random: long, with a digit or with many different characters."""
    if b"%" in value:
        value = unquote_to_bytes(value)
    if len(value) < _RANDOM_LENGTH or b" " in value:
        return False
    if value.isdigit():
        return True
    if _is_words(value):
        return False
    if _has_digit(value) and any(65 <= byte | 32 <= 122 for byte in value):  # noqa: PLR2004
        return True
    return _entropy(value) >= _BITS + 1


def _is_of_program(value: bytes) -> bool:
    """Whether a value in quotes is a type, a path, a file or a member: `"PrivateKey"`, `"/srv/app"`, `"a.getKey"`."""
    named = _TYPE_NAME.fullmatch(value) or value.startswith(b"/") or b"::" in value
    return bool(named or (b"." in value and _MIXED.search(value))) and _is_words(value)


def _is_prose(value: bytes) -> bool:
    """Whether it is a part of a sentence, and therefore no passphrase."""
    return value[:1] == b" " or (value.count(b" ") > 1 and not _STOP_WORDS.isdisjoint(value.lower().split()))


def is_code_name(value: bytes) -> bool:
    """Whether the assigned value is a name in a program: `key := config.key2`, `PrivateKey = testRSAKey`."""
    named = b"." in value or b"::" in value or value.count(b"_") > 2  # noqa: PLR2004 - of more parts than a password
    return (named or not _has_digit(_NUMBERS.sub(b"", value))) and _is_words(value)


def _is_words(value: bytes) -> bool:
    """Whether it is a name or a path made of words: `someOrdinaryName`, `testRSAKey`, `config.s3_bucket`."""
    value = _NUMBERS.sub(b"", value)
    letters = signs = joints = position = 0
    was_word: bool | None = None
    while position < len(value):
        part = _PARTS.match(value, position)
        if part is None:
            return False
        word, position = part[1], part.end()
        if part[0].isalnum():
            joints += was_word is not None and was_word != bool(word)
            was_word = bool(word)
            letters += len(word) if word and len(word) >= _WORD_LENGTH and _VOWEL.search(word) else 0
        else:
            signs += 1
            was_word = None
    return letters >= _MOSTLY * (len(value) - signs) and joints * _WORD_AND_NUMBER <= max(len(value), _RANDOM_LENGTH)


def _has_digit(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)  # noqa: PLR2004


def _entropy(value: bytes) -> float:
    """In bits per byte."""
    return -sum(count / len(value) * math.log2(count / len(value)) for count in Counter(value).values())
