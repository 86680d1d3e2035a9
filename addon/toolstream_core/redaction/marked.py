"""Credentials after a significant word or sign, and in prose: schemes, URLs, commands, markup, hashes, sentences.

In prose a value has to look like a secret: words of a language are never hidden, as in `the password is wrong`.
"""

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
from toolstream_core.redaction.strings import Span

# Each word without its first letter where that may be a capital outside ASCII.
_ENGLISH: Final = ("password", "passcode", "passphrase")
_OTHERS: Final = (
    "passwort", "kennwort", "mot de passe", "contraseña", "contrasena", "clave", "senha", "palavra-passe", "wachtwoord",
    "hasło", "haslo", "ароль", "ароля", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호",
    "ifre", "parola", "ösenord", "adgangskode", "passord", "salasana", "jelszó", "heslo", "mật khẩu", "kata sandi",
    "كلمة المرور", "كلمة السر", "पासवर्ड", "รหัสผ่าน", "κωδικός", "סיסמה",
)  # fmt: skip
_PASSWORD_SIGNS: Final = (
    *b"pass kennwort contrase clave senha wachtwoord haslo ifre parola adgangskode salasana heslo sandi".split(),
    *(word.encode() for word in _OTHERS if not word.isascii()),
)
"""A part of each of these words in ASCII, and the others."""
_VERBS: Final = "is|was|ist|war|lautet|est|es|é|è|är|er|on|to|jest|este|je|là|adalah|είναι|это|है|هي|היא"
_BETWEEN: Final = r"""(?:[^\s\d:=,.;!?()"'<>{}\[\]]{1,20}[^\S\r\n]+)"""
"""A word of the sentence."""
_VALUE: Final = r"""["'`]?(?P<value>[!#-&*-;=?-Z^_a-z|~]{6,64})"""
"""No quote, bracket or backslash, and ASCII: it ends where other letters begin."""


def _spoken_as(words: tuple[str, ...], verbs: str) -> re.Pattern[bytes]:
    """A word for a password with a value: after a verb, after a colon, or a few words later."""
    named, gap = "|".join(map(re.escape, words)), r"[^\S\r\n]+"
    verb = rf"{gap}{_BETWEEN}{{0,6}}?(?:{verbs})[:\s]{{1,3}}"
    colon = r"\s{0,2}(?::|：)\s{0,3}|\s?(?:是|为|為|は|が|는|은|이)(?::|：|\s){0,3}"
    pattern = rf"(?:{named})(?:et|en|a|s|е|у)?(?:(?P<verb>{verb}|{colon})|{gap}{_BETWEEN}{{0,3}}?){_VALUE}"
    return re.compile(pattern.encode(), re.IGNORECASE)


_SPOKEN: Final = (_spoken_as(_ENGLISH, "is|was"), _spoken_as(_OTHERS, _VERBS))
_EMAIL: Final = re.compile(rb"[^@]+@[\w-]+\.[\w.-]+")
_KNOWN: Final = re.compile(
    rb"(?:base ?(?:16|32|58|64|85)|sha-?[0-9]+|md5|utf-?(?:8|16)|pbkdf2|b?s?crypt|argon2|aes-?[0-9]+|rot13"
    rb"|oauth2?|[xv][0-9.]+|p[0-9]+|http|tls|ssl|[0-9]+)(?:[-_/.a-z0-9]*)",
    re.IGNORECASE,
)
"""The beginning of a technical term: `base64-encoded`, `sha256`, `8-character`."""
_CHANGES: Final = re.compile(rb"[A-Za-z][0-9]|[0-9][A-Za-z]")
_LONG_TOKEN: Final = 8

_LINK: Final = re.compile(
    rb"/[a-z_-]{0,24}(?:reset|magic|verif|confirm|invit|activat|recover|unlock|passwordless|one-?time|sign-?in|log-?in)[a-z_-]{0,24}"
    rb"/(?:[a-z_-]{1,24}/){0,2}([A-Za-z0-9_.~=-]{16,512})(?![A-Za-z0-9_.~=/-])"
)
_LINK_SIGNS: Final = (
    b"reset", b"magic", b"verif", b"confirm", b"invit", b"activat", b"recover", b"unlock", b"passwordless",
    b"onetime", b"one-time", b"signin", b"sign-in", b"login", b"log-in",
)  # fmt: skip
_TOKEN: Final = re.compile(
    rb"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,}|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.IGNORECASE
)

_WORDS: Final = rb"[a-z]{3,8}+(?: {1,2}+[a-z]{3,8}+){11,23}+(?![ ]?[a-z'-])"
_SEED: Final = re.compile(rb"(?<![A-Za-z'-])([a-z]{2,10}+(?:,? {1,2}+[a-z]{2,10}+){11,39}+)(?![a-z'-])")
"""With the words of the sentence around it."""
_LEADS: Final = frozenset(b"are is was here seed mnemonic recovery wallet backup phrase words key these bip".split())
"""The word before the first one of a wallet."""
_APART: Final = frozenset((b"", b":", b"=", b">", b"(", b"\n", b'"', b"'", b"`"))
"""The text before the words of a wallet without a sentence around them."""
_LEADING: Final = 64
"""Characters of a sentence that contain such a word."""
_SEED_LINE: Final = re.compile(rb'["\n](' + _WORDS + rb')(?=["\r\n]|\Z)')
_NUMBERED: Final = re.compile(
    rb"1[.):](?<![0-9]1.)[ ]?[a-z]{3,8}+(?:[\s,;]{1,3}+[0-9]{1,2}[.):][ ]?[a-z]{3,8}+){11,23}+(?![a-z])"
)
SPACES: Final = 11
"""A text with fewer spaces contains no seed phrase."""
_SEED_LENGTHS: Final = frozenset({12, 15, 18, 21, 24})
"""https://github.com/bitcoin/bips/blob/master/bip-0039.mediawiki"""
_SEED_NAMES: Final = (b"seed", b"mnemonic", b"recovery", b"wallet", b"bip39", b"bip-39", b"passphrase", b"secret")
_NEAR: Final = 80
_STOP_WORDS: Final = frozenset(
    b"the and for are was were not but his her has had from into been our their its she him who how why did does than"
    b" them these those would could should being per via etc nor yet let got put"
    b" which every anything until since though whose words".split()
)
"""Words of a sentence that no wallet has."""
_PIECE: Final = re.compile(rb"[a-z]{3,8}")
_ENDS: Final = re.compile(rb"[a-z]{2}|" + rb"|".join(sorted(_STOP_WORDS)))
_PROSE_SIGNS: Final = (*_PASSWORD_SIGNS, *_SEED_NAMES, *_LINK_SIGNS)
"""In lower case: a text with fewer spaces than `SPACES` in which `sentences` finds something has one of these."""


def sentences(text: bytes, lowered: bytes) -> Iterator[Span]:
    """The places of such secrets in a text; `lowered` is the same in lower case."""
    if has(lowered, _PASSWORD_SIGNS):
        yield from _spoken(text)
    if b"/" in text and has(lowered, _LINK_SIGNS):
        yield from (found.span(1) for found in _LINK.finditer(text) if is_token(found[1]))
    yield from _seeds(text, lowered)


def _spoken(text: bytes) -> Iterator[Span]:
    for spoken in _SPOKEN:
        for found in spoken.finditer(text):
            value = found["value"].rstrip(b".,:;?")
            if _is_password(value, sure=found["verb"] is not None):
                yield found.start("value"), found.start("value") + len(value)


def _is_password(value: bytes, *, sure: bool) -> bool:
    """Whether a word of a sentence looks like a password; stricter if no verb precedes it."""
    if len(value) < 6 or is_placeholder(value) or _KNOWN.fullmatch(value) or _EMAIL.fullmatch(value):  # noqa: PLR2004 - as _VALUE
        return False
    letters = re.search(rb"[A-Za-z]", value) is not None
    digits = re.search(rb"[0-9]", value) is not None
    signs = re.search(rb"[!#$%&*+?@^~]", value) is not None
    if re.search(rb"[()=/;]|\.[A-Za-z]|::|->|--", value) or not letters:
        return False
    if sure:
        return digits or signs
    changes = len(_CHANGES.findall(value))
    return len(value) >= _LONG_TOKEN and digits and (signs or changes > 1) and b"-" not in value


def is_token(word: bytes) -> bool:
    """Whether a part of a path looks random, and is not a title in small letters."""
    found = _TOKEN.search(word)
    return found is not None and looks_random(found[0]) and not is_placeholder(word)


def _seeds(text: bytes, lowered: bytes) -> Iterator[Span]:
    """The words of a wallet: named shortly before, alone in a line or a string, or numbered."""
    if text.count(b" ") < SPACES:
        return
    found = [match.span(1) for match in _SEED_LINE.finditer(b"\n" + text)]
    spans = [(start - 1, end - 1) for start, end in found]
    if has(lowered, _SEED_NAMES):
        named = (match for match in _SEED.finditer(text) if _is_named(lowered, match.start(1) + _LEADING))
        spans += [span for match in named if (span := _without_sentence(match))]
    yield from (span for span in spans if _are_of_wallet(_PIECE.findall(text[slice(*span)])))
    for numbered in _NUMBERED.finditer(text):
        if _are_of_wallet(_PIECE.findall(numbered[0])):
            yield from (part.span() for part in _PIECE.finditer(text, *numbered.span()))


def _without_sentence(found: re.Match[bytes]) -> Span | None:
    """The words of a wallet in a sentence, from the word before them up to a stop word."""
    words = [(found_word[0], *found_word.span()) for found_word in re.finditer(rb"[a-z]+", found[1])]
    is_apart = found.string[: found.start()].rstrip(b" ")[-1:] in _APART
    begins = [
        *([0] if is_apart else []),
        *(position + 1 for position, (word, start, _) in enumerate(words) if word in _LEADS and start < _LEADING),
    ]
    for begin in begins:
        ends = (position for position, (word, *_) in enumerate(words) if position >= begin and _ENDS.fullmatch(word))
        end = next(ends, len(words))
        if end - begin in _SEED_LENGTHS and all(_PIECE.fullmatch(word) for word, *_ in words[begin:end]):
            return found.start(1) + words[begin][1], found.start(1) + words[end - 1][2]
    return None


def _is_named(lowered: bytes, start: int) -> bool:
    return has(lowered[max(0, start - _NEAR) : start], _SEED_NAMES)


def _are_of_wallet(words: list[bytes]) -> bool:
    return len(words) in _SEED_LENGTHS and _STOP_WORDS.isdisjoint(words)


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


SIGNS: Final = (
    *_PROSE_SIGNS,
    *(sign for sign, _ in _BY_SIGN),
    b"private",
    b"cookie",
    b"curl",
    b"hook",
    b"--from-literal",
    *_PAIRED,
)
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
                position = outer.start(1)
                yield from (
                    (position + match.start(1), position + match.end(1))
                    for match in part.finditer(outer[1])
                    if counts(match[1])
                )
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
