"""Streams as people paste them: each function wraps a bare body."""

from __future__ import annotations

import base64
import gzip
import html
import json
import pprint
import re
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

type Wrap = Callable[[bytes], bytes]

COLOUR = "\x1b[32m"
RESET = "\x1b[0m"


class Event(NamedTuple):
    """One event of a body."""

    name: str
    data: str


def events(body: bytes) -> list[Event]:
    """Return the events of an event stream, or the lines of JSON Lines."""
    text = body.decode().replace("\r\n", "\n")
    if text.lstrip().startswith("{"):
        return [Event("", line) for line in text.splitlines() if line]
    lines_ = []
    for block in text.split("\n\n"):
        fields = [line.partition(":") for line in block.split("\n")]
        name = next((value.strip() for field, _, value in fields if field == "event"), "")
        data = [value.removeprefix(" ") for field, _, value in fields if field == "data"]
        if data:
            lines_.append(Event(name, "\n".join(data)))
    return lines_


def payloads(body: bytes) -> list[Any]:
    """Return the events that are JSON."""
    return [json.loads(event.data) for event in events(body) if event.data.startswith("{")]


def lines(make: Callable[[int, str], str], *, blank: bool = True) -> Wrap:
    """Wrap each line of the body; without `blank`, blank lines are left out."""

    def wrap(body: bytes) -> bytes:
        written = body.decode().replace("\r\n", "\n").rstrip("\n").split("\n")
        return ("\n".join(make(n, line) for n, line in enumerate(written) if line or blank) + "\n").encode()

    return wrap


def prefixed(prefix: Callable[[int], str] | str, *, blank: bool = True) -> Wrap:
    """Put a prefix before each line."""
    return lines(lambda n, line: (prefix if isinstance(prefix, str) else prefix(n)) + line, blank=blank)


def around(before: str, after: str) -> Wrap:
    """Put text before and after the body."""
    return lambda body: before.encode() + body + after.encode()


def objects(make: Callable[[int, Any], str], joint: str = "\n") -> Wrap:
    """Print the object of each event, without the framing of the stream."""
    return lambda body: (joint.join(make(n, payload) for n, payload in enumerate(payloads(body))) + "\n").encode()


def compact(value: Any) -> str:
    """Return JSON on one line."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def composed(*wraps: Wrap) -> Wrap:
    """Apply wraps one after the other."""

    def wrap(body: bytes) -> bytes:
        for wrap in wraps:
            body = wrap(body)
        return body

    return wrap


def stamp(n: int) -> str:
    """Return the ISO time of line n."""
    return f"2026-11-02T10:{12 + n // 60:02}:{n % 60:02}.{123 + 7 * n % 800:03}Z"


def clock(n: int) -> str:
    """Return the time of line n as Python's logging prints it."""
    return f"2026-11-02 10:{12 + n // 60:02}:{n % 60:02},{123 + 7 * n % 800:03}"


def network_chunks(body: bytes, size: int = 50) -> list[bytes]:
    """Return the body in chunks of one size."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def chunked(body: bytes, size: int = 700) -> bytes:
    """Apply chunked transfer coding."""
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in network_chunks(body, size)) + b"0\r\n\r\n"


HEAD = b"HTTP/1.1 200 OK\r\ndate: Mon, 02 Nov 2026 10:12:00 GMT\r\ncontent-type: %s\r\nserver: x\r\n"
REQUEST_BODY = b'{"model":"m","stream":true,"messages":[{"role":"user","content":"go"}]}'


def mime(body: bytes) -> bytes:
    """Return the content type of the body."""
    return b"application/x-ndjson" if body.startswith(b"{") else b"text/event-stream"


def head(body: bytes) -> bytes:
    """`curl -i`."""
    return HEAD % mime(body) + b"\r\n" + body


def raw(body: bytes) -> bytes:
    """`curl -i --raw`."""
    return HEAD % mime(body) + b"transfer-encoding: chunked\r\n\r\n" + chunked(body)


def verbose(body: bytes) -> bytes:
    """`curl -v 2>&1`."""
    written = (HEAD % mime(body)).decode().replace("\r\n", "\n").strip().split("\n")
    return (
        "* Host api.example.com:443 was resolved.\n*   Trying 192.0.2.1:443...\n* Connected to api.example.com\n"
        "> POST /v1/chat/completions HTTP/1.1\n> Host: api.example.com\n> Authorization: Bearer sk-x\n> \n"
        "} [71 bytes data]\n* upload completely sent off: 71 bytes\n"
        + "".join(f"< {line}\n" for line in written)
        + "< \n{ [1369 bytes data]\n"
        + body.decode()
        + "* Connection #0 to host api.example.com left intact\n"
    ).encode()


METER = (
    "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n"
    "                                 Dload  Upload   Total   Spent    Left  Speed\n"
    "\r  0     0    0     0    0     0      0      0 --:--:-- --:--:-- --:--:--     0"
    "\r100   254    0     0  100   254      0    203  0:00:01  0:00:01 --:--:--   203"
)


def followed(body: bytes) -> bytes:
    """Wireshark's “Follow HTTP Stream”, saved as ASCII."""
    return (
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: api.example.com\r\nContent-Type: application/json\r\n\r\n"
        + REQUEST_BODY
        + head(body)
    )


def followed_raw(body: bytes) -> bytes:
    """“Follow TCP Stream”: chunked, and kept open for a second request."""
    request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: api.example.com\r\n\r\n" + REQUEST_BODY
    return request + raw(body) + b"GET /health HTTP/1.1\r\nHost: api.example.com\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"


def rows(data: bytes, indent: str = "") -> str:
    """Return Wireshark's hex dump."""
    lines_ = []
    for at in range(0, len(data), 16):
        row = data[at : at + 16]
        shown = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        left, right = " ".join(f"{b:02x}" for b in row[:8]), " ".join(f"{b:02x}" for b in row[8:])
        lines_.append(f"{indent}{at:08X}  {left:<23}  {right:<23}   {shown}")
    return "\n".join(lines_) + "\n"


def followed_hex(body: bytes) -> bytes:
    """“Show as hex dump”: the server's bytes are indented."""
    request, _, response = followed(body).partition(b"HTTP/1.1 200")
    return (rows(request) + rows(b"HTTP/1.1 200" + response, "    ")).encode()


def tshark(kind_: str, data: Callable[[bytes, str], str]) -> Wrap:
    """`tshark -q -z follow,tcp,KIND,0`."""

    def wrap(body: bytes) -> bytes:
        request, _, response = followed(body).partition(b"HTTP/1.1 200")
        rule = "=" * 67 + "\n"
        nodes = f"Follow: tcp,{kind_}\nFilter: tcp.stream eq 0\nNode 0: 127.0.0.1:50000\nNode 1: 127.0.0.1:80\n"
        written = "".join(data(chunk, "\t") for chunk in network_chunks(b"HTTP/1.1 200" + response, 1000))
        return ("\n" + rule + nodes + data(request, "") + written + rule).encode()

    return wrap


def _ascii(data: bytes, indent: str) -> str:
    shown = "".join(chr(b) if 32 <= b < 127 or b in b"\r\n\t" else "." for b in data)
    return f"{indent}{len(data)}\n{shown}\n"


def xxd(body: bytes) -> bytes:
    """`xxd`."""
    lines_ = []
    for at in range(0, len(body), 16):
        row = body[at : at + 16]
        pairs = " ".join(row[n : n + 2].hex() for n in range(0, len(row), 2))
        shown = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        lines_.append(f"{at:08x}: {pairs:<39}  {shown}")
    return ("\n".join(lines_) + "\n").encode()


def hexdump(body: bytes) -> bytes:
    """`hexdump -C`."""
    lines_ = []
    for at in range(0, len(body), 16):
        row = body[at : at + 16]
        left, right = " ".join(f"{b:02x}" for b in row[:8]), " ".join(f"{b:02x}" for b in row[8:])
        shown = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
        lines_.append(f"{at:08x}  {left:<23}  {right:<23}  |{shown}|")
    return ("\n".join(lines_) + f"\n{len(body):08x}\n").encode()


def trace(body: bytes) -> bytes:
    """`curl --trace -`."""

    def hex_rows(data: bytes) -> str:
        out = []
        for at in range(0, len(data), 16):
            row = data[at : at + 16]
            shown = "".join(chr(b) if 32 <= b < 128 else "." for b in row)
            out.append(f"{at:04x}: {''.join(f'{b:02x} ' for b in row):<48}{shown}")
        return "\n".join(out) + "\n"

    text = "== Info:   Trying 192.0.2.1:443...\n== Info: Connected to api.example.com (192.0.2.1) port 443\n"
    for line in (HEAD % mime(body)).split(b"\r\n"):
        text += f"<= Recv header, {len(line) + 2} bytes (0x{len(line) + 2:x})\n" + hex_rows(line + b"\r\n")
    for chunk in network_chunks(body, 500):
        text += f"<= Recv data, {len(chunk)} bytes (0x{len(chunk):x})\n" + hex_rows(chunk)
    return (text + "== Info: Connection #0 to host api.example.com left intact\n").encode()


def trace_ascii(body: bytes) -> bytes:
    """`curl --trace-ascii -`: a row ends after 64 bytes or at CRLF; what cannot be printed is a dot."""

    def text_rows(data: bytes) -> str:
        out, at = [], 0
        while at < len(data):
            row = data[at : at + 64].partition(b"\r\n")
            shown = "".join(chr(b) if 32 <= b < 127 else "." for b in row[0])
            out.append(f"{at:04x}: {shown}")
            at += len(row[0]) + len(row[1])
        return "\n".join(out) + "\n"

    text = "== Info: Connected to api.example.com (192.0.2.1) port 443\n=> Send header, 40 bytes (0x28)\n"
    text += text_rows(b"POST /v1/x HTTP/1.1\r\n") + text_rows(b"Host: x\r\n")
    for line in (HEAD % mime(body)).split(b"\r\n"):
        text += f"<= Recv header, {len(line) + 2} bytes (0x{len(line) + 2:x})\n" + text_rows(line + b"\r\n")
    for chunk in network_chunks(body, 500):
        text += f"<= Recv data, {len(chunk)} bytes (0x{len(chunk):x})\n" + text_rows(chunk)
    return (text + "== Info: Connection #0 to host api.example.com left intact\n").encode()


def table(delimiter: str) -> Wrap:
    """A table of separated values: each event in a quoted field."""

    def wrap(body: bytes) -> bytes:
        rows = (
            f'{stamp(n)}{delimiter}DEBUG{delimiter}"data: {doubled(event)}"\n' for n, event in enumerate(events(body))
        )
        return f"time{delimiter}level{delimiter}message\n{''.join(rows)}".encode()

    def doubled(event: Event) -> str:
        return event.data.replace('"', '""')

    return wrap


def devtools(body: bytes) -> bytes:
    """Chrome's EventStream tab, copied."""
    written = [
        f"{n or ''}\t{event.name or 'message'}\t{event.data}\t10:12:{n:02}.123" for n, event in enumerate(events(body))
    ]
    return ("Id\tType\tData\tTime\n" + "\n".join(written) + "\n").encode()


def har(body: bytes, **content: Any) -> bytes:
    """A HAR file."""
    entry = {
        "startedDateTime": "2026-11-02T10:12:00.000Z",
        "request": {"method": "POST", "url": "https://api.example.com/x", "headers": []},
        "response": {
            "status": 200,
            "headers": [{"name": "content-type", "value": mime(body).decode()}, *content.pop("headers", [])],
            "content": {"size": len(body), "mimeType": mime(body).decode(), "text": body.decode()} | content,
        },
    }
    return json.dumps({"log": {"version": "1.2", "entries": [entry]}}).encode()


def har_compressed(body: bytes) -> bytes:
    """A HAR file whose body is still compressed."""
    text = base64.b64encode(gzip.compress(body)).decode()
    return har(body, text=text, encoding="base64", headers=[{"name": "content-encoding", "value": "gzip"}])


def charles(body: bytes) -> bytes:
    """Charles's session as JSON (.chlsj)."""
    return json.dumps(
        [
            {
                "status": "COMPLETE", "method": "POST", "scheme": "https", "host": "api.example.com", "path": "/v1/x",
                "request": {"mimeType": "application/json", "body": {"text": REQUEST_BODY.decode()}},
                "response": {"status": 200, "mimeType": mime(body).decode(), "body": {"text": body.decode()}},
            }
        ]
    ).encode()  # fmt: skip


def claude_trace(body: bytes) -> bytes:
    """claude-trace: a pair of request and response on each line."""
    request = {"timestamp": 1.5, "method": "POST", "url": "https://api.example.com/v1/messages", "body": {"a": 1}}
    response = {"timestamp": 2.5, "status_code": 200, "headers": {}, "body_raw": body.decode()}
    return (json.dumps({"request": request, "response": response, "logged_at": "2026-11-02"}) + "\n").encode()


def record(key: str, extra: dict[str, Any] | None = None, *, end: str = "") -> Wrap:
    """Records of JSON lines with the event's data as text."""
    return lambda body: "".join(
        json.dumps({"time": stamp(n), **(extra or {}), key: f"data: {event.data}{end}"}) + "\n"
        for n, event in enumerate(events(body))
    ).encode()


def cut_records(body: bytes) -> bytes:
    """JSON Lines with one network chunk each."""
    return "".join(
        json.dumps({"ts": n, "msg": "chunk", "raw": chunk.decode("latin-1")}) + "\n"
        for n, chunk in enumerate(network_chunks(body))
    ).encode()


def logged_chunks(body: bytes) -> bytes:
    """Network chunks, each after a heading on its own line."""
    return b"".join(
        f"{clock(n)} - DEBUG - Stream chunk for request 71:\n".encode() + chunk + b"\n"
        for n, chunk in enumerate(network_chunks(body, 120))
    )


def docker(body: bytes) -> bytes:
    """Docker's json-file log."""
    written = body.decode().split("\n")
    return "".join(
        json.dumps({"log": f"INFO:     chunk {line}\n", "stream": "stderr", "time": stamp(n)}) + "\n"
        for n, line in enumerate(written)
    ).encode()


_CLASSES = {"choices": "Choice", "delta": "ChoiceDelta", "tool_calls": "ChoiceDeltaToolCall", "function": "Function",
            "usage": "Usage", "message": "Message", "content_block": "ToolUseBlock", "item": "Item",
            "response": "Response", "output": "Item"}  # fmt: skip


def sdk(value: Any, name: str = "ChatCompletionChunk") -> str:
    """An object of an SDK as Python prints it, with fields that were not sent."""
    if isinstance(value, dict):
        fields = [f"{key}={sdk(item, _CLASSES.get(key, 'Part'))}" for key, item in value.items()]
        return f"{name}({', '.join([*fields, 'refusal=None'])})"
    if isinstance(value, list):
        return "[" + ", ".join(sdk(item, name) for item in value) + "]"
    return repr(value)


def fields(value: dict[str, Any]) -> str:
    """An object as pydantic's `str` prints it: fields separated by spaces, without the class name."""
    return " ".join(f"{key}={sdk(item, _CLASSES.get(key, 'Part'))}" for key, item in [*value.items(), ("usage", None)])


def rich(value: Any, name: str = "ChatCompletionChunk", indent: int = 0) -> str:
    """The same as rich prints it, on many lines."""
    pad = "    " * (indent + 1)
    if isinstance(value, dict) and value:
        fields = ",\n".join(
            f"{pad}{key}={rich(item, _CLASSES.get(key, 'Part'), indent + 1)}" for key, item in value.items()
        )
        return f"{name}(\n{fields}\n{'    ' * indent})"
    if isinstance(value, list) and value:
        items = ",\n".join(pad + rich(item, name, indent + 1) for item in value)
        return f"[\n{items}\n{'    ' * indent}]"
    return repr(value)


def node(value: Any, indent: int = 0) -> str:
    """An object as Node prints it with `depth: null`."""
    pad = "  " * (indent + 1)
    if isinstance(value, dict):
        if not value:
            return "{}"
        fields = ",\n".join(
            f"{pad}{key if key.isidentifier() else repr(key)}: {node(item, indent + 1)}" for key, item in value.items()
        )
        return f"{{\n{fields}\n{'  ' * indent}}}"
    if isinstance(value, list):
        return "[ " + ", ".join(node(item, indent + 1) for item in value) + " ]" if value else "[]"
    if isinstance(value, str):
        return repr(value)
    return (
        {None: "null", True: "true", False: "false"}.get(value, repr(value))
        if value is None or isinstance(value, bool)
        else repr(value)
    )


def inline(value: Any) -> str:
    """An object as Node prints it on one line."""
    return " ".join(node(value).split())


def fields_inline(value: Any, mark: str = ": ") -> str:
    """An object with each field on its own line."""
    return "{\n" + ",\n".join(f"  {key}{mark}{inline(item)}" for key, item in value.items()) + "\n}"


def rust(value: Any) -> str:
    """A `serde_json::Value` as Rust's `{:?}` prints it."""
    if isinstance(value, dict):
        return "Object {" + ", ".join(f"{json.dumps(key)}: {rust(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "Array [" + ", ".join(map(rust, value)) + "]"
    if isinstance(value, str):
        return f"String({json.dumps(value, ensure_ascii=False)})"
    if value is None:
        return "Null"
    return f"Bool({json.dumps(value)})" if isinstance(value, bool) else f"Number({value})"


def server_sent(body: bytes) -> bytes:
    """`ServerSentEvent` objects, as SDKs log them."""
    return "".join(
        f"DEBUG:openai._streaming:ServerSentEvent(event={event.name or None}, data={event.data}, id=None, retry=None)\n"
        for event in events(body)
    ).encode()


def client_log(body: bytes) -> bytes:
    """Event and data on one line of a log."""
    return "".join(
        f"bridge  | {clock(n)} | DEBUG    | app.stream:run:70 - SSE received - event: {event.name or 'message'}, "
        f"data: {event.data}, id: , retry: None\n"
        for n, event in enumerate(events(body))
    ).encode()


def concatenated(body: bytes) -> bytes:
    """All events on one line."""
    return "".join(f"data: {event.data}" for event in events(body)).encode() + b"\n"


def upper_escapes(body: bytes) -> bytes:
    """A log that escapes what it prints, without quotes."""
    return "".join(
        "recv: data: " + event.data.replace("\\", "\\\\").replace('"', '\\"') + "\\n\\n\n" for event in events(body)
    ).encode()


def wrapped_at(width: int) -> Wrap:
    """Copied from a terminal that breaks lines."""

    def wrap(body: bytes) -> bytes:
        out = []
        for line in body.decode().split("\n"):
            out += [line[at : at + width] for at in range(0, len(line), width)] or [""]
        return "\n".join(out).encode()

    return wrap


def several(body: bytes) -> bytes:
    """Pretty-printed JSON in several data lines."""
    return "".join(
        "".join(f"data: {line}\n" for line in json.dumps(json.loads(event.data), indent=1).split("\n")) + "\n"
        if event.data.startswith("{")
        else f"data: {event.data}\n\n"
        for event in events(body)
    ).encode()


def quoted_text(body: bytes) -> bytes:
    """The body as one JSON string."""
    return json.dumps(body.decode()).encode() + b"\n"


def python_list(body: bytes) -> bytes:
    """A list of bytes objects."""
    return (pprint.pformat(network_chunks(body, 200), width=10000) + "\n").encode()


BOTH: dict[str, Wrap] = {
    # curl and terminals
    "curl-i": head,
    "curl-i-lf": lambda body: head(body).replace(b"\r\n", b"\n"),
    "curl-i-raw": raw,
    "curl-i-raw-lf": lambda body: raw(body).replace(b"\r\n", b"\n"),
    "curl-raw": chunked,
    "curl-v": verbose,
    "curl-meter": lambda body: METER.encode() + b"\n" + body,
    "curl-meter-before-data": lambda body: METER.encode() + body + b"\r100   300    0   300    0     0    203      0\n",
    "curl-trace": trace,
    "curl-trace-ascii": trace_ascii,
    "http-redirect": lambda body: b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /x\r\n\r\n" + head(body),
    "http-continue": lambda body: b"HTTP/1.1 100 Continue\r\n\r\n" + head(body),
    "http2": lambda body: b"HTTP/2 200 \r\ncontent-type: " + mime(body) + b"\r\n\r\n" + body,
    "prompt": around("$ curl -N https://api.example.com/v1/x -d @q.json\n", "$ \n"),
    "prompt-windows": around("PS C:\\Users\\me> curl.exe -N https://api.example.com/v1/x\n", "PS C:\\Users\\me> \n"),
    "log-before": around("INFO:     Started server process [1]\nINFO:     Application startup complete.\n", ""),
    "text-after": around(
        "", "\nTraceback (most recent call last):\n  File \"a.py\", line 3, in <module>\nKeyError: 'x'\n"
    ),
    "exit-code": around("+ curl -sN localhost:8000/v1/x\n", "\n[Process exited 0]\nreal\t0m1.2s\n"),
    "colours": lines(lambda _n, line: f"{COLOUR}{line}{RESET}" if line else line),
    "colours-inside": lines(lambda _n, line: line.replace("data:", f"{COLOUR}data:{RESET}", 1)),
    "script": lambda body: b"\x1b[?2004hme@host:~$ \x1b[?2004l\r\n" + body.replace(b"\n", b"\r\n"),
    "trailing-spaces": lines(lambda _n, line: f"{line}    "),
    "crlf-blank": lambda body: b"\r\n\r\n" + body.replace(b"\n", b"\r\n"),
    # people
    "fence": around("The provider answers:\n\n```\n", "```\n\nWhat is wrong?\n"),
    "fence-language": around("**Response**\n```text\n", "```\n"),
    "fence-tilde": around("~~~sse\n", "~~~\n"),
    "fence-details": around("<details><summary>stream</summary>\n\n```\n", "```\n</details>\n"),
    "quote": prefixed("> "),
    "quote-tight": lines(lambda _n, line: f"> {line}" if line else ">"),
    "quote-twice": prefixed("> > "),
    "quote-fence": composed(around("Here:\n```\n", "```\n"), prefixed("> ")),
    "indented": lines(lambda _n, line: f"    {line}" if line else line),
    "tabbed": lines(lambda _n, line: f"\t{line}" if line else line),
    "html-entities": lambda body: html.escape(body.decode(), quote=True).encode(),
    "typographic-quotes": lambda body: body.replace(b'"', "\N{LEFT DOUBLE QUOTATION MARK}".encode()),
    "issue": around(
        "### Bug\n\n- model: `m`\n- {version: 1}\n\n1. run it\n\n```console\n$ curl x\n", "```\n\nThanks!\n"
    ),
    "numbered": lines(lambda n, line: f"{n + 1:>6}\t{line}"),
    "grep-n": lines(lambda n, line: f"stream.log:{n + 1}:{line}"),
    "diff": prefixed("+"),
    # logs
    "time-iso": prefixed(lambda n: f"{stamp(n)} "),
    "time-bracket": prefixed(lambda n: f"[10:12:{n % 60:02}] "),
    "level": prefixed("[DEBUG] "),
    "logging": prefixed(lambda n: f"{clock(n)} - myapp.client - DEBUG - "),
    "logging-colon": prefixed("DEBUG:httpx_sse:line: "),
    "loguru": prefixed(lambda n: f"{clock(n)} | DEBUG    | app.llm:stream:{40 + n % 3} - "),
    "docker-compose": prefixed("litellm-1  | "),
    "kubernetes": prefixed(lambda n: f"{stamp(n)} stdout F "),
    "journald": prefixed(lambda n: f"Nov 02 10:12:{n % 60:02} host app[4242]: "),
    "syslog": prefixed(lambda n: f"<14>1 {stamp(n)} host app 4242 - - "),
    "rust-tracing": prefixed(lambda n: f"{stamp(n)} DEBUG client::sse{{req=7}}: line="),
    "go-log": prefixed(lambda n: f"2026/11/02 10:12:{n % 60:02} stream.go:88: "),
    "logcat": prefixed(lambda n: f"11-02 10:12:{n % 60:02}.123  4242  4311 D OkHttp  : "),
    "xcode": prefixed(lambda n: f"2026-11-02 10:12:{n % 60:02}.123456+0100 MyApp[4242:{31000 + n}] "),
    "pm2": prefixed(lambda n: f"0|api  | {clock(n)}: "),
    "github-actions": prefixed(lambda n: f"{stamp(n)[:-1]}4567Z "),
    "systemd-cat": prefixed("app.service: "),
    "no-blank-prefixed": prefixed(lambda n: f"{stamp(n)} DEBUG ", blank=False),
    "jest": prefixed("    at console.log "),
    "emoji": prefixed("🔍 chunk → "),
    "docker-json": docker,
    # dumps
    "wireshark": followed,
    "wireshark-tcp": followed_raw,
    "wireshark-hex": followed_hex,
    "tshark-ascii": tshark("ascii", _ascii),
    "tshark-hex": tshark("hex", rows),
    "tshark-raw": tshark("raw", lambda data, indent: f"{indent}{data.hex()}\n"),
    "xxd": xxd,
    "hexdump": hexdump,
    "xxd-plain": lambda body: b"\n".join(chunk.hex().encode() for chunk in network_chunks(body, 30)) + b"\n",
    # encodings
    "utf-16": lambda body: body.decode().replace("\n", "\r\n").encode("utf-16"),
    "utf-16-be": lambda body: b"\xfe\xff" + body.decode().encode("utf-16-be"),
    "utf-16-no-mark": lambda body: body.decode().encode("utf-16-le"),
    "utf-8-mark": lambda body: b"\xef\xbb\xbf" + body,
    "powershell-log": composed(prefixed(lambda n: f"{stamp(n)} "), lambda body: body.decode().encode("utf-16")),
    "gzip-log": composed(prefixed("LOG "), gzip.compress),
    # files of tools
    "har": har,
    "har-utf-16": lambda body: har(body).decode().encode("utf-16"),
    "har-base64": lambda body: har(body, text=base64.b64encode(body).decode(), encoding="base64"),
    "har-compressed": har_compressed,
    "charles": charles,
    "postman": lambda body: json.dumps(
        {"item": [{"response": [{"code": 200, "body": body.decode()}]}]}, indent=1
    ).encode(),
    "claude-trace": claude_trace,
    "cut-records": cut_records,
    "log-headings": logged_chunks,
    "log-headings-rules": lambda body: logged_chunks(body).replace(b"\n2026-", b"\n---\n2026-"),
    "log-chunks": lambda body: b"".join(b"chunk: %b\n" % chunk for chunk in network_chunks(body, 120)),
    "log-chunks-numbered": lambda body: b"".join(
        b"[%d] received: %b\n" % (n, chunk) for n, chunk in enumerate(network_chunks(body, 120))
    ),
    "log-headings-chunked": composed(chunked, logged_chunks),
    "log-headings-chunked-lf": composed(chunked, logged_chunks, lambda body: body.replace(b"\r\n", b"\n")),
    "bytes-repr": lambda body: "".join(f"{chunk!r}\n" for chunk in network_chunks(body)).encode(),
    "bytes-repr-logged": lambda body: "".join(f"chunk: {chunk!r}\n" for chunk in network_chunks(body, 120)).encode(),
    "bytes-list": python_list,
    "string": quoted_text,
    "string-array": lambda body: json.dumps([chunk.decode() for chunk in network_chunks(body)], indent=2).encode(),
}
"""For any body of text."""

DATA: dict[str, Wrap] = {
    "no-blank-lines": lines(lambda _n, line: line, blank=False),
    "grep-data": lambda body: b"\n".join(line for line in body.splitlines() if line.startswith(b"data:")) + b"\n",
    "concatenated": concatenated,
    "rendered-markdown": lambda body: re.sub(rb"\\([\\\"])", rb"\1", body),
    "no-break-spaces": lambda body: body.replace(b"data: ", "data:\u00a0".encode()),
    "doubled-data": lambda body: re.sub(rb"(?m)^data: ", b"data: data: ", body),
    "stream-data": lambda body: "".join(
        f"{stamp(n)} DEBUG stream-data: {event.data}\n" for n, event in enumerate(events(body))
    ).encode(),
    "devtools": devtools,
    "server-sent-event": server_sent,
    "client-log": client_log,
    "record-message": record("message", {"level": "debug"}),
    "record-raw": record("raw", end="\n\n"),
    "record-cloud": record("textPayload", {"severity": "DEBUG", "labels": {"pod": "x"}}),
    "records-pretty": lambda body: json.dumps(
        [{"textPayload": f"data: {event.data}", "insertId": str(n)} for n, event in enumerate(events(body))], indent=2
    ).encode(),
    "escaped": upper_escapes,
    "wrapped-80": wrapped_at(80),
    "wrapped-132": wrapped_at(132),
    "several-data-lines": several,
    "csv": table(","),
    "csv-semicolons": table(";"),
    "tsv": table("\t"),
    "js-log": lambda body: "".join(f"chunk {node(f'data: {event.data}')}\n" for event in events(body)).encode(),
}
"""For event streams."""

OBJECTS: dict[str, Wrap] = {
    "json-lines": objects(lambda _n, payload: compact(payload)),
    "json-spaced": objects(lambda _n, payload: json.dumps(payload)),
    "json-pretty": objects(lambda _n, payload: json.dumps(payload, indent=2)),
    "json-pretty-tab": objects(lambda _n, payload: json.dumps(payload, indent="\t"), "\n\n"),
    "json-pretty-quoted": composed(objects(lambda _n, payload: json.dumps(payload, indent=2)), prefixed("> ")),
    "json-pretty-logged": composed(
        objects(lambda _n, payload: json.dumps(payload, indent=2)), prefixed(lambda n: f"{stamp(n)} ")
    ),
    "json-comments": objects(
        lambda n, payload: json.dumps(payload, indent=2).replace("\n", f"  // line {n}, see https://example.com\n", 3)
    ),
    "json-comments-python": objects(lambda n, payload: compact(payload).replace(",", f",  # the {n}th chunk\n", 1)),
    "json-concatenated": objects(lambda _n, payload: compact(payload), ""),
    "json-commas": objects(lambda _n, payload: compact(payload), ",\n"),
    "json-array": lambda body: json.dumps(payloads(body)).encode(),
    "json-array-pretty": lambda body: json.dumps(payloads(body), indent=2).encode(),
    "json-in-record": objects(lambda n, payload: compact({"ts": n, "level": "info", "chunk": payload})),
    "json-in-document": lambda body: json.dumps({"request": {"x": 1}, "chunks": payloads(body)}, indent=1).encode(),
    "json-string-array": lambda body: json.dumps([{"data": compact(payload)} for payload in payloads(body)]).encode(),
    "json-string-record": objects(lambda n, payload: compact({"ts": n, "body": compact(payload)})),
    "debug-json": objects(lambda _n, payload: f"debug: {compact(payload)}"),
    "litellm": objects(
        lambda n, payload: f"{clock(n)[11:19]} - LiteLLM:DEBUG: utils.py:{n} - raw chunk: {compact(payload)}"
    ),
    "console-count": objects(lambda n, payload: f"chunk {n}: {compact(payload)} ({n * 12} ms)"),
    "python-dict": objects(lambda _n, payload: repr(payload)),
    "python-dict-logged": objects(lambda _n, payload: f"INFO:root:chunk={payload!r}"),
    "python-pprint": objects(lambda _n, payload: pprint.pformat(payload, width=60)),
    "sdk-repr": objects(lambda _n, payload: sdk(payload)),
    "sdk-repr-logged": objects(lambda n, payload: f"{clock(n)} DEBUG chunk: {sdk(payload)}"),
    "sdk-str": objects(lambda _n, payload: fields(payload)),
    "rich": lambda body: rich(payloads(body)).encode(),
    "node": objects(lambda _n, payload: node(payload)),
    "node-fields": objects(lambda _n, payload: fields_inline(payload)),
    "node-fields-logged": objects(lambda n, payload: f"chunk {n} {fields_inline(payload)}"),
    "rust": objects(lambda _n, payload: rust(payload)),
    "fence-json": composed(objects(lambda _n, payload: json.dumps(payload, indent=2)), around("```json\n", "```\n")),
    "claude-stream-json": lambda body: "".join(
        compact(payload) + "\n"
        for payload in [
            {"type": "system", "subtype": "init", "session_id": "s", "tools": ["Bash"]},
            *({"type": "stream_event", "event": each, "session_id": "s", "uuid": "u"} for each in payloads(body)),
            {"type": "result", "subtype": "success", "session_id": "s", "result": "done"},
        ]
    ).encode(),
}
"""For any stream of JSON objects: the framing is lost."""
