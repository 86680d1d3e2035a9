"""Sessions for the browser tests: flow files in which a client reads or misreads responses."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from mitmproxy import flow as mitmflow
from mitmproxy import http
from mitmproxy.test import tflow, tutils

from tests.cli.inspected import save
from tests.cli.test_inspect_sockets import save_socket as saved_socket
from tests.invariants.healthy import streams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

type Message = dict[str, Any]

STARTED: Final = 1_790_000_000.0
PROMPT: Final = "Summarise README.md and list the open issues."
HOSTILE: Final = (
    '</script><script>window.hacked=1</script><img src=x onerror="window.hacked=2">"\'`&lt;\u202e\u2028${hacked}'
)
THOUGHT: Final = "The user wants a short summary of the README and the list of open issues. I read README.md first."
TEXT: Final = "I’ll read the README and list the open issues."
FINAL: Final = "README.md describes install, use and repair. There are three open issues."
TOOLS: Final = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {"type": "object", "properties": {key: {"type": kind} for key, kind in keys.items()}},
        },
    }
    for name, keys in {
        "read_file": {"path": "string", "lines": "integer"},
        "list_issues": {"state": "string", "limit": "integer"},
        "write_file": {"path": "string", "text": "string"},
    }.items()
]
CALLS: Final = (
    ("call_0_e6b8d8c2f40e", "read_file", '{"path":"README.md"}'),
    ("call_1_b1f0a7", "list_issues", '{"state":"open","limit":20}'),
)


@dataclass
class Stream:
    """Builds a Chat Completions stream: events with their times."""

    chunks: list[tuple[int, bytes]] = field(default_factory=list)
    now: int = 0

    def event(self, payload: Any, wait: int = 20) -> None:
        """Add a server-sent event; text becomes its data unchanged."""
        data = payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        self.now += wait
        self.chunks.append((self.now, f"data: {data}\n\n".encode()))

    def delta(self, delta: Message, *, finish: str | None = None, choice: int = 0, wait: int = 20) -> None:
        """Add a chunk of a completion."""
        choices = [{"index": choice, "delta": delta, "logprobs": None, "finish_reason": finish}]
        base = {"id": "chatcmpl-f2a752e6b438", "object": "chat.completion.chunk", "created": int(STARTED)}
        self.event(base | {"model": "deepseek-chat", "choices": choices}, wait)

    def fragment(self, index: int, *, choice: int = 0, wait: int = 20, **entry: Any) -> None:
        """Add a fragment of a call."""
        self.delta({"tool_calls": [{"index": index, **entry}]}, choice=choice, wait=wait)

    def words(self, key: str, text: str) -> None:
        """Add text or reasoning, word by word."""
        for word in text.split(" "):
            self.delta({key: f"{word} "})

    def call(self, index: int, call: tuple[str, str, str], *, choice: int = 0, **extra: Any) -> None:
        """Add a call: its head, then its arguments in fragments of four characters, which also have `extra`."""
        identity, name, arguments = call
        head = {"id": identity, "type": "function", "function": {"name": name, "arguments": ""}}
        self.fragment(index, choice=choice, wait=120, **head)
        for part in cut(arguments):
            self.fragment(index, choice=choice, **extra, function={"arguments": part})

    def end(self, finish: str, choice: int = 0) -> None:
        """Add the finish reason."""
        self.delta({}, finish=finish, choice=choice)

    def done(self) -> list[tuple[int, bytes]]:
        """Add `[DONE]`, and return all chunks."""
        self.event("[DONE]", 2)
        return self.chunks


def cut(text: str, size: int = 4) -> list[str]:
    """Split a text into parts."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def opening() -> Stream:
    """A stream with reasoning and text, before its calls."""
    stream = Stream()
    stream.delta({"role": "assistant", "content": None}, wait=210)
    stream.words("reasoning_content", THOUGHT)
    stream.words("content", TEXT)
    return stream


def two_calls(**extra: Any) -> list[tuple[int, bytes]]:
    """A stream of two calls; each fragment after a head also has `extra`."""
    stream = opening()
    for index, call in enumerate(CALLS):
        stream.call(index, call, **extra)
    stream.end("tool_calls")
    return stream.done()


def text_only(text: str = FINAL) -> list[tuple[int, bytes]]:
    """A stream without a call."""
    stream = Stream()
    stream.words("content", text)
    stream.end("stop")
    return stream.done()


def exchange(
    messages: Sequence[Message],
    chunks: Sequence[tuple[int, bytes]],
    at: int,
    *,
    sent: Sequence[bytes] | None = None,
    broken: str | None = None,
    status: int = 200,
    content_type: str = "text/event-stream",
    **request: Any,
) -> http.HTTPFlow:
    """A captured flow; `sent` has the chunks that the client received instead."""
    body = b"".join(data for _, data in chunks)
    headers = http.Headers([(b"content-type", content_type.encode())])
    flow = tflow.tflow(resp=tutils.tresp(content=body, headers=headers, status_code=status))
    flow.request.host, flow.request.method, flow.request.path = "api.deepseek.com", "POST", "/v1/chat/completions"
    flow.request.headers["content-type"] = "application/json"
    flow.request.content = json.dumps(
        {"model": "deepseek-chat", "messages": list(messages), "tools": TOOLS, "stream": True, **request}
    ).encode()
    flow.request.timestamp_start = flow.request.timestamp_end = STARTED + 10 * at
    assert flow.response is not None
    flow.response.timestamp_start = STARTED + 10 * at + 0.2
    flow.response.timestamp_end = STARTED + 10 * at + 9
    metadata: Message = {"version": 1, "chunks": [[when, len(data)] for when, data in chunks]}
    if sent is not None:
        metadata["sent"] = {"body": b"".join(sent), "chunks": [[0, len(data)] for data in sent]}
    if broken is not None:
        metadata["broken"] = broken
        flow.error = mitmflow.Error(broken)
    flow.metadata["toolstream"] = metadata
    return flow


def returned(*calls: tuple[str, str, str], text: str = TEXT) -> list[Message]:
    """The messages of a client that returns calls, each with a result."""
    entries = [
        {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}
        for identity, name, arguments in calls
    ]
    results = [{"role": "tool", "tool_call_id": identity, "content": "error: no path"} for identity, _, _ in calls]
    return [{"role": "assistant", "content": text, "tool_calls": entries}, *results]


def user(text: str = PROMPT) -> list[Message]:
    """The first messages of a conversation."""
    return [{"role": "system", "content": "You are a careful assistant."}, {"role": "user", "content": text}]


def without_arguments() -> list[tuple[str, str, str]]:
    """The calls of a client that starts a call at each change of id, and drops calls without a name."""
    return [(identity, name, "{}") for identity, name, _ in CALLS]


def loop() -> list[http.HTTPFlow]:
    """A client that misreads five responses in the same way, then gets text."""
    messages, flows = user(), []
    for turn in range(5):
        flows.append(exchange(messages, two_calls(id=""), turn))
        messages = [*messages, *returned(*without_arguments())]
    return [*flows, exchange(messages, text_only(), 5)]


def only_last() -> list[http.HTTPFlow]:
    """A client that keeps only the last call of a response."""
    return [exchange(user(), two_calls(), 0), exchange([*user(), *returned(CALLS[1])], text_only(), 1)]


def healthy() -> list[http.HTTPFlow]:
    """A client that reads the calls as sent."""
    messages = user()
    return [exchange(messages, two_calls(), 0), exchange([*messages, *returned(*CALLS)], text_only(), 1)]


def truncated() -> list[http.HTTPFlow]:
    """A stall, then a disconnect inside the arguments; the client closes them and returns the call."""
    stream = opening()
    arguments = json.dumps({"path": "config/app.toml", "text": "[server]\nport = 8080\n"})[:-8]
    stream.fragment(0, id="call_9bUQ", type="function", function={"name": "write_file", "arguments": ""})
    for number, part in enumerate(cut(arguments)):
        stream.fragment(0, wait=1640 if number == 6 else 20, function={"arguments": part})
    reason = "peer closed connection without sending complete message body (incomplete chunked read)"
    messages = user("Write config/app.toml.")
    closed = returned(("call_9bUQ", "write_file", f'{arguments}"}}'))
    return [exchange(messages, stream.chunks, 0, broken=reason), exchange([*messages, *closed], text_only(), 1)]


def repaired() -> list[http.HTTPFlow]:
    """A response in which the proxy repaired ids and withheld one event."""
    chunks = two_calls(id="")
    identities = iter([call[0] for call in CALLS])
    sent, current = [], b""
    for _, data in chunks:
        if b'"name":' in data:
            current = next(identities).encode()
        sent.append(data.replace(b'"id":""', b'"id":"' + current + b'"'))
    del sent[3]
    messages = user()
    flows = [exchange(messages, chunks, 0, sent=sent), exchange([*messages, *returned(*CALLS)], text_only(), 1)]
    return [flows[0], flows[1]]


def violating() -> list[http.HTTPFlow]:
    """A response whose two calls share an index: a client that follows the protocol merges them."""
    stream = opening()
    for call in CALLS:
        stream.call(0, call)
    stream.end("tool_calls")
    merged = (CALLS[0][0], CALLS[0][1], CALLS[0][2] + CALLS[1][2])
    messages = user()
    return [
        exchange(messages, stream.done(), 0),
        exchange([*messages, *returned(merged)], text_only(), 1),
    ]


def provider_error() -> list[http.HTTPFlow]:
    """An error inside a stream, and an error response."""
    stream = Stream()
    stream.words("reasoning_content", THOUGHT)
    stream.event({"error": {"message": "The engine is overloaded", "type": "server_error", "code": "overloaded"}}, 900)
    error = json.dumps({"error": {"message": "Rate limit reached", "type": "rate_limit"}}).encode()
    return [
        exchange(user(), stream.chunks, 0),
        exchange(user("Other"), [(0, error)], 1, status=429, content_type="application/json"),
    ]


def choices() -> list[http.HTTPFlow]:
    """A response of two choices with one call each; the client returns the call of the first."""
    stream = Stream()
    for choice, call in enumerate(CALLS):
        stream.delta({"role": "assistant", "content": "Here:"}, choice=choice)
        stream.call(0, call, choice=choice)
    for choice in (0, 1):
        stream.end("tool_calls", choice)
    messages = user()
    back = returned(CALLS[0], text="Here:")
    return [exchange(messages, stream.done(), 0, n=2), exchange([*messages, *back], text_only(), 1)]


def unstreamed() -> list[http.HTTPFlow]:
    """A response without a stream."""
    entries = returned(*CALLS)[0]["tool_calls"]
    message = {"role": "assistant", "content": TEXT, "tool_calls": entries}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o", "choices": [choice]}
    data = json.dumps(body).encode()
    first = exchange(user(), [(0, data)], 0, content_type="application/json", stream=False)
    return [first, exchange([*user(), *returned(*CALLS)], text_only(), 1)]


def few() -> list[http.HTTPFlow]:
    """Three responses: only comments; one event; a call in one event."""
    single = Stream()
    single.delta({"content": "Hello"}, finish="stop")
    bare = Stream()
    bare.fragment(0, id="call_7", type="function", function={"name": "list_issues", "arguments": "{}"})
    return [
        exchange(user("Comments"), [(at, b": keep-alive\n\n") for at in range(0, 4000, 500)], 0),
        exchange(user("One event"), single.chunks, 1),
        exchange(user("One call"), bare.chunks, 2),
    ]


def hostile() -> list[http.HTTPFlow]:
    """Markup and script in every text of provider and client."""
    stream = Stream()
    stream.words("reasoning_content", HOSTILE)
    stream.words("content", HOSTILE)
    arguments = json.dumps({HOSTILE: HOSTILE})
    stream.fragment(0, id=HOSTILE, type="function", function={"name": HOSTILE, "arguments": ""})
    for part in cut(arguments, 20):
        stream.fragment(0, id="", function={"arguments": part})
    stream.end(HOSTILE)
    stream.event(HOSTILE)
    messages = user(HOSTILE)
    back = returned((HOSTILE, HOSTILE, "{}"), text=HOSTILE)
    return [
        exchange(messages, stream.done(), 0, model=HOSTILE),
        exchange([*messages, *back], text_only(HOSTILE), 1, broken=HOSTILE),
    ]


def large(count: int = 3000) -> list[http.HTTPFlow]:
    """A response of `count` events: reasoning, text, a long call whose ids become empty, a stall, a short call."""
    chance = random.Random(3)
    words = ["the", "stream", "carries", "calls", "in", "parts", "that", "a", "client", "joins", "by", "index"]
    text = json.dumps({"path": "docs/streams.md", "text": " ".join(chance.choices(words, k=count))})
    stream = Stream()
    stream.words("reasoning_content", " ".join(chance.choices(words, k=count // 5)))
    stream.words("content", " ".join(chance.choices(words, k=count // 12)))
    left = count - len(stream.chunks) - 15
    stream.fragment(0, id="call_0_2f7c", type="function", function={"name": "write_file", "arguments": ""})
    size = -(-len(text) // left)
    parts = [*cut(text, size), *[""] * left][:left]
    half = left * 6 // 10
    for number, part in enumerate(parts):
        wait = 4200 if number == half // 2 else 3 + number % 9
        entry: Message = {"function": {"arguments": part}} | ({"id": ""} if number >= half else {})
        stream.fragment(0, wait=wait, **entry)
    stream.call(1, ("call_1_99ac", "list_issues", '{"state":"open","limit":20}'), id="")
    stream.end("tool_calls")
    stream.chunks += [(stream.now, b": keep-alive\n\n")] * (count - len(stream.chunks) - 1)
    lost = returned(("call_0_2f7c", "write_file", "".join(parts[:half])), ("call_1_99ac", "list_issues", "{}"))
    messages = user("Write docs/streams.md from the notes, then list the issues.")
    return [exchange(messages, stream.done(), 0), exchange([*messages, *lost], text_only(), 1)]


def many(count: int = 60) -> list[http.HTTPFlow]:
    """Many conversations, some with the same title; every tenth is misread."""
    flows = []
    for number in range(count):
        messages = user("The same prompt" if number % 3 == 0 else f"Prompt {number}")
        wrong = number % 10 == 0
        flows.append(exchange(messages, two_calls(**({"id": ""} if wrong else {})), 2 * number))
        back = returned(*(without_arguments() if wrong else CALLS))
        flows.append(exchange([*messages, *back], text_only(), 2 * number + 1))
    return flows


SESSIONS: Final[dict[str, Callable[[], Iterable[http.HTTPFlow]]]] = {
    "loop": loop,
    "only-last": only_last,
    "healthy": healthy,
    "truncated": truncated,
    "repaired": repaired,
    "violating": violating,
    "error": provider_error,
    "choices": choices,
    "unstreamed": unstreamed,
    "few": few,
    "hostile": hostile,
    "large": large,
    "many": many,
}


def write_session(name: str, folder: Path) -> Path:
    """Write the file of a session to a folder."""
    if name == "socket":
        two = next(one for one in streams() if (one.protocol, one.name) == ("openai-realtime", "fragments of two"))
        return saved_socket(folder / "socket.flow", two.protocol, two.body)
    if name == "untimed":
        data = b"".join(part for _, part in two_calls(id=""))
        path = folder / "untimed.sse"
        path.write_bytes(data)
        return path
    return save(folder / f"{name}.flow", *SESSIONS[name]())
