"""What gitleaks tells as a secret is redacted too.

`TOOLSTREAM_GITLEAKS` names a `gitleaks.toml`: then each rule in it is held against samples of its own expression.
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

from tests.redaction.test_planted import ALNUM, HEX, SHAPED, URLSAFE, draw, shaped
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
    "airtable-personnal-access-token": lambda rng: "pa" + f"t{draw(rng, ALNUM, 14)}.{draw(rng, HEX, 64)}",
    "alibaba-access-key-id": shaped("LT" + "AI", ALNUM, 20),
    "artifactory-api-key": shaped("AK" + "Cp", ALNUM, 69),
    "digitalocean-pat": shaped("do" + "p_v1_", HEX, 64),
    "doppler-api-token": shaped("d" + "p.pt.", ALNUM, 43),
    "grafana-service-account-token": lambda rng: "gl" + f"sa_{draw(rng, ALNUM, 32)}_{draw(rng, HEX, 8)}",
    "linear-api-key": shaped("li" + "n_api_", ALNUM, 40),
    "notion-api-token": shaped("nt" + "n_", ALNUM, 46),
    "planetscale-password": shaped("psca" + "le_pw_", ALNUM, 40),
    "rubygems-api-token": shaped("ruby" + "gems_", HEX, 48),
    "sentry-org-token": shaped("sn" + "trys_", ALNUM, 120),
    "shopify-access-token": shaped("sh" + "pat_", HEX, 32),
    "slack-webhook-url": shaped("https://hooks.slack.com/serv" + "ices/T0", ALNUM, 44),
    "square-access-token": shaped("sq" + "0atp-", URLSAFE, 22),
    "telegram-bot-api-token": lambda rng: f"{rng.randrange(10**8, 10**9)}:A{draw(rng, URLSAFE, 34)}",
    "cohere-api-token": lambda rng: f"cohere_token = {draw(rng, ALNUM, 40)}",
    "discord-client-secret": lambda rng: f'discord_secret: "{draw(rng, ALNUM, 32)}"',
    "heroku-api-key": lambda rng: "heroku_key=" + "-".join(draw(rng, HEX, size) for size in (8, 4, 4, 4, 12)),
    "private-key": lambda rng: (
        f"-----BEGIN RSA PRIVATE KEY-----\n{draw(rng, ALNUM, 64)}\n-----END RSA PRIVATE KEY-----"
    ),
    "curl-auth-user": lambda rng: f"curl -u me:{draw(rng, ALNUM, 16)} https://x.example",
}
"""Rules on credentials that are met in the traffic of language models, and how a sample of each is made."""

ELSEWHERE: Final = {
    "pkcs12-file": "it is a file's name",
    "kubernetes-secret-yaml": "it is a manifest, of which the values are found by their names and shapes",
    "generic-api-key": "it takes any word that only begins with key or api for a name",
    "hashicorp-tf-password": "the same; and its secret has the quotes in it",
    "curl-auth-user": "its samples have a user in quotes and control characters between words",
    "curl-auth-header": "its samples have control characters between words",
    "sidekiq-secret": "two short numbers",
    "sumologic-access-id": "an id of 14 letters, which names the account and opens nothing",
    "linkedin-client-id": "an id of 14 letters, which names the application and opens nothing",
    "linkedin-client-secret": "16 letters, found where they have a digit and a name that says secret",
    "dropbox-api-token": "15 letters, found where they have a digit and a name that says token",
    "slack-webhook-url": "its samples have any letter where an address has a dot",
    "slack-config-access-token": "its samples have any letter where the token has a dot",
    "slack-legacy-workspace-token": "eight letters, found where one is a digit",
    "sourcegraph-access-token": "40 hexadecimal digits alone, as any commit has",
    "authress-service-client-access-key": "its words are cut by dots where they like",
    "facebook-access-token": "its samples have more than one place for the sign between id and token",
    "freemius-secret-key": "its samples have signs that no key has",
    "jwt": "its samples end in the middle of a part",
    "mailchimp-api-key": "found but where several signs stand between name and key",
    "nytimes-access-token": "found but where several signs stand between name and key",
    "sonar-api-token": "found but where several signs stand between name and key",
    "cohere-api-token": "found but where several signs stand between name and key",
}
"""Rules of which samples by chance are not all found: why."""


@pytest.mark.parametrize("rule", RULES)
def test_credentials_that_gitleaks_knows_are_redacted(rule: str) -> None:
    """In text and in JSON."""
    rng = random.Random(rule)
    for frame in ("{}", 'data: {{"text":"see {} here"}}\n\n'):
        for _ in range(5):
            sample = RULES[rule](rng)
            secret = max(re.findall(r"[\w.~+/-]{14,}", sample), key=len)
            assert secret not in redacted_body(frame.format(sample.replace("\n", "\\n")).encode()).decode()


def sample_of(rng: random.Random, parsed: Any) -> str:
    """A text by chance that an expression matches, where nothing but its letters decides that."""
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
    """The characters of a class, letters and digits where it has any."""
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
    """Bits a character, as gitleaks counts them."""
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def python_of(expression: str) -> str:
    """An expression of Go as one of Python."""
    plain = expression.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[A-Za-z0-9]").replace("[:alnum:]", "A-Za-z0-9")
    plain = plain.replace("(?-i:", "(?:").replace("(?s)", "")
    return "(?i)" + plain.replace("(?i)", "") if "(?i)" in plain else plain


def secrets_of(rule: dict[str, Any], rng: random.Random) -> list[tuple[str, str]]:
    """Texts in which a rule finds a secret, and that secret."""
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


def test_every_rule_of_a_published_table() -> None:
    """Where one is at hand."""
    path = os.environ.get("TOOLSTREAM_GITLEAKS")
    if not path:
        pytest.skip("TOOLSTREAM_GITLEAKS names no gitleaks.toml")
    rules = tomllib.loads(Path(path).read_text(encoding="utf-8"))["rules"]
    rng = random.Random(1)
    missed = {
        rule["id"]: sample
        for rule in rules
        if "regex" in rule and rule["id"] not in ELSEWHERE
        for sample, secret in secrets_of(rule, rng)
        if secret in redacted_body(sample.encode()).decode()
    }
    assert missed == {}
