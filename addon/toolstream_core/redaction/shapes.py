"""What secrets look like, as their issuers publish it: the one table for logs, captures, fixtures and reports."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class SecretShape(NamedTuple):
    """One kind of credential that can be recognised by its text alone."""

    kind: str
    """For people: `openai-key`."""
    prefix: str
    """What it begins with, to the letter."""
    rest: str
    """A regular expression for what follows, without groups that capture."""


_WORD: Final = r"[A-Za-z0-9_-]"
# Prefixes such as `sk-` also begin ordinary names: a key has a digit, or a long run without a dash.
_RANDOM: Final = rf"(?={_WORD}*[0-9]|{_WORD}*[A-Za-z0-9]{{16}})"
_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = rf"{_HEX}{{8}}-(?:{_HEX}{{4}}-){{3}}{_HEX}{{12}}(?![A-Za-z0-9_-])"

_AUTHRESS: Final = r"[A-Za-z0-9]{5,30}\.[A-Za-z0-9]{4,6}\.acc[_-][A-Za-z0-9-]{10,32}\.[A-Za-z0-9+/_=-]{30,}"

SHAPES: Final = (
    # Providers of language models and what stands around them.
    SecretShape("letta-key", "sk-let-", r"[A-Za-z0-9+/]{40,}={0,2}"),
    SecretShape("openai-key", "sk-", rf"(?!ecdsa-|ssh-){_RANDOM}{_WORD}{{12,}}"),
    SecretShape("openai-session", "sess-", r"[A-Za-z0-9]{24,}"),
    SecretShape("key", "rk-", rf"{_RANDOM}{_WORD}{{16,}}"),
    SecretShape("key", "pk-", rf"{_RANDOM}{_WORD}{{16,}}"),
    SecretShape("cerebras-key", "csk-", r"[A-Za-z0-9]{24,}"),
    SecretShape("google-key", "AIza", rf"{_WORD}{{30,}}"),
    SecretShape("google-token", "ya29.", r"[A-Za-z0-9_.-]{20,}"),
    SecretShape("google-refresh-token", "1//0", rf"{_WORD}{{20,}}"),
    SecretShape("google-oauth-secret", "GOCSPX-", rf"{_WORD}{{20,}}"),
    SecretShape("groq-key", "gsk_", r"[A-Za-z0-9]{16,}"),
    SecretShape("xai-key", "xai-", r"[A-Za-z0-9]{16,}"),
    SecretShape("huggingface-token", "hf_", r"[A-Za-z0-9]{16,}"),
    SecretShape("huggingface-token", "api_org_", r"[A-Za-z0-9]{16,}"),
    SecretShape("replicate-token", "r8_", r"[A-Za-z0-9]{20,}"),
    SecretShape("perplexity-key", "pplx-", r"[A-Za-z0-9]{20,}"),
    SecretShape("fireworks-key", "fw_", r"[A-Za-z0-9]{16,}"),
    SecretShape("together-key", "tgp_v1_", rf"{_WORD}{{20,}}"),
    SecretShape("nvidia-key", "nvapi-", rf"{_WORD}{{20,}}"),
    SecretShape("anyscale-key", "esecret_", r"[A-Za-z0-9]{16,}"),
    SecretShape("voyage-key", "pa-", rf"{_RANDOM}{_WORD}{{30,}}"),
    SecretShape("langsmith-key", "lsv2_", r"(?:pt|sk)_[A-Za-z0-9_]{20,}"),
    SecretShape("tavily-key", "tvly-", rf"{_WORD}{{16,}}"),
    SecretShape("firecrawl-key", "fc-", rf"{_HEX}{{32}}"),
    SecretShape("jina-key", "jina_", rf"{_WORD}{{32,}}"),
    SecretShape("pinecone-key", "pcsk_", rf"{_WORD}{{20,}}"),
    SecretShape("sandbox-key", "e2b_", rf"{_HEX}{{32,}}"),
    SecretShape("wandb-key", "wandb_v1_", rf"{_WORD}{{20,}}"),
    SecretShape("openai-organization", "org-", rf"{_RANDOM}[A-Za-z0-9]{{16,}}"),
    SecretShape("openai-project", "proj_", rf"{_RANDOM}[A-Za-z0-9]{{16,}}"),
    SecretShape("openai-user", "user-", rf"{_RANDOM}[A-Za-z0-9]{{16,}}"),
    # Clouds.
    SecretShape("aws-key-id", "AKIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    SecretShape("aws-key-id", "ASIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    SecretShape("aws-key-id", "ABIA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    SecretShape("aws-key-id", "ACCA", r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    SecretShape("aws-key-id", "A3T", r"[A-Z0-9]{17}(?![0-9A-Za-z])"),
    SecretShape("bedrock-key", "ABSK", r"[A-Za-z0-9+/]{60,}={0,2}"),
    SecretShape("bedrock-key", "bedrock-api-key-", r"[A-Za-z0-9+/=_-]{16,}"),
    SecretShape("aws-session-token", "IQoJb3JpZ2lu", r"[A-Za-z0-9+/=_-]{20,}"),
    SecretShape("aws-session-token", "FwoGZXIv", r"[A-Za-z0-9+/=_-]{20,}"),
    SecretShape("databricks-token", "dapi", rf"{_HEX}{{32}}(?:-[0-9])?"),
    SecretShape("digitalocean-token", "dop_v1_", rf"{_HEX}{{40,}}"),
    SecretShape("digitalocean-token", "doo_v1_", rf"{_HEX}{{40,}}"),
    SecretShape("digitalocean-token", "dor_v1_", rf"{_HEX}{{40,}}"),
    SecretShape("vault-token", "hvs.", rf"{_WORD}{{20,}}"),
    SecretShape("vault-token", "hvb.", rf"{_WORD}{{20,}}"),
    SecretShape("vault-token", "hvr.", rf"{_WORD}{{20,}}"),
    SecretShape("vault-token", "s.", r"[A-Za-z0-9]{24}(?![A-Za-z0-9_.-])"),
    SecretShape("pulumi-token", "pul-", rf"{_HEX}{{40}}"),
    SecretShape("heroku-key", "HRKU-", rf"{_WORD}{{30,}}"),
    SecretShape("flyio-token", "fo1_", rf"{_WORD}{{30,}}"),
    SecretShape("flyio-token", "fm1", r"[ar]_[A-Za-z0-9+/]{40,}={0,3}"),
    SecretShape("flyio-token", "fm2_", r"[A-Za-z0-9+/]{40,}={0,3}"),
    SecretShape("planetscale-secret", "pscale_", r"(?:tkn|oauth|pw)_[A-Za-z0-9=._-]{30,}"),
    SecretShape("supabase-token", "sbp_", rf"{_HEX}{{40}}"),
    SecretShape("doppler-token", "dp.", r"(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9._-]{30,}"),
    SecretShape("artifactory-key", "AKCp", r"[A-Za-z0-9]{60,}"),
    SecretShape("artifactory-token", "cmVmd", r"[A-Za-z0-9]{50,}"),
    SecretShape("alibaba-key-id", "LTAI", r"[A-Za-z0-9]{16,}"),
    SecretShape("openshift-token", "sha256~", rf"{_WORD}{{40,}}"),
    SecretShape("grafana-token", "glsa_", r"[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}"),
    SecretShape("grafana-token", "glc_", r"[A-Za-z0-9+/]{30,}={0,3}"),
    SecretShape("dynatrace-token", "dt0c01.", r"[A-Za-z0-9]{20,}\.[A-Za-z0-9]{60,}"),
    SecretShape("newrelic-key", "NRAK-", r"[A-Za-z0-9]{24,}"),
    SecretShape("newrelic-key", "NRII-", rf"{_WORD}{{30,}}"),
    SecretShape("newrelic-key", "NRJS-", rf"{_HEX}{{16,}}"),
    SecretShape("sentry-token", "sntrys_", r"[A-Za-z0-9+/=_-]{60,}"),
    SecretShape("sentry-token", "sntryu_", rf"{_HEX}{{40,}}"),
    # Code, packages, chat, payment.
    SecretShape("github-token", "ghp_", r"[A-Za-z0-9]{16,}"),
    SecretShape("github-token", "gho_", r"[A-Za-z0-9]{16,}"),
    SecretShape("github-token", "ghu_", r"[A-Za-z0-9]{16,}"),
    SecretShape("github-token", "ghs_", r"[A-Za-z0-9]{16,}"),
    SecretShape("github-token", "ghr_", r"[A-Za-z0-9]{16,}"),
    SecretShape("github-token", "github_pat_", r"[A-Za-z0-9_]{20,}"),
    SecretShape("gitlab-token", "gl", r"(?:pat|dt|ptt|rt|cbt|ft|imt|agent|soat|ffct|wt|oas)-[A-Za-z0-9_=.-]{16,}"),
    SecretShape("gitlab-token", "GR1348941", rf"{_WORD}{{20,}}"),
    SecretShape("gitlab-session", "_gitlab_session=", rf"{_HEX}{{32}}"),
    SecretShape("atlassian-token", "ATATT3", r"[A-Za-z0-9_=-]{40,}"),
    SecretShape("npm-token", "npm_", r"[A-Za-z0-9]{30,}"),
    SecretShape("pypi-token", "pypi-", rf"{_RANDOM}{_WORD}{{40,}}"),
    SecretShape("rubygems-key", "rubygems_", rf"{_HEX}{{40,}}"),
    SecretShape("clojars-token", "CLOJARS_", r"[A-Za-z0-9]{40,}"),
    SecretShape("slack-token", "xox", r"[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{8,}"),
    SecretShape("slack-token", "xoxe.", r"xox[bp]-[A-Za-z0-9-]{8,}"),
    SecretShape("slack-token", "xapp-", rf"{_WORD}{{12,}}"),
    SecretShape("slack-token", "xwfp-", rf"{_WORD}{{20,}}"),
    SecretShape("slack-webhook", "hooks.slack", r"(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/_-]{30,}"),
    SecretShape("stripe-key", "sk_", r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    SecretShape("stripe-key", "rk_", r"(?:live|test|prod)_[A-Za-z0-9]{10,}"),
    SecretShape("stripe-webhook-secret", "whsec_", r"[A-Za-z0-9+/=]{24,}"),
    SecretShape("clickhouse-key", "4b1d", r"[A-Za-z0-9]{38}(?![A-Za-z0-9])"),
    SecretShape("square-token", "sq0", r"(?:atp|csp|idp)-[A-Za-z0-9_-]{20,}"),
    SecretShape("square-token", "EAAA", rf"(?!A){_WORD}{{22,60}}(?![A-Za-z0-9_+/=-])"),
    SecretShape("facebook-token", "EAA", r"(?:M|C)[A-Za-z0-9]{60,}"),
    SecretShape("shopify-token", "shp", rf"(?:at|ca|pa|ss|tka)_{_HEX}{{32}}"),
    SecretShape("twilio-key", "SK", r"[0-9a-fA-F]{32}(?![0-9A-Za-z])"),
    SecretShape("sendgrid-key", "SG.", r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_.=-]{16,}"),
    SecretShape("sendgrid-key", "SG.", r"[A-Za-z0-9_.=-]{60,}"),
    SecretShape("sendinblue-key", "xkeysib-", rf"{_HEX}{{64}}-[A-Za-z0-9]{{16}}"),
    SecretShape("mailgun-key", "key-", rf"{_HEX}{{32}}(?![0-9A-Za-z])"),
    SecretShape("mailgun-key", "pubkey-", rf"{_HEX}{{32}}(?![0-9A-Za-z])"),
    SecretShape("hubspot-token", "pat-", rf"(?:na|eu|ap)[0-9]-{_UUID}"),
    SecretShape("linear-key", "lin_api_", r"[A-Za-z0-9]{30,}"),
    SecretShape("linear-token", "lin_oauth_", r"[A-Za-z0-9]{30,}"),
    SecretShape("atlassian-token", "ATCTT3", r"[A-Za-z0-9_=-]{40,}"),
    SecretShape("runpod-key", "rpa_", r"(?=[A-Za-z]*[0-9])[A-Za-z0-9]{40,}"),
    SecretShape("razorpay-key", "rzp_", r"(?:live|test)_[A-Za-z0-9]{14,}"),
    SecretShape("context7-key", "ctx7sk-", rf"(?:{_UUID}|[A-Za-z0-9]{{24,}})"),
    SecretShape("cursor-key", "crsr_", rf"{_HEX}{{40,}}"),
    SecretShape("key", "key_", rf"{_HEX}{{32}}(?:{_HEX}{{32}})?(?![0-9A-Za-z_])"),
    SecretShape("cloudflare-token", "cf", r"(?:ut|at|k)_[A-Za-z0-9]{40,}"),
    SecretShape("mongodb-atlas-secret", "mdb_sa_sk_", rf"{_WORD}{{30,}}"),
    SecretShape("axiom-token", "xa", rf"[ap]t-{_UUID}"),
    SecretShape("logfire-token", "pylf_", r"v[0-9]{1,2}_[a-z]{2,8}_[A-Za-z0-9]{30,}"),
    SecretShape("contentful-token", "CFPAT-", rf"{_WORD}{{40,}}"),
    SecretShape("llamacloud-key", "llx-", r"[A-Za-z0-9]{40,}"),
    SecretShape("apify-token", "apify_", r"api_[A-Za-z0-9]{30,}"),
    SecretShape("daytona-key", "dtn_", rf"{_HEX}{{40,}}"),
    SecretShape("langchain-key", "ls__", rf"{_HEX}{{32}}"),
    SecretShape("honeycomb-key", "hc", r"[a-z]{2}k_[a-z0-9]{26,}"),
    SecretShape("infisical-token", "st.", rf"[a-z0-9]{{24}}\.{_HEX}{{32}}\.{_HEX}{{32}}"),
    SecretShape("baidu-key", "bce-v3/", rf"ALTAK-[A-Za-z0-9]{{21}}/{_HEX}{{40}}"),
    SecretShape("volcengine-key-id", "AKLT", rf"{_WORD}{{36,}}"),
    SecretShape("salesforce-token", "00D", r"[A-Za-z0-9]{12,15}![A-Za-z0-9._]{60,}"),
    SecretShape("stytch-secret", "secret-", r"(?:live|test)-[A-Za-z0-9_-]{30,}={0,2}"),
    SecretShape("clickup-token", "pk_", r"[0-9]{5,12}_[A-Z0-9]{32}"),
    SecretShape("klaviyo-key", "pk_", rf"{_HEX}{{34}}(?![0-9A-Za-z_])"),
    SecretShape("notion-token", "ntn_", r"[A-Za-z0-9]{30,}"),
    SecretShape("notion-token", "secret_", r"[A-Za-z0-9]{32,}"),
    SecretShape("postman-key", "PMAK-", rf"{_HEX}{{24}}-{_HEX}{{34}}"),
    SecretShape("prefect-key", "pnu_", r"[A-Za-z0-9]{30,}"),
    SecretShape("readme-key", "rdme_", r"[A-Za-z0-9]{40,}"),
    SecretShape("frameio-token", "fio-u-", rf"{_WORD}{{40,}}"),
    SecretShape("duffel-token", "duffel_", r"(?:test|live)_[A-Za-z0-9_=-]{40,}"),
    SecretShape("easypost-key", "EZ", r"[AT]K[A-Za-z0-9]{50,}"),
    SecretShape("flutterwave-key", "FLW", r"(?:PUBK|SECK)_TEST-[A-Za-z0-9]{12,}(?:-X)?"),
    SecretShape("flutterwave-key", "FLWSECK", r"(?:_LIVE)?-[A-Za-z0-9]{12,}(?:-X)?"),
    SecretShape("shippo-token", "shippo_", rf"(?:live|test)_{_HEX}{{40}}"),
    SecretShape("typeform-token", "tfp_", r"[A-Za-z0-9_.=-]{40,}"),
    SecretShape("adobe-secret", "p8e-", r"[A-Za-z0-9]{32}"),
    SecretShape("age-secret-key", "AGE-SECRET-KEY-1", r"[0-9A-Za-z]{40,}"),
    SecretShape("1password-key", "A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    SecretShape("1password-token", "ops_eyJ", r"[A-Za-z0-9+/_-]{100,}={0,3}"),
    # Hosts, databases, builds, observers.
    SecretShape("openai-ephemeral-key", "ek_", rf"{_RANDOM}[A-Za-z0-9]{{24,}}"),
    SecretShape("google-key", "AQ.Ab8", rf"{_WORD}{{30,}}"),
    SecretShape("google-code", "4/0A", rf"{_WORD}{{40,}}"),
    SecretShape("composio-key", "ak_", rf"(?={_WORD}*[A-Z])(?={_WORD}*[0-9]){_WORD}{{18,}}"),
    SecretShape("browserbase-key", "bb_live_", rf"{_WORD}{{20,}}"),
    SecretShape("elevenlabs-key", "sk_", rf"{_HEX}{{48}}"),
    SecretShape("brave-key", "BSA", rf"{_RANDOM}{_WORD}{{28}}(?![A-Za-z0-9_-])"),
    SecretShape("modal-token", "as-", r"(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{22}(?![A-Za-z0-9_-])"),
    SecretShape("modal-token", "ak-", r"(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{22}(?![A-Za-z0-9_-])"),
    SecretShape("inngest-key", "signkey-", rf"[a-z]{{3,10}}-{_HEX}{{32,}}"),
    SecretShape("convex-key", "prod:", r"[a-z-]{3,40}[0-9]{1,5}\|[A-Za-z0-9+/_-]{30,}={0,2}"),
    SecretShape("unkey-key", "unkey_", r"[A-Za-z0-9]{16,}"),
    SecretShape("vercel-token", "vc", r"[aikpr]_[A-Za-z0-9]{24,}"),
    SecretShape("vercel-token", "vercel_blob_rw_", r"[A-Za-z0-9]{8,}_[A-Za-z0-9]{20,}"),
    SecretShape("render-key", "rnd_", r"[A-Za-z0-9]{24,}"),
    SecretShape("netlify-token", "nfp_", r"[A-Za-z0-9]{30,}"),
    SecretShape("tailscale-key", "tskey-", rf"[a-z]{{3,10}}-{_WORD}{{20,}}"),
    SecretShape("neon-key", "napi_", r"[a-z0-9]{40,}"),
    SecretShape("supabase-key", "sb_secret_", rf"{_WORD}{{20,}}"),
    SecretShape("sonar-token", "sq", rf"[upa]_{_HEX}{{40}}"),
    SecretShape("buildkite-token", "bkua_", rf"{_HEX}{{40}}"),
    SecretShape("circleci-token", "CCIP", r"(?:AT|RJ)_[A-Za-z0-9]{16,}_[0-9a-f]{40}"),
    SecretShape("posthog-key", "phx_", r"[A-Za-z0-9_]{30,}"),
    SecretShape("crates-token", "cio", r"(?=[a-z]*[A-Z0-9])[A-Za-z0-9]{32}(?![A-Za-z0-9_-])"),
    SecretShape("nuget-key", "oy2", r"(?=[a-z]*[0-9])[a-z0-9]{43}(?![A-Za-z0-9])"),
    SecretShape("launchdarkly-key", "sdk-", _UUID),
    SecretShape("launchdarkly-key", "api-", _UUID),
    SecretShape("docker-token", "dckr_", rf"(?:pat|oat)_{_WORD}{{20,}}"),
    SecretShape("bitbucket-password", "ATBB", r"[A-Za-z0-9]{28,}"),
    SecretShape("discord-webhook", "discord.com/api/", r"(?:v[0-9]{1,2}/)?webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{40,}"),
    SecretShape("discord-webhook", "discordapp.com/api/", r"(?:v[0-9]{1,2}/)?webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{40,}"),
    SecretShape(
        "discord-webhook", "canary.discord.com/api/", r"(?:v[0-9]{1,2}/)?webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{40,}"
    ),
    SecretShape(
        "discord-webhook", "ptb.discord.com/api/", r"(?:v[0-9]{1,2}/)?webhooks/[0-9]{16,20}/[A-Za-z0-9_-]{40,}"
    ),
    SecretShape("resend-key", "re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"),
    SecretShape("asana-token", "1/", r"[0-9]{12,18}:[0-9a-f]{32}"),
    SecretShape("asana-token", "2/", r"[0-9]{12,18}/[0-9]{12,18}:[0-9a-f]{32}"),
    SecretShape("figma-token", "figd_", rf"{_WORD}{{30,}}"),
    SecretShape("braintree-token", "access_token$", r"(?:production|sandbox)\$[a-z0-9]{10,}\$[0-9a-f]{32}"),
    SecretShape("twilio-account", "AC", r"[0-9a-f]{32}(?![0-9A-Za-z])"),
    SecretShape("instagram-token", "IGQ", r"[A-Za-z0-9_-]{80,}"),
    SecretShape("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"(?=[A-Za-z0-9]*%)[A-Za-z0-9%]{40,}"),
    SecretShape("tencent-key-id", "AKID", r"[A-Za-z0-9]{32}(?![A-Za-z0-9])"),
    SecretShape("yandex-token", "y0_", rf"{_WORD}{{40,}}"),
    SecretShape("maxmind-key", "", r"[A-Za-z0-9]{6}_[A-Za-z0-9]{29}_mmk"),
    SecretShape("airtable-token", "pat", rf"[A-Za-z0-9]{{14}}\.{_HEX}{{64}}"),
    SecretShape("authress-key", "sc_", _AUTHRESS),
    SecretShape("authress-key", "ext_", _AUTHRESS),
    SecretShape("cloudflare-key", "v1.0-", rf"{_HEX}{{24}}-{_HEX}{{146}}"),
    SecretShape("nebula-key", "dnkey-", r"[a-z0-9=_-]{26,}"),
    SecretShape("dropbox-token", "sl.", r"[A-Za-z0-9=_-]{80,}"),
    SecretShape("gocardless-token", "live_", r"[A-Za-z0-9_=-]{34,}"),
    SecretShape("payment-key", "test_", rf"(?:pub_)?{_HEX}{{31,}}"),
    SecretShape("payment-key", "live_", rf"(?:pub_)?{_HEX}{{31,}}"),
    SecretShape("grafana-key", "eyJrIjoi", r"[A-Za-z0-9+/]{60,}={0,3}"),
    SecretShape("harness-key", "pat.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    SecretShape("harness-key", "sat.", r"[A-Za-z0-9_-]{22}\.[A-Za-z0-9]{24}\.[A-Za-z0-9]{20}"),
    SecretShape("infracost-token", "ico-", r"[A-Za-z0-9]{32}"),
    SecretShape("intra42-secret", "s-s4t2", rf"(?:ud|af)-{_HEX}{{64}}"),
    SecretShape("mapbox-token", "pk.", r"[A-Za-z0-9]{60,}\.[A-Za-z0-9]{20,}"),
    SecretShape("octopus-key", "API-", r"[A-Z0-9]{26}(?![A-Za-z0-9])"),
    SecretShape("plaid-token", "access-", rf"(?:sandbox|development|production)-{_HEX}{{8}}-[0-9a-f-]{{27}}"),
    SecretShape("scalingo-token", "tk-us-", r"[A-Za-z0-9_-]{40,}"),
    SecretShape("settlemint-token", "sm_", r"[aps]at_[A-Za-z0-9]{16}"),
    SecretShape("sourcegraph-token", "sgp_", r"[A-Za-z0-9_]{40,}"),
    SecretShape("yandex-token", "t1.", r"[A-Za-z0-9_-]+={0,2}\.[A-Za-z0-9_-]{86}={0,2}"),
    SecretShape("yandex-key", "AQVN", r"[A-Za-z0-9_-]{35,38}"),
    SecretShape("yandex-key", "YC", r"[A-Za-z0-9_-]{38}(?![A-Za-z0-9_-])"),
    SecretShape("json-web-token", "ey", r"[A-Za-z0-9]{17,}\.ey[A-Za-z0-9/_-]{17,}(?:\.[A-Za-z0-9/_-]{10,}={0,2})?"),
    SecretShape("json-web-token", "eyJ", r"(?:[A-Za-z0-9_-]{8,}(?:\.{1,2}[A-Za-z0-9_-]{4,}){1,4}\.?)"),
    SecretShape("json-web-token", "ZXlK", r"[A-Za-z0-9_/+-]{30,}={0,2}"),
)
"""Shapes of one prefix stand in order: the first that fits counts."""


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
"""Services whose keys have no shape of their own, as an expression: a random word given to such a name is one."""

MODEL_WORDS: Final = "anthropic|cohere|co_api_key|deepseek|gemini|mistral|openai|perplexity|together|voyage|fireworks"
"""The same of services whose models have names that look random, too: only a long word without a dash counts."""
