"""The formats of secrets, as their issuers publish them: one table for logs, captures, fixtures and reports."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class SecretShape(NamedTuple):
    """One kind of credential that can be recognised by its text alone."""

    kind: str
    """For people: `openai-key`."""
    prefix: str
    """Its first characters, exactly."""
    rest: str
    """A regular expression for what follows, without groups that capture."""


_WORD: Final = r"[A-Za-z0-9_-]"
# Prefixes such as `sk-` also begin ordinary names: a key has a digit, or a long run without a dash.
_RANDOM: Final = rf"(?={_WORD}*[0-9]|{_WORD}*[A-Za-z0-9]{{16}})"
_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![A-Za-z0-9_-])"

_AUTHRESS: Final = r"[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}"

_ROWS: Final = (
    # Providers of language models and related services.
    ("letta-key", "sk-let-", r"[A-Za-z0-9+/]{40,}={0,2}"),
    ("openai-key", "sk-", rf"(?!ecdsa-|ssh-){_RANDOM}{_WORD}{{12,}}"),
    ("openai-session", "sess-", r"[A-Za-z0-9]{24,}"),
    ("key", "rk- pk-", rf"{_RANDOM}{_WORD}{{16,}}"),
    ("cerebras-key", "csk-", r"[A-Za-z0-9]{24,}"),
    ("google-key", "AIza", rf"{_WORD}{{30,}}"),
    ("google-token", "ya29.", r"[A-Za-z0-9_.-]{20,}"),
    ("google-refresh-token", "1//0", rf"{_WORD}{{20,}}"),
    ("google-oauth-secret", "GOCSPX-", rf"{_WORD}{{20,}}"),
    ("groq-key", "gsk_", r"[A-Za-z0-9]{16,}"),
    ("xai-key", "xai-", r"[A-Za-z0-9]{16,}"),
    ("huggingface-token", "hf_ api_org_", r"[A-Za-z0-9]{16,}"),
    ("replicate-token", "r8_", r"[A-Za-z0-9]{20,}"),
    ("perplexity-key", "pplx-", r"[A-Za-z0-9]{20,}"),
    ("fireworks-key", "fw_", r"[A-Za-z0-9]{16,}"),
    ("together-key", "tgp_v1_", rf"{_WORD}{{20,}}"),
    ("nvidia-key", "nvapi-", rf"{_WORD}{{20,}}"),
    ("anyscale-key", "esecret_", r"[A-Za-z0-9]{16,}"),
    ("voyage-key", "pa-", rf"{_RANDOM}{_WORD}{{30,}}"),
    ("langsmith-key", "lsv2_", r"(?:pt|sk)_[A-Za-z0-9_]{20,}"),
    ("tavily-key", "tvly-", rf"{_WORD}{{16,}}"),
    ("firecrawl-key", "fc-", rf"{_HEX}{{32}}"),
    ("jina-key", "jina_", rf"{_WORD}{{32,}}"),
    ("pinecone-key", "pcsk_", rf"{_WORD}{{20,}}"),
    ("sandbox-key", "e2b_", rf"{_HEX}{{32,}}"),
    ("wandb-key", "wandb_v1_", rf"{_WORD}{{20,}}"),
    ("openai-organization", "org-", rf"{_RANDOM}[A-Za-z0-9]{{16,}}"),
    ("openai-project", "proj_", rf"{_RANDOM}[A-Za-z0-9]{{16,}}"),
    ("openai-user", "user-", rf"{_RANDOM}[A-Za-z0-9]{{16,}}"),
    # Clouds.
    ("aws-key-id", "AKIA ASIA ABIA ACCA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    ("aws-key-id", "A3T", r"[A-Z0-9]{17}(?![0-9A-Za-z])"),
    ("bedrock-key", "ABSK", r"[A-Za-z0-9+/]{60,}={0,2}"),
    ("bedrock-key", "bedrock-api-key-", r"[A-Za-z0-9+/=_-]{16,}"),
    ("aws-session-token", "IQoJb3JpZ2lu FwoGZXIv", r"[A-Za-z0-9+/=_-]{20,}"),
    ("databricks-token", "dapi", rf"{_HEX}{{32}}(?:-[0-9])?"),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", rf"{_HEX}{{40,}}"),
    ("vault-token", "hvs. hvb. hvr.", rf"{_WORD}{{20,}}"),
    ("vault-token", "s.", r"[A-Za-z0-9]{24}(?![A-Za-z0-9_.-])"),
    ("pulumi-token", "pul-", rf"{_HEX}{{40}}"),
    ("heroku-key", "HRKU-", rf"{_WORD}{{30,}}"),
    ("flyio-token", "fo1_", rf"{_WORD}{{30,}}"),
    ("flyio-token", "fm1", r"[ar]_[A-Za-z0-9+/]{40,}={0,3}"),
    ("flyio-token", "fm2_", r"[A-Za-z0-9+/]{40,}={0,3}"),
    ("planetscale-secret", "pscale_", r"(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{30,}"),
    ("supabase-token", "sbp_", rf"{_HEX}{{40}}"),
    ("doppler-token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}"),
    ("artifactory-key", "AKCp", r"[A-Za-z0-9]{60,}"),
    ("artifactory-token", "cmVmd", r"[A-Za-z0-9]{50,}"),
    ("alibaba-key-id", "LTAI", r"[A-Za-z0-9]{16,}"),
    ("openshift-token", "sha256~", rf"{_WORD}{{40,}}"),
    ("grafana-token", "glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    ("grafana-token", "glc_", r"[A-Za-z0-9+/]{30,}={0,3}"),
    ("dynatrace-token", "dt0c01.", r"[A-Za-z0-9]{20,}\.[A-Za-z0-9]{60,}"),
    ("newrelic-key", "NRAK-", r"[A-Za-z0-9]{24,}"),
    ("newrelic-key", "NRII-", rf"{_WORD}{{30,}}"),
    ("newrelic-key", "NRJS-", rf"{_HEX}{{16,}}"),
    ("sentry-token", "sntrys_", r"[A-Za-z0-9+/=_-]{60,}"),
    ("sentry-token", "sntryu_", rf"{_HEX}{{40,}}"),
    # Code, packages, chat, payment.
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{16,}"),
    ("github-token", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    ("gitlab-token", "gl", r"(?:pat|dt|ptt|rt|cbt|ft|imt|agent|soat|ffct|wt|oas)-[A-Za-z0-9_=.-]{16,}"),
    ("gitlab-token", "GR1348941", rf"{_WORD}{{20,}}"),
    ("gitlab-session", "_gitlab_session=", rf"{_HEX}{{32}}"),
    ("atlassian-token", "ATATT3", r"[A-Za-z0-9_=-]{40,}"),
    ("npm-token", "npm_", r"[A-Za-z0-9]{30,}"),
    ("pypi-token", "pypi-", rf"{_RANDOM}{_WORD}{{40,}}"),
    ("rubygems-key", "rubygems_", rf"{_HEX}{{40,}}"),
    ("clojars-token", "CLOJARS_", r"[A-Za-z0-9]{40,}"),
    ("slack-token", "xox", r"[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}"),
    ("slack-token", "xoxe.", r"xox[bp]-[A-Za-z0-9-]{8,}"),
    ("slack-token", "xapp-", rf"{_WORD}{{12,}}"),
    ("slack-token", "xwfp-", rf"{_WORD}{{20,}}"),
    ("slack-webhook", "hooks.slack", r"(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{30,}"),
    ("stripe-key", "sk_ rk_", r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    ("stripe-webhook-secret", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    ("clickhouse-key", "4b1d", r"[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    ("square-token", "sq0", r"(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}"),
    ("square-token", "EAAA", rf"(?!A){_WORD}{{22,60}}(?![A-Za-z0-9_+/=-])"),
    ("facebook-token", "EAA", r"(?:M|C)[A-Za-z0-9]{60,}"),
    ("shopify-token", "shp", rf"(?:at|ca|pa|ss|tka)_{_HEX}{{32}}"),
    ("twilio-key", "SK", r"[0-9a-fA-F]{32}(?![0-9A-Za-z])"),
    ("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_.=-]{16,}"),
    ("sendgrid-key", "SG.", r"[A-Za-z0-9_.=-]{60,}"),
    ("sendinblue-key", "xkeysib-", rf"{_HEX}{{64}}-[A-Za-z0-9]{{16}}"),
    ("mailgun-key", "key- pubkey-", rf"{_HEX}{{32}}(?![0-9A-Za-z])"),
    ("hubspot-token", "pat-", rf"(?:na|eu|ap)[0-9]-{_UUID}"),
    ("linear-key", "lin_api_", r"[A-Za-z0-9]{30,}"),
    ("linear-token", "lin_oauth_", r"[A-Za-z0-9]{30,}"),
    ("atlassian-token", "ATCTT3", r"[A-Za-z0-9_=-]{40,}"),
    ("runpod-key", "rpa_", r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{40,}"),
    ("razorpay-key", "rzp_", r"(?:live|test)_[A-Za-z0-9]{14,}"),
    ("context7-key", "ctx7sk-", rf"(?:{_UUID}|[A-Za-z0-9]{{24,}})"),
    ("cursor-key", "crsr_", rf"{_HEX}{{40,}}"),
    ("key", "key_", rf"{_HEX}{{32}}(?:{_HEX}{{32}})?(?![0-9A-Za-z_])"),
    ("cloudflare-token", "cf", r"(?:ut|at|k)_[A-Za-z0-9]{40,}"),
    ("mongodb-atlas-secret", "mdb_sa_sk_", rf"{_WORD}{{30,}}"),
    ("axiom-token", "xa", rf"[ap]t-{_UUID}"),
    ("logfire-token", "pylf_", r"v[0-9]{1,2}_[a-z]{2,8}_[A-Za-z0-9]{30,}"),
    ("contentful-token", "CFPAT-", rf"{_WORD}{{40,}}"),
    ("llamacloud-key", "llx-", r"[A-Za-z0-9]{40,}"),
    ("apify-token", "apify_", r"api_[A-Za-z0-9]{30,}"),
    ("daytona-key", "dtn_", rf"{_HEX}{{40,}}"),
    ("langchain-key", "ls__", rf"{_HEX}{{32}}"),
    ("honeycomb-key", "hc", r"[a-z]{2}k_[a-z0-9]{26,}"),
    ("infisical-token", "st.", rf"[a-z0-9]{{24}}\.{_HEX}{{32}}\.{_HEX}{{32}}"),
    ("baidu-key", "bce-v3/", rf"ALTAK-[A-Za-z0-9]{{21}}/{_HEX}{{40}}"),
    ("volcengine-key-id", "AKLT", rf"{_WORD}{{36,}}"),
    ("salesforce-token", "00D", r"[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}"),
    ("stytch-secret", "secret-", r"(?:live|test)-[A-Za-z0-9_-]{30,}={0,2}"),
    ("clickup-token", "pk_", r"[0-9]{5,12}_[A-Z0-9]{32}"),
    ("klaviyo-key", "pk_", rf"{_HEX}{{34}}(?![0-9A-Za-z_])"),
    ("notion-token", "ntn_", r"[A-Za-z0-9]{30,}"),
    ("notion-token", "secret_", r"[A-Za-z0-9]{32,}"),
    ("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    ("prefect-key", "pnu_", r"[A-Za-z0-9]{30,}"),
    ("readme-key", "rdme_", r"[A-Za-z0-9]{40,}"),
    ("frameio-token", "fio-u-", rf"{_WORD}{{40,}}"),
    ("duffel-token", "duffel_", r"(?:test|live)_[A-Za-z0-9_=-]{40,}"),
    ("easypost-key", "EZ", r"[AT]K[A-Za-z0-9]{50,}"),
    ("flutterwave-key", "FLW", r"(?:PUBK|SECK)_TEST-[A-Za-z0-9]{12,}(?:-X)?"),
    ("flutterwave-key", "FLWSECK", r"(?:_LIVE)?-[A-Za-z0-9]{12,}(?:-X)?"),
    ("shippo-token", "shippo_", rf"(?:live|test)_{_HEX}{{40}}"),
    ("typeform-token", "tfp_", r"[A-Za-z0-9_.=-]{40,}"),
    ("adobe-secret", "p8e-", r"[A-Za-z0-9]{32}"),
    ("age-secret-key", "AGE-SECRET-KEY-1", r"[0-9A-Za-z]{40,}"),
    ("1password-key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("1password-token", "ops_eyJ", r"[A-Za-z0-9+/_-]{100,}={0,3}"),
    # Hosting, databases, builds, monitoring.
    ("openai-ephemeral-key", "ek_", rf"{_RANDOM}[A-Za-z0-9]{{24,}}"),
    ("google-key", "AQ.Ab8", rf"{_WORD}{{30,}}"),
    ("google-code", "4/0A", rf"{_WORD}{{40,}}"),
    ("composio-key", "ak_", rf"(?={_WORD}*[A-Z])(?={_WORD}*[0-9]){_WORD}{{18,}}"),
    ("browserbase-key", "bb_live_", rf"{_WORD}{{20,}}"),
    ("elevenlabs-key", "sk_", rf"{_HEX}{{48}}"),
    ("brave-key", "BSA", rf"{_RANDOM}{_WORD}{{28}}(?![A-Za-z0-9_-])"),
    ("modal-token", "as- ak-", r"(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{22}(?![A-Za-z0-9_-])"),
    ("inngest-key", "signkey-", rf"[a-z]{{3,10}}-{_HEX}{{32,}}"),
    ("convex-key", "prod:", r"[a-z-]{3,40}[0-9]{1,5}\|[A-Za-z0-9+/_-]{30,}={0,2}"),
    ("unkey-key", "unkey_", r"[A-Za-z0-9]{16,}"),
    ("vercel-token", "vc", r"[aikpr]_[A-Za-z0-9]{24,}"),
    ("vercel-token", "vercel_blob_rw_", r"[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,}"),
    ("render-key", "rnd_", r"[A-Za-z0-9]{24,}"),
    ("netlify-token", "nfp_", r"[A-Za-z0-9]{30,}"),
    ("tailscale-key", "tskey-", rf"[a-z]{{3,10}}-{_WORD}{{20,}}"),
    ("neon-key", "napi_", r"[a-z0-9]{40,}"),
    ("supabase-key", "sb_secret_", rf"{_WORD}{{20,}}"),
    ("sonar-token", "sq", rf"[upa]_{_HEX}{{40}}"),
    ("buildkite-token", "bkua_", rf"{_HEX}{{40}}"),
    ("circleci-token", "CCIP", r"(?:AT|RJ)_[A-Za-z0-9]{16,}_[0-9a-f]{40}"),
    ("posthog-key", "phx_", r"[A-Za-z0-9_]{30,}"),
    ("crates-token", "cio", r"(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9_-])"),
    ("nuget-key", "oy2", r"(?=[a-z]*[0-9])[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("launchdarkly-key", "sdk- api-", _UUID),
    ("docker-token", "dckr_", rf"(?:pat|oat)_{_WORD}{{20,}}"),
    ("bitbucket-password", "ATBB", r"[A-Za-z0-9]{28,}"),
    (
        "discord-webhook",
        "discord.com/api/ discordapp.com/api/ canary.discord.com/api/ ptb.discord.com/api/",
        r"(?:v[0-9]{1,2}/)?webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{40,}",
    ),
    ("resend-key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    ("asana-token", "1/", r"[0-9]{12,18}:[0-9a-f]{32}"),
    ("asana-token", "2/", r"[0-9]{12,18}/[0-9]{12,18}:[0-9a-f]{32}"),
    ("figma-token", "figd_", rf"{_WORD}{{30,}}"),
    ("braintree-token", "access_token$", r"(?:production|sandbox)\$[a-z0-9]{10,}\$[0-9a-f]{32}"),
    ("twilio-account", "AC", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("instagram-token", "IGQ", r"[A-Za-z0-9_-]{80,}"),
    ("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"(?=[A-Za-z0-9]*%)[A-Za-z0-9%]{40,}"),
    ("tencent-key-id", "AKID", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    ("yandex-token", "y0_", rf"{_WORD}{{40,}}"),
    ("maxmind-key", "", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    ("airtable-token", "pat", rf"[A-Za-z0-9]{{14}}\.{_HEX}{{64}}"),
    ("authress-key", "sc_ ext_", _AUTHRESS),
    ("cloudflare-key", "v1.0-", rf"{_HEX}{{24}}-{_HEX}{{146}}"),
    ("nebula-key", "dnkey-", r"[a-z0-9=_-]{26,}"),
    ("dropbox-token", "sl.", r"[A-Za-z0-9=_-]{80,}"),
    ("gocardless-token", "live_", r"[A-Za-z0-9_=-]{34,}"),
    ("payment-key", "test_ live_", rf"(?:pub_)?{_HEX}{{31,}}"),
    ("grafana-key", "eyJrIjoi", r"[A-Za-z0-9+/]{60,}={0,3}"),
    ("harness-key", "pat. sat.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    ("infracost-token", "ico-", r"[A-Za-z0-9]{32}"),
    ("intra42-secret", "s-s4t2", rf"(?:ud|af)-{_HEX}{{64}}"),
    ("mapbox-token", "pk.", r"[A-Za-z0-9]{60,}\.[A-Za-z0-9]{20,}"),
    ("octopus-key", "API-", r"[A-Z0-9]{26}(?![A-Za-z0-9])"),
    ("plaid-token", "access-", rf"(?:sandbox|development|production)-{_HEX}{{8}}-[0-9a-f-]{{27}}"),
    ("scalingo-token", "tk-us-", r"[A-Za-z0-9_-]{40,}"),
    ("settlemint-token", "sm_", r"[aps]at_[A-Za-z0-9]{16}"),
    ("sourcegraph-token", "sgp_", r"[A-Za-z0-9_]{40,}"),
    ("yandex-token", "t1.", r"[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2}"),
    ("yandex-key", "AQVN", r"[A-Za-z0-9_-]{35,38}"),
    ("yandex-key", "YC", r"[A-Za-z0-9_-]{38}(?![A-Za-z0-9_-])"),
    ("json-web-token", "ey", r"[A-Za-z0-9]{17,}\.ey[A-Za-z0-9/_-]{17,}(?:\.[A-Za-z0-9/_-]{10,}={0,2})?"),
    ("json-web-token", "eyJ", r"(?:[A-Za-z0-9_-]{8,}(?:\.{1,2}[A-Za-z0-9_-]{4,}){1,4}\.?)"),
    ("json-web-token", "ZXlK", r"[A-Za-z0-9_/+-]{30,}={0,2}"),
)
"""Kind, prefixes, rest: the fields of a `SecretShape` for each prefix."""
SHAPES: Final = tuple(
    SecretShape(kind, prefix, rest) for kind, prefixes, rest in _ROWS for prefix in prefixes.split(" ")
)
"""Shapes of one prefix are in order: the first that matches counts."""


def _any_shape() -> str:
    first: dict[str, list[str]] = {}
    for shape in SHAPES:
        first.setdefault(shape.prefix[:1], []).append(re.escape(shape.prefix[1:]) + shape.rest)
    anything = first.pop("")
    sorted_ = [f"{re.escape(character)}(?:{'|'.join(rests)})" for character, rests in first.items()]
    return rf"(?<![A-Za-z0-9])(?:{'|'.join([*sorted_, *anything])})"


ANY_SHAPE: Final = _any_shape()
"""An expression for all of them. Sorted by their first characters, they are found thirty times as fast."""

WORDS: Final = (
    "adafruit|adobe|airtable|algolia|alibaba|asana|atlassian|confluence|jira|azure|beamer|bitbucket|bittrex"
    "|meraki|cloudflare|codecov|coinbase|confluent|contentful|datadog|discord|doppler|droneci|dropbox"
    "|duffel|etsy|facebook|fastly|finicity|finnhub|flickr|freshbooks|gitter|gocardless|heroku|hubspot|intercom"
    "|jfrog|artifactory|bintray|xray|kraken|kucoin|launchdarkly|linear|linked-?in|lob|looker|mailchimp|mailgun|mapbox"
    "|mattermost|message[_-]?bird|netlify|new[_-]?relic|nytimes|new-york-times|newyorktimes|okta|plaid|private[_-]?ai"
    "|rapidapi|sendbird|sentry|snyk|sonar(?:qube|cloud)?|squarespace|sumo(?:logic)?|telegr(?:am)?|travis"
    "|trello|twitch|twitter|wandb|yandex|zendesk"
)
"""Services whose keys have no shape of their own, as an expression: a random word after such a name is a key."""

MODEL_WORDS: Final = "anthropic|cohere|co_api_key|deepseek|gemini|mistral|openai|perplexity|together|voyage|fireworks"
"""The same for services whose models have names that look random, too: only a long word without a dash counts."""
