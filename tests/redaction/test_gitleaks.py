"""Secrets that gitleaks finds are redacted too.

If `TOOLSTREAM_GITLEAKS` is the path of a `gitleaks.toml`, each of its rules is tested with samples of its expression.
"""

from __future__ import annotations

import math
import os
import random
import re
import string
import tomllib
from collections import Counter
from pathlib import Path
from re import _parser  # type: ignore[attr-defined]
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.redaction.test_random_secrets import ALNUM, HEX, SHAPED, URLSAFE, random_text, shaped
from toolstream_core.redaction import redacted_body

if TYPE_CHECKING:
    from collections.abc import Callable

RULES: Final[dict[str, Callable[[random.Random], str]]] = {
    "anthropic-admin-api-key": SHAPED["anthropic-admin"],
    "anthropic-api-key": SHAPED["anthropic"],
    "aws-access-token": SHAPED["aws-id"],
    "aws-amazon-bedrock-api-key-long-lived": SHAPED["bedrock"],
    "databricks-api-token": SHAPED["databricks"],
    "gcp-api-key": SHAPED["google"],
    "github-app-token": SHAPED["github-app"],
    "github-fine-grained-pat": SHAPED["github-fine"],
    "github-oauth": SHAPED["github-oauth"],
    "github-pat": SHAPED["github"],
    "gitlab-pat": SHAPED["gitlab"],
    "huggingface-access-token": SHAPED["huggingface"],
    "jwt": SHAPED["token"],
    "npm-access-token": SHAPED["npm"],
    "openai-api-key": SHAPED["openai-project"],
    "perplexity-api-key": SHAPED["perplexity"],
    "pypi-upload-token": SHAPED["pypi"],
    "sendgrid-api-token": SHAPED["sendgrid"],
    "slack-app-token": SHAPED["slack-app"],
    "slack-bot-token": SHAPED["slack-bot"],
    "stripe-access-token": SHAPED["stripe"],
    "twilio-api-key": SHAPED["twilio"],
    "vault-service-token": SHAPED["vault"],
    "age-secret-key": shaped("AGE-SECRET" + "-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),
    "airtable-personnal-access-token": lambda rng: "pa" + f"t{random_text(rng, ALNUM, 14)}.{random_text(rng, HEX, 64)}",
    "alibaba-access-key-id": shaped("LT" + "AI", ALNUM, 20),
    "artifactory-api-key": shaped("AK" + "Cp", ALNUM, 69),
    "digitalocean-pat": shaped("do" + "p_v1_", HEX, 64),
    "doppler-api-token": shaped("d" + "p.pt.", ALNUM, 43),
    "grafana-service-account-token": lambda rng: "gl" + f"sa_{random_text(rng, ALNUM, 32)}_{random_text(rng, HEX, 8)}",
    "linear-api-key": shaped("li" + "n_api_", ALNUM, 40),
    "notion-api-token": shaped("nt" + "n_", ALNUM, 46),
    "planetscale-password": shaped("psca" + "le_pw_", ALNUM, 40),
    "rubygems-api-token": shaped("ruby" + "gems_", HEX, 48),
    "sentry-org-token": shaped("sn" + "trys_", ALNUM, 120),
    "shopify-access-token": shaped("sh" + "pat_", HEX, 32),
    "slack-webhook-url": shaped("https://hooks.slack.com/serv" + "ices/T0", ALNUM, 44),
    "square-access-token": shaped("sq" + "0atp-", URLSAFE, 22),
    "telegram-bot-api-token": lambda rng: f"{rng.randrange(10**8, 10**9)}:A{random_text(rng, URLSAFE, 34)}",
    "cohere-api-token": lambda rng: f"cohere_token = {random_text(rng, ALNUM, 40)}",
    "discord-client-secret": lambda rng: f'discord_secret: "{random_text(rng, ALNUM, 32)}"',
    "heroku-api-key": lambda rng: "heroku_key=" + "-".join(random_text(rng, HEX, size) for size in (8, 4, 4, 4, 12)),
    "private-key": lambda rng: (
        f"-----BEGIN RSA PRIVATE KEY-----\n{random_text(rng, ALNUM, 64)}\n-----END RSA PRIVATE KEY-----"
    ),
    "curl-auth-user": lambda rng: f"curl -u me:{random_text(rng, ALNUM, 16)} https://x.example",
}
"""Rules for credentials that occur in the traffic of language models, with a function that makes a sample."""

EXEMPT: Final = {
    "pkcs12-file": "matches a file name",
    "kubernetes-secret-yaml": "matches a manifest, whose values are found by their names and shapes",
    "generic-api-key": "any word that begins with key or api counts as a name",
    "hashicorp-tf-password": "as generic-api-key, and its secret includes the quotes",
    "curl-auth-user": "samples have a quoted user, and control characters between words",
    "curl-auth-header": "samples have control characters between words",
    "sidekiq-secret": "matches two short numbers",
    "sumologic-access-id": "an account id of 14 letters, not a credential",
    "linkedin-client-id": "an application id of 14 letters, not a credential",
    "linkedin-client-secret": "16 letters, found if they have a digit and a name with `secret`",
    "dropbox-api-token": "15 letters, found if they have a digit and a name with `token`",
    "slack-webhook-url": "samples have any letter in place of an address's dot",
    "slack-config-access-token": "samples have any letter in place of the token's dot",
    "slack-legacy-workspace-token": "eight letters, found if one is a digit",
    "sourcegraph-access-token": "40 hexadecimal digits, like any commit",
    "authress-service-client-access-key": "samples have dots in random places",
    "facebook-access-token": "samples have several separators between id and token",
    "freemius-secret-key": "samples have signs that no key has",
    "jwt": "samples end inside a part",
    "mailchimp-api-key": "not found with several signs between name and key",
    "nytimes-access-token": "not found with several signs between name and key",
    "sonar-api-token": "not found with several signs between name and key",
    "cohere-api-token": "not found with several signs between name and key",
}
"""Rules with random samples that are not all found, and the reason."""


@pytest.mark.parametrize("rule", RULES)
def test_credentials_that_gitleaks_knows_are_redacted(rule: str) -> None:
    """They are found in text and in JSON."""
    rng = random.Random(rule)
    for frame in ("{}", 'data: {{"text":"see {} here"}}\n\n'):
        for _ in range(5):
            sample = RULES[rule](rng)
            secret = max(re.findall(r"[\w.~+/-]{14,}", sample), key=len)
            assert secret not in redacted_body(frame.format(sample.replace("\n", "\\n")).encode()).decode()


def sample_of(rng: random.Random, parsed: Any) -> str:
    """A random text that matches an expression."""
    made: list[str] = []
    for operation, value in parsed:
        match str(operation):
            case "LITERAL":
                made.append(chr(value))
            case "IN":
                made.append(rng.choice(letters_of(value)))
            case "ANY" | "NOT_LITERAL":
                made.append(rng.choice("abc123"))
            case "BRANCH":
                made.append(sample_of(rng, rng.choice(value[1])))
            case "SUBPATTERN":
                made.append(sample_of(rng, value[3]))
            case "MIN_REPEAT":
                made += [sample_of(rng, value[2]) for _ in range(value[0])]
            case "MAX_REPEAT":
                made += [sample_of(rng, value[2]) for _ in range(rng.randint(value[0], min(value[1], value[0] + 8)))]
    return "".join(made)


def letters_of(choices: Any) -> str:
    """The characters of a class, only letters and digits if it has any."""
    found: set[str] = set()
    negated = False
    for operation, value in choices:
        match str(operation):
            case "NEGATE":
                negated = True
            case "LITERAL":
                found.add(chr(value))
            case "RANGE":
                found |= {chr(code) for code in range(value[0], min(value[1], 126) + 1)}
            case "CATEGORY":
                word = string.ascii_letters + string.digits + "_"
                found |= set({"CATEGORY_DIGIT": string.digits, "CATEGORY_WORD": word}.get(str(value), " "))
    if negated:
        found = set(string.ascii_letters + string.digits + " -.") - found
    return "".join(sorted(one for one in found if one.isalnum()) or sorted(found))


def entropy(text: str) -> float:
    """Bits for each character, as in gitleaks."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def python_of(expression: str) -> str:
    """A regular expression of Go, translated to Python."""
    plain = expression.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[A-Za-z0-9]").replace("[:alnum:]", "A-Za-z0-9")
    plain = plain.replace("(?-i:", "(?:").replace("(?s)", "")
    return "(?i)" + plain.replace("(?i)", "") if "(?i)" in plain else plain


def secrets_of(rule: dict[str, Any], rng: random.Random) -> list[tuple[str, str]]:
    """Texts in which a rule finds a secret, and the secret."""
    expression = re.compile(python_of(rule["regex"]))
    parsed = _parser.parse(expression.pattern)
    found: list[tuple[str, str]] = []
    for _ in range(40):
        sample = sample_of(rng, parsed)
        if match := expression.search(sample):
            secret = next((group for group in match.groups() if group), match[0])
            if entropy(secret) >= rule.get("entropy", 0):
                found.append((sample, secret))
    return found[:8]


def test_every_rule_of_a_gitleaks_table() -> None:
    """No rule finds a secret in redacted text. Needs `TOOLSTREAM_GITLEAKS`."""
    path = os.environ.get("TOOLSTREAM_GITLEAKS")
    if not path:
        pytest.skip("TOOLSTREAM_GITLEAKS names no gitleaks.toml")
    rules = tomllib.loads(Path(path).read_text(encoding="utf-8"))["rules"]
    rng = random.Random(1)
    missed = {
        rule["id"]: sample
        for rule in rules
        if "regex" in rule and rule["id"] not in EXEMPT
        for sample, secret in secrets_of(rule, rng)
        if secret in redacted_body(sample.encode()).decode()
    }
    assert missed == {}
