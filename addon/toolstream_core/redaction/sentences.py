"""Secrets in prose: a password that a sentence names, the words of a wallet, the token in a link that signs in.

A value has to look like one: words of a language are never hidden, for example in `the password is wrong`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from toolstream_core.redaction.assignments import has, is_placeholder, looks_random

type Span = tuple[int, int]

# Each word without its first letter where that may be a capital outside ASCII.
_ENGLISH: Final = ("password", "passcode", "passphrase")
_OTHERS: Final = (
    "passwort", "kennwort", "mot de passe", "contraseña", "contrasena", "clave", "senha", "palavra-passe", "wachtwoord",
    "hasło", "haslo", "ароль", "ароля", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호",
    "ifre", "parola", "ösenord", "adgangskode", "passord", "salasana", "jelszó", "heslo", "mật khẩu", "kata sandi",
    "كلمة المرور", "كلمة السر", "पासवर्ड", "รหัสผ่าน", "κωδικός", "סיסמה",
)  # fmt: skip
_SIGNS: Final = (
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
_LONG: Final = 8

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
SIGNS: Final = (*_SIGNS, *_SEED_NAMES, *_LINK_SIGNS)
"""In lower case: a text with fewer spaces than `SPACES` in which `sentences` finds something has one of these."""


def sentences(text: bytes, lowered: bytes) -> Iterator[Span]:
    """The places of such secrets in a text; `lowered` is the same in lower case."""
    if has(lowered, _SIGNS):
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
    return len(value) >= _LONG and digits and (signs or changes > 1) and b"-" not in value


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
        *(at + 1 for at, (word, start, _) in enumerate(words) if word in _LEADS and start < _LEADING),
    ]
    for begin in begins:
        ends = (at for at, (word, *_) in enumerate(words) if at >= begin and _ENDS.fullmatch(word))
        end = next(ends, len(words))
        if end - begin in _SEED_LENGTHS and all(_PIECE.fullmatch(word) for word, *_ in words[begin:end]):
            return found.start(1) + words[begin][1], found.start(1) + words[end - 1][2]
    return None


def _is_named(lowered: bytes, start: int) -> bool:
    return has(lowered[max(0, start - _NEAR) : start], _SEED_NAMES)


def _are_of_wallet(words: list[bytes]) -> bool:
    return len(words) in _SEED_LENGTHS and _STOP_WORDS.isdisjoint(words)
