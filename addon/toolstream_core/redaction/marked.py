"""Credentials after a significant word or sign: schemes, URLs, commands, markup, hashes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from toolstream_core.redaction.assignments import (
    counts_as_secret,
    has,
    is_code_name,
    is_placeholder,
    is_value,
    looks_random,
)
from toolstream_core.redaction.names import Sensitivity
from toolstream_core.redaction.sentences import is_token, sentences

type Span = tuple[int, int]

_LONG: Final = 16
"""The minimum length of an unusual word that has only letters."""


def _is_credential(word: bytes) -> bool:
    """Whether the text after `Bearer` is not an ordinary word."""
    if is_placeholder(word) or is_code_name(word):
        return False
    return re.search(rb"[0-9_~+/=]|[a-z][A-Z]", word) is not None or len(word) >= _LONG


def _is_userinfo(user: bytes) -> bool:
    """Whether the part of a URL before the host is more than a user's name or the words of an example."""
    name, colon, password = user.partition(b":")
    return _is_url_password(password) if colon else looks_random(name)


def _is_url_password(password: bytes) -> bool:
    """Whether the text between a URL's user and host is none of the words that examples have."""
    plain = unquote_to_bytes(password)
    if (plain.isalpha() and len(plain) <= _SHORT) or plain.endswith(b"]"):
        return False
    return is_value(plain) and not _EXAMPLES.issuperset(plain.lower().split())


def _is_login(pair: bytes) -> bool:
    """Whether it is a user with a password, and not two numbers."""
    return not pair.replace(b":", b"").isdigit()


_SHORT: Final = 6
"""Letters up to which a password in a URL is a word of an example: `user:pass`, `a:b`, `evil:thing`."""
_EXAMPLES: Final = frozenset(b"pass passwd pw pwd password secret x xxx token opensesame".split())


def _has_digit_or_sign(word: bytes) -> bool:
    """Passwords have one, the words of a manual do not."""
    return is_value(word) and re.search(rb"[0-9!#$%^&+?~]|[a-z][A-Z]", word) is not None


class Mark(NamedTuple):
    """A way to mark something as a credential."""

    signs: tuple[bytes, ...]
    """In lower case: each text with the mark has one of these; the expression is not tried in others."""
    pattern: re.Pattern[bytes]
    """Its last group is the credential."""
    counts: Callable[[bytes], bool]
    """Whether a match is one."""


def _mark(signs: str, pattern: bytes, counts: Callable[[bytes], bool] = is_value) -> Mark:
    return Mark(tuple(signs.encode().split()), re.compile(pattern, re.IGNORECASE), counts)


_NEXT: Final = rb"""(?:\\*["'],)?"""
"""Between two words of a command that is a list of strings."""
_OPEN: Final = _NEXT + rb"""\s{0,4}\\*["']?"""
_CLOSE: Final = rb"""\\*["']?\s{0,4}"""
_WORD: Final = rb"""([^\s"'`\\|;<>]{3,256})"""
_HASH: Final = (
    rb"\$(?:2[abxy]\$[0-9]{2}\$|(?:1|5|6|apr1|y)\$(?:rounds=[0-9]{1,9}\$)?[^$\s:]{0,32}\$"
    rb"|argon2(?:id|i|d)\$(?:[a-z0-9=,]{1,40}\$){0,3}[^$\s:]{0,64}\$)([A-Za-z0-9./+]{20,128})"
)
_PIPED: Final = rb"\b(?:echo|printf)(?:\s{1,4}-n|\s{1,4}\\*[\"']%s(?:\\+n)?\\*[\"'])?\s{1,4}\\*[\"']?" + _WORD + _CLOSE
"""The output of a command, which the next one reads."""
MARKS: Final = (
    _mark("bearer basic ssws", rb"(?:bearer|basic|ssws)(?:\s|%20|\+|\\t)+([A-Za-z0-9._~+/=%-]{8,})", _is_credential),
    _mark(
        "authorization",
        rb"""authorization\\*["']?\s{0,4}[:=]\s{0,4}\\*["']?[A-Za-z0-9_-]{2,20}\s{1,4}([^\s"'`\\,;*]{6,4096})""",
        lambda word: is_value(word) and b"=" not in word.rstrip(b"="),
    ),
    _mark("://", rb"://([^\s/?#@\"'<>\\]{1,256})@", _is_userinfo),
    # A password with a slash: the text after the colon is no port.
    _mark("://", rb"://[^\s/?#@:\"'<>\\]{0,64}:(?![0-9]{1,5}(?:[/?#]|\b))([^\s@\"'<>\\]{1,256})@", _is_url_password),
    _mark(
        "curl",
        rb"""\bcurl(?=[\s\\"'])[^|;\x01]{0,600}?[\s"'](?:-u|--user)"""
        + _NEXT
        + rb"""[\s=]{1,4}\\*["']?([^\s"':*]{1,64}:[^\s"'\\*]{3,128})""",
        _is_login,
    ),
    _mark("/subscriptions/", rb"/subscriptions/([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})"),
    # Passwords on the command line, which one letter marks.
    _mark("login", rb"\blogin\b[^\r\n|;]{0,160}?[\s\"']-p" + _OPEN + _WORD),
    _mark("sshpass", rb"\bsshpass" + _OPEN + rb"-p" + _OPEN + _WORD),
    _mark("mysql mariadb", rb"\b(?:mysql|mariadb)[a-z-]{0,12}\b[^\r\n|;]{0,160}?[\s\"']-p\\*[\"']?" + _WORD),
    _mark("redis-cli", rb"\bredis-cli\b[^\r\n|;]{0,160}?[\s\"']-a" + _OPEN + _WORD),
    _mark("ldap", rb"\bldap[a-z]{1,12}\b[^\r\n|;]{0,160}?[\s\"']-w" + _OPEN + _WORD),
    _mark("-stdin --with-token", rb"\becho(?:\s{1,4}-n)?\s{1,4}\\*[\"']?" + _WORD + _CLOSE + rb"\|[^\r\n|]{0,99}\s--"),
    _mark("sudo", _PIPED + rb"\|\s{0,4}sudo\b[^\r\n|]{0,99}\s-[a-z]*(?-i:S)\b"),
    _mark(
        "chpasswd",
        rb"\becho\s[^\r\n|]{0,64}?[\w.-]{1,64}:" + _WORD + _CLOSE + rb"\|\s{0,4}(?:sudo\s+)?chpasswd",
    ),
    _mark("<<<", rb"(?:-stdin|--with-token|\bsudo\s[^\r\n|<]{0,40}-(?-i:S)\b)[^\r\n|<]{0,99}<<<" + _OPEN + _WORD),
    _mark("pass:", rb"-pass(?:in|out)?" + _OPEN + rb"pass:" + _WORD),
    _mark(
        "htpasswd",
        rb"\bhtpasswd(?=[^\r\n|;&]{0,99}\s-[a-z]*b)[^\r\n|;&<>]{0,256}?\s\\*[\"']?"
        + _WORD
        + _CLOSE
        + rb"(?:\Z|[\r\n|;&<>)`},])",
    ),
    _mark("/user:", rb"\bnet\s+use\s[^\r\n]{0,160}?/user:\S{1,99}\s{1,4}\\*[\"']?(?!/)" + _WORD),
    _mark("/user:", rb"\bnet\s+use\s[^\r\n]{0,80}?\\\\\S{1,160}\s{1,4}\\*[\"']?(?!/)" + _WORD + _CLOSE + rb"\s/user:"),
    # `aws configure set aws_secret_access_key …`, `npm config set //host/:_authToken …`.
    _mark(
        "config",
        rb"\bconfig(?:ure)?(?:\s+--?[a-z-]{1,32}(?:[= ][\w-]{1,32})?){0,3}\s+set\s+\\*[\"']?[^\s=\"']{0,128}?"
        rb"(?:secret_access_key|session_token|authtoken|password|api_?key)\\*[\"']?\s{1,4}\\*[\"']?" + _WORD,
    ),
    _mark("rclone", rb"\brclone\s+obscure\s{1,4}\\*[\"']?(?!-)" + _WORD),
    _mark(
        "mc",
        rb"\bmc\s+(?:alias\s+set|config\s+host\s+add)\s+\S{1,99}\s+\S{1,256}"
        rb"\s+\S{3,128}\s{1,4}\\*[\"']?" + _WORD,
        _has_digit_or_sign,
    ),
    # Headers that only occur as a line of a text.
    _mark(
        "dpop x-device x-machine x-installation x-hardware",
        rb"\b(?:dpop|x-(?:device|machine|installation|hardware)-u?u?id)\\*[\"']?\s?:\s?\\*[\"']?([A-Za-z0-9._~+/=-]{12,8192})",
        looks_random,
    ),
    # Addresses that accept messages without another secret.
    _mark("hooks.zapier.com", rb"hooks\.zapier\.com/hooks/catch/[0-9]{1,12}/([a-z0-9]{5,64})"),
    _mark("hook.", rb"\bhook\.(?:[a-z0-9-]{1,12}\.)?(?:make|integromat)\.com/([a-z0-9]{20,64})"),
    _mark("/with/key/", rb"ifttt\.com/trigger/[^\s/]{1,64}/(?:json/)?with/key/([\w-]{12,64})"),
    _mark("auth", rb"\b(?-i:AUTH)\s{1,4}(?:[\w-]{1,32}\s{1,4})?(?!\*)" + _WORD, looks_random),
    _mark("machine", rb"\bmachine\s+\S{1,128}\s+login\s+\S{1,128}\s+password\s+" + _WORD),
    _mark("requirepass masterauth bindpw", rb"\b(?:requirepass|masterauth|bindpw)\s{1,4}\\*[\"']?" + _WORD),
    _mark("identified", rb"\bidentified\s(?:with\s\S{1,40}\s)?by\s\\*[\"']([^\"'\\\r\n]{1,128})"),
    _mark(":543", rb"(?<![\w.*-])[\w.*-]{1,128}:543[0-9]:[\w*-]{1,64}:[\w*-]{1,64}:([^\s:&\"'\\]{4,128})(?![:\w])"),
    _mark("jdbc:oracle:", rb"\bjdbc:oracle:[a-z]{1,8}:[^\s/@\"']{1,64}/([^\s@\"'\\]{1,128})@"),
    # Signatures and sessions.
    _mark("signature=", rb"\bsignature=([0-9a-f]{64}|[A-Za-z0-9+/%_~-]{27,})", looks_random),
    _mark("digest", rb"\bdigest\s[^\r\n]{0,400}?\bresponse=\\*\"?([0-9a-f]{32,64})"),
    _mark("kty", rb"\"\s?(?:d|k|p|q|dp|dq|qi)\\*\"\s?:\s?\\*\"([A-Za-z0-9_-]{16,})", looks_random),
    _mark("$", _HASH),
    _mark("password", rb"<input\b[^<>]{0,200}?\btype=.{0,4}password\b[^<>]{0,200}?\bvalue=\\*[\"']([^\"'\\<>]+)"),
)  # fmt: skip
_BY_SIGN: Final = tuple((sign, mark) for mark in MARKS for sign in mark.signs)
_COOKIES: Final = re.compile(
    rb"""(?:\b(?:set-)?cookie\\*["']?\s?:\s{0,4}\\*["']?|\bcurl\b[^\r\n|;]{0,400}?\s(?:-b|--cookie)[\s=]\\*["']?)"""
    rb"""([^\r\n"'\\]{1,4096})""",
    re.IGNORECASE,
)
_COOKIE: Final = re.compile(
    rb"(?:^|;)\s{0,4}(?!(?:path|domain|expires|max-age|samesite|priority)=)[^=;\s]{1,128}=([^;\s]{4,})", re.IGNORECASE
)
# A name, and the value next to it: in markup, in YAML, in a property list.
_PAIRS: Final = (
    re.compile(
        rb"""\b(?:name|key|id)=\\*["']([\w.-]{1,64})\\*["'][^<>\r\n]{0,200}?"""
        rb"""\b(?:value|content)=\\*["']([^"'\\<>\r\n]{1,8192})"""
    ),
    re.compile(
        rb"""\bname:[ \t]{0,4}["']?([\w.-]{1,64})["']?[ \t]*(?:\r?\n|,|[ \t])[ \t"']{0,40}"""
        rb"""value:[ \t]{0,4}["']?([^\s"'\\]{1,8192})"""
    ),
    re.compile(rb"""<key>([\w.-]{1,64})</key>[\s"',]{0,40}<string>([^<>]{1,8192})"""),
)
_PAIRED: Final = (b"value=", b"value:", b"content=", b"<key>")
_KEY_BLOCKS: Final = (
    re.compile(
        rb"-----BEGIN[ A-Z0-9_-]{0,60}PRIVATE KEY(?: BLOCK)?-----([^\x01]{0,16384}?)"
        rb"(?:-----END[ A-Z0-9_-]{0,60}-----|\n\x01|\Z)"
    ),
    re.compile(rb"Private-Lines: [0-9]{1,3}\s([^\x01]{0,16384}?)(?:Private-MAC|\n\x01|\Z)"),
)
_KEY_BEGINS: Final = re.compile(rb"[ \t]*(?:\r?\n|\\+[nr])(?:\s|\\+[nr])*[A-Za-z0-9+/=]{4,}[ \t]*(?:[\\\r\n\"-]|\Z)")
# Texts with several secrets: an address, a command.
_ROWS: Final = (
    (
        (b"hook",),
        re.compile(rb"(?<![a-z.])(?:[\w-]*hooks?(?:b2)?/)([^\s\"'<>?#&,;)\]}\\]{8,512})", re.IGNORECASE),
        re.compile(rb"(?:^|(?<=/))([A-Za-z0-9_@=-]{16,})(?=/|[.:!]?$)"),
        is_token,
    ),
    (
        (b"--from-literal",),
        re.compile(rb"\bsecret\s((?:\\+r?\\*n?\s|[^\r\n|;]){1,4096})", re.IGNORECASE),
        re.compile(rb"""--from-literal[=\s]\s{0,4}\\*["']?[\w.-]{1,64}=""" + _OPEN + _WORD),
        is_value,
    ),
)
_KEY_LINE: Final = re.compile(rb"[A-Za-z0-9+/=]+")


SIGNS: Final = (*(sign for sign, _ in _BY_SIGN), b"private", b"cookie", b"curl", b"hook", b"--from-literal", *_PAIRED)
"""In lower case: a text in which a mark finds something has one of these."""


def marked(text: bytes, sensitivity: Callable[[str], Sensitivity]) -> Iterator[Span]:
    """The places of such credentials; `sensitivity` returns that of the name in a pair."""
    lowered = text.lower()
    for sign, mark in _BY_SIGN:
        if sign in lowered:
            last = mark.pattern.groups
            yield from (found.span(last) for found in mark.pattern.finditer(text) if mark.counts(found[last]))
    for signs, row, part, counts in _ROWS:
        if has(lowered, signs):
            for outer in row.finditer(text):
                at = outer.start(1)
                yield from ((at + one.start(1), at + one.end(1)) for one in part.finditer(outer[1]) if counts(one[1]))
    yield from sentences(text, lowered)
    if b"private" in lowered:
        yield from _key_lines(text)
    if has(lowered, (b"cookie", b"curl")):
        yield from _cookies(text)
    if has(lowered, _PAIRED):
        yield from _paired(text, sensitivity)


def _key_lines(text: bytes) -> Iterator[Span]:
    for pattern in _KEY_BLOCKS:
        for block in pattern.finditer(text):
            lines = [*_KEY_LINE.finditer(text, *block.span(1))]
            # Otherwise a program or a sentence only mentions the beginning of a key.
            if _KEY_BEGINS.match(block[1]) or any(looks_random(line[0]) for line in lines):
                yield from (line.span() for line in lines if not is_placeholder(line[0]))


def _cookies(text: bytes) -> Iterator[Span]:
    """The values of all cookies in a quoted header; only the first one follows the header's name."""
    for cookies in _COOKIES.finditer(text):
        begin = cookies.start(1)
        for pair in _COOKIE.finditer(cookies[1]):
            if looks_random(pair[1]):
                yield begin + pair.start(1), begin + pair.end(1)


def _paired(text: bytes, sensitivity: Callable[[str], Sensitivity]) -> Iterator[Span]:
    for pattern in _PAIRS:
        for found in pattern.finditer(text):
            level = sensitivity(found[1].decode("latin-1"))
            if level and counts_as_secret(found[2], level, sure=True):
                yield found.span(2)
