"""Names whose values are secrets: of headers, parameters, JSON fields and variables."""

from __future__ import annotations

import enum
import re
from functools import lru_cache
from typing import Final


class Sensitivity(enum.IntEnum):
    """How certainly the value of a name is a secret."""

    NONE = 0
    IDENTITY = 1
    """Names a person, an organisation or an account: a value that looks like an id is hidden."""
    WEAK = 2
    """Also a name of ordinary things: a value that looks random is hidden."""
    STRONG = 3
    """Any value is hidden."""


_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_STRONG: Final = re.compile(
    r"(?:.*_)?(?:api_?key|apikey\d*|secret|secrets?_?key|secret_access_key|access_key|accesskey|private_?key|priv_key"
    r"|(?:subscription|functions?|signing|encryption|master|account|shared_access|storage|service|admin|license|webhook"
    r"|auth|host|deploy|ssh|hmac|consumer|app|application|activation)_key|private_key_id"
    r"|(?:client|app|consumer|shared|webhook|signing|jwt|oauth)_?secret|passw(?:or)?ds?|passwd|pwd|passphrase|passcode"
    r"|(?:access|refresh|id|auth|bearer|session|security|csrf|xsrf|api|oauth|user|bot|app|personal|private|service"
    r"|identity|web_identity|xsrf|delegation|master|device|admin|github|gitlab|gh|hf|slack|npm"
    r"|vault|deploy|ci|mcp|jwt|push|fcm|authorization|azure_ad)_?token"
    r"|personal_access_token|accesstoken|csrfmiddlewaretoken|secret_key_base|client_key_data|access_key_?id|psk|bearer|authorization|authentication|authkey|auth_data|auth"
    r"|cookies?|cookie2|credentials?|jwt|session_?key|sessionid|sessid|connection_string|csrf"
    r"|[jp]?(?:hp)?sessid|jsessionid|pgpassword|mysql_pwd|client_assertion|saml_?re(?:sponse|quest)|code_verifier"
    r"|oauth_verifier|device_code|id_token_hint|seed_phrase|recovery_(?:code|phrase)s?|backup_codes?|(?:mfa|totp)_code"
    r"|otp|cvv|cvc|card_(?:number|pin)|pin_code|security_code|ssn|social_security_number|key_material)"
    r"(?:_(?:value|base64|b64|raw|prod|production|dev|staging|test|old|new|\d+))?"
)
_WEAK: Final = re.compile(r"(?:.*_)?(?:key|token|pass|pw|cred|creds|pat|sig|assertion|nonce|hmac|mnemonic)\d*")
_IDENTITY: Final = re.compile(
    r"(?:.*_)?(?:(?:end_)?user(?:_?(?:id|uuid|identifier|email|project))?|safety_identifier|uid|sid|session(?:_id)?"
    r"|org(?:anization|anisation)?(?:_?(?:id|uuid))?|project(?:_?(?:id|uuid|number))?|account(?:_?(?:id|uuid|number))?"
    r"|(?:workspace|tenant|customer|subscription|team|member|billing|device)_?id)"
)
# Names that end like the name of a secret, but are none.
_HARMLESS: Final = re.compile(
    r"(?:.*_)?(?:(?:prompt_)?cache_key|(?:primary|foreign|sort|partition|public|idempotency|row|dict|map|object|group"
    r"|parent|translation|i18n|arg|registry|hot|shortcut|reasoning|stop|start|end|eos|bos|pad|unk|sep|mask|special"
    r"|first|last|next|previous)_(?:key|token))"
)
# Ordinary words, which name a credential if the value looks random: https://www.rfc-editor.org/rfc/rfc6749#section-4.1.
_WEAK_PARAMETERS: Final = frozenset({"code", "state", "ticket", "nonce"})
# In a query or a form, where single words are names of credentials.
_PARAMETERS: Final = frozenset({
    "key", "token", "sig", "signature", "session", "pass", "sid", "hmac", "awsaccesskeyid", "awsaccess_key_id",
    "x_amz_signature", "x_amz_security_token", "x_amz_credential", "x_goog_signature", "x_goog_credential",
})  # fmt: skip


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """`X-Api-Key`, `xApiKey` and `x_api_key` are one name."""
    return re.sub(r"[^a-z0-9]+", "_", _CAMEL.sub("_", name).lower()).strip("_")


@lru_cache(maxsize=4096)
def field_sensitivity(name: str) -> Sensitivity:
    """The sensitivity of a JSON field or a variable."""
    plain = normal(name)
    if _HARMLESS.fullmatch(plain):
        return Sensitivity.NONE
    if _STRONG.fullmatch(plain):
        return Sensitivity.STRONG
    if _WEAK.fullmatch(plain):
        return Sensitivity.WEAK
    return Sensitivity.IDENTITY if _IDENTITY.fullmatch(plain) else Sensitivity.NONE


@lru_cache(maxsize=4096)
def parameter_sensitivity(name: str) -> Sensitivity:
    """The sensitivity of a parameter in a query or a form."""
    plain = normal(name)
    if plain in _PARAMETERS or plain.endswith(("_key", "_token", "_signature", "_sig")):
        return Sensitivity.NONE if _HARMLESS.fullmatch(plain) else Sensitivity.STRONG
    return Sensitivity.WEAK if plain in _WEAK_PARAMETERS else field_sensitivity(name)
