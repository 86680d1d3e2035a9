"""The settings of a proxy, and the environment in which clients find it."""

from __future__ import annotations

import contextlib
import hashlib
import re
import ssl
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Final
from urllib.parse import urlsplit

import certifi

from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.proxy.option_table import REPEATS
from toolstream_core.saved.demo import is_demo

PATHS: Final = {one.name: one.api.base_path for one in PROTOCOLS}
"""The path of the base URL that clients of each protocol expect."""

KEY: Final = "toolstream-offline"
"""A placeholder for keys: clients do not start without one, and nothing checks it here."""

_VENDORS: Final = (
    "OPENAI ANTHROPIC GEMINI GOOGLE GOOGLE_GENERATIVE_AI OLLAMA OPENROUTER AI_GATEWAY AZURE_OPENAI AZURE "
    "CEREBRAS CO COHERE DASHSCOPE DEEPINFRA DEEPSEEK FIREWORKS FIREWORKS_AI GROQ HUGGINGFACE LITELLM "
    "MINIMAX MISTRAL MOONSHOT NVIDIA PERPLEXITY TOGETHER TOGETHERAI XAI ZAI ZHIPUAI"
)
_KEYS: Final = ("HF_TOKEN", *(f"{name}_API_KEY" for name in _VENDORS.split()))
_CERTIFICATES: Final = (
    "SSL_CERT_FILE",  # OpenSSL, Python's ssl, Go, Ruby, Rust's rustls-native-certs
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "DENO_CERT",
    "HTTPLIB2_CA_CERTS",
    "AWS_CA_BUNDLE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "CARGO_HTTP_CAINFO",
)
_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")

REMOVED: Final = (
    "ANTHROPIC_AUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "AWS_SESSION_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "GOOGLE_GENAI_USE_VERTEXAI",
    "SSL_CERT_DIR",
)
"""Variables that would direct a client elsewhere, or make it send a real credential."""


def proxy_variables(url: str, ca_file: str) -> dict[str, str]:
    """Variables that direct every client through the proxy at `url`, trusting the certificates in `ca_file`."""
    names = [*_PROXIES, *(name.upper() for name in _PROXIES)]
    return {
        **dict.fromkeys(names, url),
        "no_proxy": "",
        "NO_PROXY": "",
        "NODE_USE_ENV_PROXY": "1",
        **dict.fromkeys(_CERTIFICATES, ca_file),
    }


def provider_variables(url: str) -> dict[str, str]:
    """Base URLs with the proxy at `url` in place of the provider, and placeholders for keys."""
    return {
        **{variable: base_url(url, one.name) for one in reversed(PROTOCOLS) for variable in one.api.base_url_variables},
        **{variable: value for one in PROTOCOLS for variable, value in one.api.offline.items()},
        **dict.fromkeys(_KEYS, KEY),
    }


def base_url(url: str, protocol: str) -> str:
    """The base URL of a protocol's clients. Raises `ValueError` for an unknown protocol."""
    if protocol not in PATHS:
        raise ValueError(f"unknown protocol {protocol!r}; known are {', '.join(PATHS)}")
    return url + PATHS[protocol]


_OWN: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "AWS_CA_BUNDLE")
"""Variables by which users add authorities, such as their company's."""


def authorities(environment: Mapping[str, str]) -> bytes:
    """The public authorities, and those from the variables of `environment`, as PEM."""
    known = Path(certifi.where()).read_bytes()
    return b"\n".join(dict.fromkeys([known, *_own(environment)]))


def _own(environment: Mapping[str, str]) -> Iterator[bytes]:
    for name in _OWN:
        path = Path(environment.get(name) or "/")
        if path.is_file() and b"BEGIN CERTIFICATE" in (content := path.read_bytes()):
            yield content


JAVA_OPTIONS: Final = "JAVA_TOOL_OPTIONS"
"""Java programs read no proxy variables. Their virtual machine adds these options; its command line has precedence."""

_PASSWORD: Final = "changeit"  # noqa: S105
"""Java's own default; it protects nothing, as certificates are public."""
_CERTIFICATE: Final = re.compile(r"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
_HEADER: Final = (0xFEEDFEED, 2)
"""The magic number and the version of the format JKS."""
_TRUSTED: Final = 2
"""The tag of an entry that is a trusted certificate."""


def java_options(url: str, store: PurePath, own: str) -> str:
    """The value of the variable: `own`, the user's value, and the options for the proxy at `url`.

    `store` is the file of a `trust_store`.
    """
    proxy = urlsplit(url)
    properties = {
        "http.proxyHost": proxy.hostname,
        "http.proxyPort": proxy.port,
        "https.proxyHost": proxy.hostname,
        "https.proxyPort": proxy.port,
        "http.nonProxyHosts": "",
        "javax.net.ssl.trustStore": f'"{store}"',
        "javax.net.ssl.trustStoreType": "JKS",
        "javax.net.ssl.trustStorePassword": _PASSWORD,
    }
    return " ".join([*filter(None, [own]), *(f"-D{name}={value}" for name, value in properties.items())])


def trust_store(pem: str) -> bytes:
    """The certificates of a PEM text as a key store of the format JKS, which every version of Java reads.

    The format is that of `sun.security.provider.JavaKeyStore` of OpenJDK.
    """
    entries = [
        struct.pack(">I", _TRUSTED) + _utf(str(number)) + struct.pack(">q", 0) + _utf("X.509") + _sized(certificate)
        for number, certificate in enumerate(_certificates(pem))
    ]
    store = struct.pack(">3I", *_HEADER, len(entries)) + b"".join(entries)
    return store + hashlib.sha1(_PASSWORD.encode("utf-16-be") + b"Mighty Aphrodite" + store).digest()  # noqa: S324


def _certificates(pem: str) -> Iterator[bytes]:
    for one in _CERTIFICATE.findall(pem):
        with contextlib.suppress(ValueError):  # not base64
            yield ssl.PEM_cert_to_DER_cert(one)


def _utf(text: str) -> bytes:
    """A text as `DataOutput.writeUTF` writes it."""
    return struct.pack(">H", len(text)) + text.encode("ascii")


def _sized(content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + content


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """The source of a proxy's responses, and its repairs, shapes and faults."""

    flows: tuple[Path, ...] = ()
    """Flow files and folders whose responses replace those of the providers."""
    calls: tuple[str, ...] | None = None
    """Without flows: the calls of offered tools that are made, each `TOOL {JSON}`; no calls if `None`,
    and a call of a harmless tool if it is empty."""
    repair: tuple[str, ...] = ()
    shape: tuple[str, ...] = ()
    fault: tuple[str, ...] = ()
    speed: float = 0.0
    """Replay speed factor of saved flows: 1 is the recorded timing, 0 no delay."""
    seed: int = 0
    strict: bool = False
    """Whether a request that equals no saved one is refused, instead of matched with the best flow."""
    provider_repeats: int = REPEATS
    """Limit of equal requests per saved response; 0 sets none."""
    network: str = "none"
    """The permitted other connections: `none`, `loopback` (servers of this machine), `all`."""
    log: str = "off"
    """The proxy's log: `off`, `calls`, `chunks`."""
    understood: int = 0
    """The number of calls of the generated responses that the client is known to understand: no client model that
    misreads these explains what it returns."""
    options: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    """Further options, of toolstream or mitmproxy."""

    def specs(self) -> list[str]:
        """The options as for `--set`; one without `=` is set to an empty value."""
        return [
            f"toolstream_log={self.log}",
            f"toolstream_speed={self.speed:g}",
            f"toolstream_seed={self.seed}",
            *([f"toolstream_provider_strict={str(self.strict).lower()}"] if self.strict else []),
            *([f"toolstream_provider_repeats={self.provider_repeats}"] if self.provider_repeats != REPEATS else []),
            *_each("toolstream_provider", [*map(_absolute, self.flows), *self._made()]),
            *self.changes(),
            *(spec for name, value in self.options.items() for spec in _each(name, _listed(value))),
        ]

    def _made(self) -> list[str]:
        return [] if self.calls is None else [f"calls:{call}" for call in self.calls or ("",)]

    def changes(self) -> list[str]:
        """The options that change responses."""
        return [
            *_each("toolstream_repair", self.repair),
            *_each("toolstream_shape", self.shape),
            *_each("toolstream_fault", self.fault),
        ]

    def arguments(self) -> list[str]:
        """The same for `toolstream serve` and `toolstream run`, the flows first, unchanged."""
        words = [*map(str, self.flows), *self._made()]
        for name, values in (("repair", self.repair), ("shape", self.shape), ("fault", self.fault)):
            words += [word for value in values for word in (f"--{name}", value)]
        if self.seed:
            words += ["--seed", str(self.seed)]
        if self.provider_repeats != REPEATS:
            words += ["--provider-repeats", str(self.provider_repeats)]
        return [*words, *(["--strict"] if self.strict else []), "--speed", f"{self.speed:g}"]


def _absolute(path: Path) -> str:
    return str(path if is_demo(path) else path.absolute())


def _each(name: str, values: Iterable[str]) -> Iterator[str]:
    specs = [f"{name}={value}" for value in values]
    yield from specs or [name]


def _listed(value: str | Sequence[str]) -> Sequence[str]:
    return (value,) if isinstance(value, str) else value
