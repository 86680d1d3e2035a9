"""Streams in the logs, exports, fixtures and dumps of named tools: each function wraps a bare body."""

from __future__ import annotations

import base64
import gzip
import html
import json
import quopri
import re
from typing import TYPE_CHECKING, Any

from tests.saved.unwrap.wrappers import (
    HEAD,
    METER,
    REQUEST_BODY,
    around,
    clock,
    compact,
    composed,
    events,
    followed,
    head,
    lines,
    mime,
    network_chunks,
    objects,
    payloads,
    prefixed,
    rust,
    sdk,
    stamp,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.saved.unwrap.wrappers import Wrap


REQUEST: dict[str, Any] = json.loads(REQUEST_BODY)
SENT = {"Content-Type": "application/json", "Authorization": "Bearer x"}
URL = "https://api.example.com/v1/chat/completions"


def document(make: Callable[[bytes], Any], **layout: Any) -> Wrap:
    """Write a JSON document."""
    return lambda body: (json.dumps(make(body), **layout) + "\n").encode()


def records(make: Callable[[int, str], Any], **layout: Any) -> Wrap:
    """Write a JSON record for each line of the body."""
    return lambda body: "".join(json.dumps(make(n, line), **layout) + "\n" for n, line in _lines(body)).encode()


def _lines(body: bytes) -> Iterable[tuple[int, str]]:
    return enumerate(body.decode().replace("\r\n", "\n").rstrip("\n").split("\n"))


def text(body: bytes) -> str:
    """Return the body as text."""
    return body.decode()


# -- curl and other clients of a terminal ----------------------------------------------------------------------------


def verbose_http2(body: bytes) -> bytes:
    """`curl -v` over TLS and HTTP/2."""
    return (
        "* ALPN: curl offers h2,http/1.1\n* using HTTP/2\n* [HTTP/2] [1] OPENED stream for https://api.example.com/v1/x\n"
        "* [HTTP/2] [1] [:method: POST]\n* [HTTP/2] [1] [content-type: application/json]\n> POST /v1/x HTTP/2\n"
        "> Host: api.example.com\n> User-Agent: curl/8.5.0\n> Accept: */*\n> Content-Length: 71\n> \n"
        f"< HTTP/2 200 \n< content-type: {mime(body).decode()}\n< \n{text(body)}* Connection #0 left intact\n"
    ).encode()


def verbose_with_times(body: bytes) -> bytes:
    """`curl -v --trace-time`."""
    written = (HEAD % mime(body)).decode().replace("\r\n", "\n").strip().split("\n")
    marked = ["* Connected to api.example.com", "> POST /v1/x HTTP/1.1", "> Host: api.example.com", "> "]
    marked += [f"< {line}" for line in [*written, ""]]
    return ("".join(f"10:12:00.{n:06} {line}\n" for n, line in enumerate(marked)) + text(body)).encode()


def httpie(body: bytes) -> bytes:
    """`http --stream --verbose`."""
    return (
        "POST /v1/chat/completions HTTP/1.1\nAccept: application/json, */*;q=0.5\nConnection: keep-alive\n"
        f"Host: api.example.com\nUser-Agent: HTTPie/3.2.2\n\n{json.dumps(REQUEST, indent=4)}\n\n\n"
        f"HTTP/1.1 200 OK\nContent-Type: {mime(body).decode()}\nTransfer-Encoding: chunked\n\n{text(body)}"
    ).encode()


def wget(body: bytes) -> bytes:
    """`wget -S -O -` with both streams of output."""
    return (
        "--2026-11-02 10:12:00--  https://api.example.com/v1/x\nConnecting to api.example.com:443... connected.\n"
        f"HTTP request sent, awaiting response... \n  HTTP/1.1 200 OK\n  content-type: {mime(body).decode()}\n"
        f"Length: unspecified [{mime(body).decode()}]\nSaving to: 'STDOUT'\n\n{text(body)}"
        "\n2026-11-02 10:12:02 (12.3 KB/s) - written to stdout [2210]\n"
    ).encode()


def invoke_web_request(body: bytes) -> bytes:
    """PowerShell's `Invoke-WebRequest | Format-List`, which indents all lines of a value but the first."""
    content = text(body).replace("\r\n", "\n").rstrip("\n").replace("\n", "\n" + " " * 20)
    return (
        f"\r\nStatusCode        : 200\r\nStatusDescription : OK\r\nContent           : {content}\r\n"
        f"Headers           : {{[Content-Type, System.String[]]}}\r\nRawContentLength  : {len(body)}\r\n\r\n"
    ).encode()


def transcript(body: bytes) -> bytes:
    """`Start-Transcript` of Windows PowerShell."""
    rule = "**********************\r\n"
    begun = (
        f"{rule}Windows PowerShell transcript start\r\nStart time: 20261102101200\r\nMachine: PC (Windows 11)\r\n{rule}"
    )
    written = text(body).replace("\r\n", "\n").replace("\n", "\r\n")
    prompt = "PS C:\\Users\\me> curl.exe -sN http://localhost:8000/v1/x -d '@q.json'\r\n"
    ended = f"PS C:\\Users\\me> Stop-Transcript\r\n{rule}Windows PowerShell transcript end\r\n{rule}"
    return b"\xef\xbb\xbf" + f"{begun}{prompt}{written}{ended}".encode()


def jetbrains(body: bytes) -> bytes:
    """The HTTP client of JetBrains' IDEs."""
    return (
        f"POST http://localhost:8000/v1/chat/completions\n\nHTTP/1.1 200 OK\nContent-Type: {mime(body).decode()}\n\n"
        f"{text(body)}\nResponse code: 200 (OK); Time: 1234ms (1 s 234 ms); Content length: {len(body)} bytes\n"
    ).encode()


def asciinema(body: bytes) -> bytes:
    """A recorded terminal (`.cast`, version 2)."""
    written = text(body).replace("\r\n", "\n").replace("\n", "\r\n")
    shown = [
        "$ curl -sN https://api.example.com/v1/x\r\n",
        *(written[at : at + 90] for at in range(0, len(written), 90)),
    ]
    rows = [json.dumps([round(0.1 * n, 6), "o", part]) for n, part in enumerate(shown)]
    return (
        "\n".join(['{"version": 2, "width": 120, "height": 40, "env": {"SHELL": "/bin/zsh"}}', *rows]) + "\n"
    ).encode()


# -- logs of HTTP libraries and services -----------------------------------------------------------------------------


def okhttp(tag: str = "") -> Wrap:
    """OkHttp's logging interceptor, on Android with logcat's tag."""

    def wrap(body: bytes) -> bytes:
        written = [
            f"--> POST {URL}", "Content-Type: application/json; charset=utf-8", "Content-Length: 71", "",
            REQUEST_BODY.decode(), "--> END POST (71-byte body)", f"<-- 200 OK {URL} (1234ms)",
            f"content-type: {mime(body).decode()}", "", *text(body).replace("\r\n", "\n").split("\n"),
            f"<-- END HTTP (1301ms, {len(body)}-byte body)",
        ]  # fmt: skip
        return "".join(f"{tag}{line}\n" for line in written).encode()

    return wrap


def apache_wire(body: bytes) -> bytes:
    """Apache HttpClient's wire log, chunked transfer coding included."""
    log = f"{clock(0)} DEBUG org.apache.http.wire - http-outgoing-0 "
    written = [f'{log}<< "{line}[\\r][\\n]"\n' for line in (HEAD % mime(body)).decode().split("\r\n")[:-1]]
    written += [f'{log}<< "transfer-encoding: chunked[\\r][\\n]"\n', f'{log}<< "[\\r][\\n]"\n']
    for chunk in network_chunks(body, 700):
        written.append(f'{log}<< "{len(chunk):x}[\\r][\\n]"\n')
        parts = chunk.decode("latin-1").split("\n")
        marked = [
            *(f"{part}[\\n]".replace("\r[", "[\\r][") for part in parts[:-1]),
            parts[-1] and f"{parts[-1]}[\\r][\\n]",
        ]
        written += [f'{log}<< "{part}"\n' for part in marked if part]
        written += [] if parts[-1] else [f'{log}<< "[\\r][\\n]"\n']
    written += [f'{log}<< "0[\\r][\\n]"\n', f'{log}<< "[\\r][\\n]"\n']
    return "".join(written).encode()


def reactor_wiretap(body: bytes) -> bytes:
    """Netty's hex dump, as Reactor's `wiretap` logs it."""
    rule = "+--------+-------------------------------------------------+----------------+\n"
    out = []
    for chunk in network_chunks(head(body), 600):
        out.append(
            f"{clock(1)} DEBUG 1 --- [ctor-http-nio-2] r.n.http.client.HttpClient : [a1-1] READ: {len(chunk)}B\n"
        )
        out.append(f"         {rule[9:59]}\n         |  0  1  2  3  4  5  6  7  8  9  a  b  c  d  e  f |\n{rule}")
        for at in range(0, len(chunk), 16):
            row = chunk[at : at + 16]
            shown = "".join(chr(b) if 32 <= b < 127 else "." for b in row)
            out.append(f"|{at:08x}| {row.hex(' '):<47} |{shown:<16}|\n")
        out.append(rule)
    return "".join(out).encode()


def strace(body: bytes) -> bytes:
    """`strace -s 9999 -e trace=read,recvfrom`."""

    def c_string(data: bytes) -> str:
        shown = (chr(b) if 32 <= b < 127 else {9: "\\t", 10: "\\n", 13: "\\r"}.get(b, f"\\{b:03o}") for b in data)
        return '"' + "".join(f"\\{c}" if c in '"\\' else c for c in shown) + '"'

    written = [f"recvfrom(5, {c_string(HEAD % mime(body) + b'\r\n')}, 8192, 0, NULL, NULL) = 120\n"]
    written += [f"read(5, {c_string(chunk)}, 8192) = {len(chunk)}\n" for chunk in network_chunks(body, 300)]
    return "".join([*written, 'read(5, "", 8192)                       = 0\n']).encode()


def socat(body: bytes) -> bytes:
    """`socat -v`."""
    out = []
    for one in [HEAD % mime(body) + b"\r\n", *(b"%b" % line for line in re.findall(rb".*?\n\n|.+\Z", body, re.DOTALL))]:
        out.append(f"< 2026/11/02 10:12:00.000123456  length={len(one)} from=0 to={len(one) - 1}\n")
        out.append(one.decode().replace("\r\n", "\\r\n"))
    return "".join(out).encode()


def ngrep(body: bytes) -> bytes:
    """`ngrep -W byline`, which prints a dot for each CR."""
    written = (HEAD % mime(body) + b"\r\n" + body).decode().replace("\r\n", ".\n")
    return (
        "interface: lo (127.0.0.0/255.0.0.0)\nfilter: ( port 8000 ) and ((ip || ip6) || (vlan && (ip || ip6)))\n####\n"
        f"T 127.0.0.1:8000 -> 127.0.0.1:50000 [AP] #5\n{written}\n####\nexit\n"
    ).encode()


def mitmdump(body: bytes) -> bytes:
    """`mitmdump --flow-detail 4`."""
    written = "".join(f"    {line}\n" if line else "\n" for _, line in _lines(body))
    request = "".join(f"    {line}\n" for line in json.dumps(REQUEST, indent=4).split("\n"))
    return (
        f"127.0.0.1:50000: POST {URL}\n    Host: api.example.com\n    Content-Type: application/json\n\n{request}\n"
        f" << 200 OK 2.1k\n    content-type: {mime(body).decode()}\n\n{written}\n"
    ).encode()


def nginx(body: bytes) -> bytes:
    """A log of nginx with the body, escaped as it does by default."""
    shown = "".join(f"\\x{ord(c):02X}" if c in '"\\\r\n' else c for c in text(body))
    return (
        f'127.0.0.1 - - [02/Nov/2026:10:12:00 +0000] "POST /v1/x HTTP/1.1" 200 {len(body)} body: "{shown}"\n'.encode()
    )


def cri_partial(body: bytes) -> bytes:
    """A container's log in the form of the CRI: a long line is in several entries (`P`), the last of which is `F`."""
    out = []
    for n, line in _lines(body):
        parts = [line[at : at + 60] for at in range(0, len(line), 60)] or [""]
        out += [f"{stamp(n)} stdout {'P' if part < len(parts) else 'F'} {one}\n" for part, one in enumerate(parts, 1)]
    return "".join(out).encode()


def docker_partial(body: bytes) -> bytes:
    """Docker's log, which cuts long lines: only the last part ends in a line end."""
    out = []
    for n, line in _lines(body):
        written = f"{line}\n"
        parts = (written[at : at + 70] for at in range(0, len(written), 70))
        out += [json.dumps({"log": part, "stream": "stdout", "time": stamp(n)}) + "\n" for part in parts]
    return "".join(out).encode()


def pino_pretty(body: bytes) -> bytes:
    """pino-pretty: the object's fields over several lines."""
    out = []
    for n, payload in enumerate(payloads(body)):
        shown = json.dumps(payload, indent=2).replace("\n", "\n    ")
        out.append(f"[10:12:{n:02}.123] DEBUG (4242): chunk\n    chunk: {shown}\n    reqId: 7\n")
    return "".join(out).encode()


def lm_studio(body: bytes) -> bytes:
    """LM Studio's server log."""
    out = ["2026-11-02 10:12:00  [INFO] \n[LM STUDIO SERVER] Streaming response...\n"]
    out += [
        f"2026-11-02 10:12:00  [INFO] \nGenerated packet:  {json.dumps(payload, indent=2)}\n"
        for payload in payloads(body)
    ]
    return "".join([*out, "2026-11-02 10:12:01  [INFO] \nFinished streaming response\n"]).encode()


# -- fixtures of test tools ------------------------------------------------------------------------------------------


def nock(body: bytes, response: Any = None, raw: Iterable[str] = ()) -> Any:
    """A recording of nock."""
    entry = {
        "scope": "https://api.example.com:443",
        "method": "POST",
        "path": "/v1/chat/completions",
        "body": REQUEST,
        "status": 200,
        "response": text(body) if response is None else response,
        "rawHeaders": ["Content-Type", mime(body).decode(), *raw],
        "responseIsBinary": False,
    }
    return [entry]


def polly(body: bytes, **content: Any) -> bytes:
    """A recording of Polly.js: a HAR file with additional fields."""
    written = {"mimeType": mime(body).decode(), "size": len(body), "text": text(body)} | content
    coded = [{"name": "content-encoding", "value": "gzip"}] if content else []
    entry = {
        "_id": "a1",
        "_order": 0,
        "cache": {},
        "request": {
            "method": "POST",
            "url": URL,
            "headers": [],
            "postData": {"mimeType": "application/json", "text": REQUEST_BODY.decode()},
        },
        "response": {"status": 200, "statusText": "OK", "headers": coded, "content": written},
        "startedDateTime": "2026-11-02T10:12:00.000Z",
        "time": 1234,
    }
    log = {"_recordingName": "x", "creator": {"name": "Polly.JS", "version": "6.0.6"}, "entries": [entry]}
    return json.dumps({"log": log}, indent=2).encode()


def polly_compressed(body: bytes) -> bytes:
    """A recording of Polly.js with a compressed body: the list of its chunks as JSON."""
    chunks = [base64.b64encode(chunk).decode() for chunk in network_chunks(gzip.compress(body), 200)]
    return polly(body, text=json.dumps(chunks), encoding="base64")


def wiremock(body: bytes) -> Any:
    """A stub mapping of WireMock."""
    response = {"status": 200, "body": text(body), "headers": {"Content-Type": mime(body).decode()}}
    return {
        "id": "a",
        "request": {"url": "/v1/x", "method": "POST"},
        "response": response,
        "uuid": "a",
        "persistent": True,
    }


def wiremock_base64(body: bytes) -> Any:
    """A stub mapping of WireMock with a binary body."""
    response = {"status": 200, "base64Body": base64.b64encode(body).decode(), "headers": {}}
    return {"id": "a", "request": {"url": "/v1/x", "method": "POST"}, "response": response, "uuid": "a"}


def hoverfly(body: bytes) -> Any:
    """A simulation of Hoverfly."""
    pair = {
        "request": {
            "path": [{"matcher": "exact", "value": "/v1/x"}],
            "body": [{"matcher": "json", "value": REQUEST_BODY.decode()}],
        },
        "response": {"status": 200, "body": base64.b64encode(body).decode(), "encodedBody": True, "headers": {}},
    }
    return {"data": {"pairs": [pair]}, "meta": {"schemaVersion": "v5.2"}}


def go_vcr(body: bytes) -> bytes:
    """A cassette of go-vcr, version 2."""
    written = "".join(f"            {line}\n" if line else "\n" for _, line in _lines(body))
    return (
        "---\nversion: 2\ninteractions:\n    - id: 0\n      request:\n        proto: HTTP/1.1\n"
        f"        body: '{REQUEST_BODY.decode()}'\n        headers:\n            Accept:\n                - '*/*'\n"
        f"        url: {URL}\n        method: POST\n      response:\n        proto: HTTP/2.0\n"
        f"        body: |+\n{written}\n"
        f"        headers:\n            Content-Type:\n                - {mime(body).decode()}\n"
        "        status: 200 OK\n        code: 200\n        duration: 1.2s\n"
    ).encode()


def betamax(body: bytes) -> Any:
    """A cassette of betamax."""
    entry = {
        "request": {
            "body": {"encoding": "utf-8", "string": REQUEST_BODY.decode()},
            "headers": {},
            "method": "POST",
            "uri": URL,
        },
        "response": {
            "body": {"encoding": "utf-8", "base64_string": base64.b64encode(body).decode()},
            "headers": {"Content-Type": [mime(body).decode()]},
            "status": {"code": 200, "message": "OK"},
            "url": URL,
        },
        "recorded_at": "2026-11-02T10:12:00",
    }
    return {"http_interactions": [entry], "recorded_with": "betamax/0.9.0"}


def junit(body: bytes) -> bytes:
    """The output of a test in JUnit's XML."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n<testsuites><testsuite name="pytest"><testcase name="test_x">'
        f"<system-out><![CDATA[{text(body)}]]></system-out></testcase></testsuite></testsuites>\n"
    ).encode()


def notebook(body: bytes) -> Any:
    """A Jupyter notebook with the output of a cell."""
    output = {"name": "stdout", "output_type": "stream", "text": text(body).splitlines(keepends=True)}
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "outputs": [output],
        "source": ["for line in r:\n", "    print(line)"],
    }
    return {
        "cells": [{"cell_type": "markdown", "metadata": {}, "source": ["# Test"]}, cell],
        "metadata": {},
        "nbformat": 4,
    }


def patch(body: bytes) -> bytes:
    """A fixture that a commit adds (`git show`)."""
    written = "".join(f"+{line}\n" for _, line in _lines(body))
    count = written.count("\n")
    return (
        "commit 0123456789abcdef\nAuthor: A <a@example.com>\nDate:   Mon Nov 2 10:12:00 2026\n\n    Add a fixture\n\n"
        "diff --git a/tests/stream.sse b/tests/stream.sse\nnew file mode 100644\nindex 0000000..abcdef0\n"
        f"--- /dev/null\n+++ b/tests/stream.sse\n@@ -0,0 +1,{count} @@\n{written}"
    ).encode()


# -- logs of gateways and agents -------------------------------------------------------------------------------------


def helicone(body: bytes) -> Any:
    """Helicone's export."""
    response = {"streamed_data": payloads(body)}
    return {
        "request_id": "a",
        "request_body": REQUEST,
        "response_status": 200,
        "response_body": response,
        "provider": "X",
    }


def helicone_text(body: bytes) -> Any:
    """Helicone's export of a stream that was stored as text."""
    return helicone(body) | {"response_body": {"streamed_data": text(body)}}


def gateway_strings(body: bytes) -> Any:
    """A gateway's log in which request and response are JSON in strings."""
    response = json.dumps({"streamed_data": payloads(body)})
    return {"id": "a", "provider": "x", "request": json.dumps(REQUEST), "response": response, "success": True}


def kong(body: bytes) -> Any:
    """Kong's file-log with bodies."""
    return {
        "request": {"uri": "/v1/x", "method": "POST", "headers": {"host": "x"}, "body": REQUEST_BODY.decode()},
        "response": {"status": 200, "headers": {"content-type": mime(body).decode()}, "body": text(body)},
        "latencies": {"request": 1234},
        "client_ip": "127.0.0.1",
    }


def goose(body: bytes) -> bytes:
    """Goose's log of a request: the request, then the chunks."""
    written = [
        {"model_config": {"model_name": "m"}, "input": REQUEST},
        *({"data": payload, "usage": None} for payload in payloads(body)),
    ]
    return "".join(compact(record) + "\n" for record in written).encode()


def ccr(body: bytes) -> bytes:
    """Pino's JSON lines, as routers write them: the request first."""
    written: list[Any] = [
        {"level": 30, "time": 1, "pid": 1, "hostname": "h", "reqId": "a", "data": REQUEST, "type": "request body"}
    ]
    written += [
        {
            "level": 20,
            "time": n,
            "pid": 1,
            "hostname": "h",
            "reqId": "a",
            "msg": "recieved data",
            "data": f"data: {event.data}",
        }
        for n, event in enumerate(events(body))
    ]
    return "".join(compact(record) + "\n" for record in written).encode()


def loguru_serialized(body: bytes) -> bytes:
    """Loguru's `serialize=True`, which has each message twice."""
    return "".join(
        compact(
            {
                "text": f"{clock(n)} | DEBUG | app:run:7 - data: {event.data}\n",
                "record": {"message": f"data: {event.data}", "level": {"name": "DEBUG"}, "time": {"repr": stamp(n)}},
            }
        )
        + "\n"
        for n, event in enumerate(events(body))
    ).encode()


def journal_json(body: bytes) -> bytes:
    """`journalctl -o json`."""
    return records(lambda n, line: {"__CURSOR": f"s={n}", "PRIORITY": "6", "MESSAGE": line, "_PID": "42"})(body)


def journal_verbose(body: bytes) -> bytes:
    """`journalctl -o verbose`."""
    return "".join(
        f"Mon 2026-11-02 10:12:{n % 60:02}.123456 UTC [s=a1;i={n:x}]\n    PRIORITY=6\n    MESSAGE={line}\n    _PID=42\n"
        for n, line in _lines(body)
    ).encode()


def loki(body: bytes) -> Any:
    """Loki's response to a query with `direction=forward`."""
    values = [[f"17622{n:014}", line] for n, line in _lines(body)]
    result = [{"stream": {"app": "x", "pod": "y-1"}, "values": values}]
    return {"status": "success", "data": {"resultType": "streams", "result": result, "stats": {}}}


def cloudwatch(body: bytes) -> Any:
    """`aws logs get-log-events`."""
    written = [{"timestamp": 1762078320000 + n, "message": line, "ingestionTime": 1} for n, line in _lines(body)]
    return {"events": written, "nextForwardToken": "f/1"}


def elastic(body: bytes) -> Any:
    """A search response of Elasticsearch, sorted by time."""
    hits = [
        {"_index": "x", "_id": str(n), "_source": {"@timestamp": stamp(n), "message": line}} for n, line in _lines(body)
    ]
    return {"took": 1, "hits": {"total": {"value": len(hits)}, "hits": hits}}


# -- printed values --------------------------------------------------------------------------------------------------


def ruby(value: Any, arrow: str = "=>", symbols: bool = False) -> str:
    """A Ruby object as `inspect` prints it."""
    if isinstance(value, dict):
        key = (lambda one: f":{one}") if symbols else json.dumps
        return "{" + ", ".join(f"{key(name)}{arrow}{ruby(item, arrow, symbols)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(ruby(item, arrow, symbols) for item in value) + "]"
    return "nil" if value is None else json.dumps(value, ensure_ascii=False)


def elixir(value: Any) -> str:
    """An Elixir term as `IO.inspect` prints it."""
    if isinstance(value, dict):
        return "%{" + ", ".join(f"{json.dumps(name)} => {elixir(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(elixir, value)) + "]"
    return "nil" if value is None else json.dumps(value, ensure_ascii=False)


def rust_struct(value: Any, name: str = "Chunk") -> str:
    """A Rust struct as `{:?}` prints it: each field is an `Option`."""
    if isinstance(value, dict):
        return f"{name} {{ " + ", ".join(f"{key}: {_some(item, 'Part')}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(rust_struct(item, name) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _some(value: Any, name: str) -> str:
    return "None" if value is None else f"Some({rust_struct(value, name)})"


def eventsource(body: bytes) -> bytes:
    """The events of Rust's eventsource-stream, as `{:?}` prints them."""
    return "".join(
        f"{stamp(n)} TRACE app::sse: Event {{ event: {json.dumps(event.name or 'message')},"
        f" data: {json.dumps(event.data, ensure_ascii=False)},"
        f' id: "", retry: None }}\n'
        for n, event in enumerate(events(body))
    ).encode()


def php(value: Any, indent: int = 0) -> str:
    """A PHP array as `var_export` prints it."""
    pad = "  " * (indent + 1)
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        gap = "\n" + pad
        shown = "".join(
            f"{pad}{key!r} => {gap if isinstance(item, dict | list) else ''}{php(item, indent + 1)},\n"
            for key, item in items
        )
        return f"array (\n{shown}{'  ' * indent})"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
    return (
        {None: "NULL", True: "true", False: "false"}.get(value, str(value))
        if value is None or isinstance(value, bool)
        else str(value)
    )


def slog(body: bytes) -> bytes:
    """Go's `slog.TextHandler`."""
    return "".join(
        f"time={stamp(n)} level=DEBUG msg=chunk n={n} line={json.dumps(line, ensure_ascii=False) if line else '""'}\n"
        for n, line in _lines(body)
    ).encode()


def zap(body: bytes) -> bytes:
    """Zap's console encoder."""
    return "".join(
        f'{stamp(n)}\tDEBUG\tllm/client.go:{80 + n % 3}\tchunk\t{{"line": {json.dumps(line)}, "n": {n}}}\n'
        for n, line in _lines(body)
    ).encode()


def burp(body: bytes) -> bytes:
    """Items that Burp Suite saved, with requests and responses in base64."""
    request, response = b"POST /v1/x HTTP/1.1\r\nHost: api.example.com\r\n\r\n" + REQUEST_BODY, head(body)
    items = {"request": request, "response": response}
    parts = (
        f'    <{name} base64="true"><![CDATA[{base64.b64encode(data).decode()}]]></{name}>\n'
        for name, data in items.items()
    )
    start = '<?xml version="1.0"?>\n<items burpVersion="2026.9" exportTime="Mon Nov 02 10:12:00 UTC 2026">\n  <item>\n'
    return (start + "".join(parts) + "    <comment></comment>\n  </item>\n</items>\n").encode()


def reqwest(body: bytes) -> bytes:
    """Chunks of reqwest as Rust's `{:?}` prints them."""
    shown = (
        repr(chunk.decode("latin-1"))[1:-1].replace('"', '\\"').replace("\\'", "'")
        for chunk in network_chunks(body, 80)
    )
    return "".join(f'Ok(b"{chunk}")\n' for chunk in shown).encode()


def byte_numbers(body: bytes) -> bytes:
    """Chunks as `Uint8Array`s that Deno and Node print in decimal."""
    return "".join(
        f"chunk Uint8Array({len(chunk)}) [ {', '.join(map(str, chunk))} ]\n" for chunk in network_chunks(body, 90)
    ).encode()


def buffers(body: bytes) -> bytes:
    """Chunks as Node logs `Buffer`s in JSON."""
    return "".join(
        compact({"level": "debug", "chunk": {"type": "Buffer", "data": list(chunk)}}) + "\n"
        for chunk in network_chunks(body, 90)
    ).encode()


def node_buffers(body: bytes) -> bytes:
    """Chunks as Node prints `Buffer`s of up to 50 bytes."""
    return "".join(f"chunk: <Buffer {chunk.hex(' ')}>\n" for chunk in network_chunks(body, 50)).encode()


def aiohttp_chunks(body: bytes) -> bytes:
    """The printed results of aiohttp's `iter_chunks()`."""
    return "".join(f"({chunk!r}, True)\n" for chunk in network_chunks(body, 300)).encode()


# -- dumps -----------------------------------------------------------------------------------------------------------


def dumped(row: Callable[[int, bytes], str], first: str = "") -> Wrap:
    """Write a dump with rows of sixteen bytes."""
    return lambda body: (first + "".join(row(at, body[at : at + 16]) for at in range(0, len(body), 16))).encode()


def _shown(row: bytes) -> str:
    return "".join(chr(b) if 32 <= b < 127 else "." for b in row)


def od_c(body: bytes) -> bytes:
    """`od -c`."""
    names = {9: "\\t", 10: "\\n", 13: "\\r"}
    cell = lambda b: f"{names.get(b, chr(b) if 32 <= b < 127 else f'{b:03o}'):>4}"  # noqa: E731
    return dumped(lambda at, row: f"{at:07o}{''.join(map(cell, row))}\n")(body) + f"{len(body):07o}\n".encode()


def hexdump_words(body: bytes) -> bytes:
    """`hexdump` without options: words of two bytes, each with its second byte first."""
    even = body + b"\0" * (len(body) % 2)
    row = lambda at, one: f"{at:07x} {' '.join(one[n : n + 2][::-1].hex() for n in range(0, len(one), 2))}\n"  # noqa: E731
    return dumped(row)(even) + f"{len(body):07x}\n".encode()


def quoted_printable(body: bytes) -> bytes:
    """A mail."""
    part = quopri.encodestring(body.replace(b"\r\n", b"\n"))
    top = (
        "From: a@example.com\nTo: support@example.com\nSubject: Broken stream\nMIME-Version: 1.0\n"
        'Content-Type: text/plain; charset="utf-8"\nContent-Transfer-Encoding: quoted-printable\n\nHello, we get:\n\n'
    )
    return top.encode() + part


# -- terminals, dumps and fixtures that have a form of their own -----------------------------------------------------


def hurl(body: bytes) -> bytes:
    """`hurl --very-verbose`, which prefixes the body like curl's messages."""
    written = "".join(f"* {line}\n" for _, line in _lines(body))
    return (
        "* ------------------------------------\n* Executing entry 1\n*\n* Request:\n* POST https://api.example.com/v1/x\n*\n"
        f"> POST /v1/x HTTP/2\n> Host: api.example.com\n>\n* Request body:\n* {REQUEST_BODY.decode()}\n*\n"
        f"* Response: (received {len(body)} bytes)\n*\n< HTTP/2 200\n< content-type: {mime(body).decode()}\n<\n"
        f"* Response body:\n{written}*\n* Timings:\n* begin: 2026-11-02 10:12:00 UTC\n*\n"
    ).encode()


def boxed(body: bytes) -> bytes:
    """A panel of rich."""
    width = max(len(line) for _, line in _lines(body))
    written = "".join(f"│ {line:<{width}} │\n" for _, line in _lines(body))
    return f"╭─ response {'─' * (width - 8)}╮\n{written}╰{'─' * (width + 2)}╯\n".encode()


def directions(body: bytes) -> list[tuple[int, bytes]]:
    """Return the data of a followed connection: the request, then the response in chunks."""
    request, mark, response = followed(body).partition(b"HTTP/1.1 200")
    return [(0, request), *((1, chunk) for chunk in network_chunks(mark + response, 1000))]


def wireshark_yaml(body: bytes) -> bytes:
    """“Follow Stream”, saved as YAML."""
    out = ["peers:\n  - peer: 0\n    host: 127.0.0.1\n  - peer: 1\n    host: 127.0.0.1\npackets:\n"]
    for n, (peer, data) in enumerate(directions(body)):
        coded = base64.encodebytes(data).decode().rstrip().replace("\n", "\n      ")
        out.append(f"  - packet: {n + 4}\n    peer: {peer}\n    index: {n}\n    data: !!binary |\n      {coded}\n")
    return "".join(out).encode()


def wireshark_c(body: bytes) -> bytes:
    """“Follow Stream”, saved as C arrays."""
    out = []
    for n, (peer, data) in enumerate(directions(body)):
        written = ", \n".join(", ".join(f"0x{b:02x}" for b in data[at : at + 8]) for at in range(0, len(data), 8))
        out.append(f"char peer{peer}_{n}[] = {{ /* Packet {n + 4} */\n{written} }};\n")
    return "".join(out).encode()


def charles_trace(body: bytes) -> bytes:
    """A session of Charles as a trace."""
    return (
        b"HTTP-Trace-Version: 1.0\nGenerator: Charles/4.6.4\n\nMethod: POST\nHost: api.example.com\nFile: /v1/x\n"
        b"Request-Header:<<--EOF-1--\nPOST /v1/x HTTP/1.1\nHost: x\n\n--EOF-1--\nRequest-Body:<<--EOF-2--\n"
        + REQUEST_BODY
        + b"\n--EOF-2--\nResponse-Header:<<--EOF-3--\nHTTP/1.1 200 OK\nContent-Type: "
        + mime(body)
        + b"\n\n--EOF-3--\nResponse-Body:<<--EOF-4--\n"
        + body
        + b"\n--EOF-4--\n"
    )


def httprr(body: bytes) -> bytes:
    """A recording of Go's httprr: lengths, request and response."""
    request = (
        b"POST https://api.example.com/v1/chat/completions HTTP/1.1\r\nHost: api.example.com\r\n"
        b"Content-Type: application/json\r\n\r\n" + REQUEST_BODY
    )
    response = b"HTTP/2.0 200 OK\r\nConnection: close\r\nContent-Type: " + mime(body) + b"\r\n\r\n" + body
    return b"httprr trace v1\n%d %d\n" % (len(request), len(response)) + request + response


def talkback(body: bytes) -> bytes:
    """A tape of talkback, in JSON5."""
    return (
        "{\n  meta: {\n    createdAt: '2026-11-02T10:12:00.000Z',\n    reqHumanReadable: true,\n  },\n"
        f"  req: {{\n    url: '/v1/x',\n    method: 'POST',\n    body: {json.dumps(REQUEST)},\n  }},\n"
        f"  res: {{\n    status: 200,\n    headers: {{ 'content-type': [ '{mime(body).decode()}' ] }},\n"
        f"    body: {json.dumps(body.decode())},\n  }},\n}}\n"
    ).encode()


def php_vcr(body: bytes) -> bytes:
    """A cassette of PHP-VCR."""
    return (
        f"\n-\n    request:\n        method: POST\n        url: '{URL}'\n        body: '{REQUEST_BODY.decode()}'\n"
        f"    response:\n        status: {{code: 200}}\n        body: {json.dumps(text(body))}\n    index: 0\n"
    ).encode()


def http_client(body: bytes) -> bytes:
    """Python's http.client with a debug level."""
    return (
        f"send: b'POST /v1/x HTTP/1.1\\r\\nHost: api.example.com\\r\\n\\r\\n'\nsend: b'{REQUEST_BODY.decode()}'\n"
        f"reply: 'HTTP/1.1 200 OK\\r\\n'\nheader: Content-Type: {mime(body).decode()}\n{text(body)}"
    ).encode()


def quoted_and_wrapped(body: bytes) -> bytes:
    """A mail that quotes the stream and breaks its lines."""
    parts = (line[at : at + 76] for _, line in _lines(body) for at in range(0, len(line) or 1, 76))
    return "".join(f"> {part}\n" for part in parts).encode()


def grep_context(n: int, line: str) -> str:
    """`grep -n -C 9`: matching lines have another separator than their context."""
    return f"app.log-{n + 10}-{line}" if n % 2 else f"app.log:{n + 10}:{line}"


def received(body: bytes) -> bytes:
    """A failed assertion of Jest: quotes inside the text are not escaped."""
    return f'    Expected: "x"\n    Received: "{text(body)}"\n'.encode()


def xml_attributes(body: bytes) -> bytes:
    """Log entries in XML, the text in an attribute."""
    written = "".join(f'  <entry n="{n}" message="{html.escape(line)}"/>\n' for n, line in _lines(body))
    return f"<log>\n{written}</log>\n".encode()


def some(value: Any, indent: int = 0) -> str:
    """An optional value as Rust's `{:#?}` prints it."""
    pad = "    " * indent
    if isinstance(value, dict):
        written = "".join(f"{pad}    {key}: {some(item, indent + 1)},\n" for key, item in value.items())
        shown = f"Part {{\n{written}{pad}}}" if value else "Part {}"
    elif isinstance(value, list):
        shown = (
            "[\n" + "".join(f"{pad}    {some(item, indent + 1)},\n" for item in value) + f"{pad}]" if value else "[]"
        )
    else:
        shown = json.dumps(value, ensure_ascii=False)
    return "None" if value is None else f"Some(\n{pad}    {shown},\n{pad})"


def litellm_verbose(n: int, payload: Any) -> str:
    """LiteLLM's log of a chunk, received and converted."""
    return (
        f"value of chunk: {sdk(payload)}\nmodel_response finish reason 3: None; response_obj={{'original_chunk':"
        f" {sdk(payload)}}}\nfinal returned processed chunk: {sdk(payload, 'ModelResponseStream')}"
    )


BOTH: dict[str, Wrap] = {
    "hurl": hurl,
    "python-fixture": lambda body: b'SSE = b"""\n' + body.replace(b"\\", b"\\\\") + b'"""\n',
    "template-literal": lambda body: b"const body = `" + body.replace(b"\\", b"\\\\") + b"`;\n",
    "body-twice": document(lambda body: {"body": text(body), "raw": {"data": base64.b64encode(body).decode()}}),
    "issue-quote": composed(
        around("<details><summary>stream</summary>\n\n```text\n", "```\n\n</details>\n"), prefixed("> ")
    ),
    "postman-example": document(lambda body: {"item": [{"response": [{"code": 200, "body": text(body)}]}]}, indent=1),
    "insomnia": document(lambda body: {"resources": [{"_type": "response", "body": text(body)}]}, indent=2),
    "datadog": records(lambda n, line: {"id": f"AQ{n}", "content": {"timestamp": stamp(n), "message": line}}),
    "bat": composed(
        lines(lambda n, line: f"{n + 1:4}   │ {line}"), around("───────┬──────\n       │ File: x.sse\n", "")
    ),
    "tmux": lines(lambda _n, line: f"{line:<200}"),
    "kubectl-pods": prefixed("[pod/vllm-7d9f8-abcde/vllm] "),
    "buildkite": prefixed(lambda n: f"\x1b_bk;t=176207832{n:04}\x07"),
    "heredoc": around("cat > out.sse <<'EOF'\n", "EOF\n"),
    "rich-panel": boxed,
    "wireshark-yaml": wireshark_yaml,
    "wireshark-c": wireshark_c,
    "wireshark-hex-stream": lambda body: (followed(body).hex() + "\n").encode(),
    "charles-trace": charles_trace,
    "httprr": httprr,
    "talkback": talkback,
    "php-vcr": php_vcr,
    "http-client": http_client,
    "mail-wrapped": quoted_and_wrapped,
    "grep-context": lines(grep_context),
    "jest-received": received,
    "xml-attributes": xml_attributes,
    "two-handlers": lines(lambda _n, line: f"DEBUG:app:{line}\nDEBUG:app:{line}"),
    "hex-records": lambda body: "".join(
        json.dumps({"t": n, "hex": chunk.hex()}) + "\n" for n, chunk in enumerate(network_chunks(body, 120))
    ).encode(),
    "go-bytes": lambda body: "".join(
        f"10:12:{n % 60:02} [{' '.join(map(str, chunk))}]\n" for n, chunk in enumerate(network_chunks(body, 120))
    ).encode(),
    "rust-bytes": lambda body: "".join(
        f"[src/main.rs:9:5] &chunk = {list(chunk)}\n" for chunk in network_chunks(body, 120)
    ).encode(),
    "mountebank": document(
        lambda body: {"imposters": [{"stubs": [{"responses": [{"is": {"statusCode": 200, "body": text(body)}}]}]}]},
        indent=2,
    ),
    "mockserver": document(
        lambda body: [{"httpRequest": {"path": "/v1/x"}, "httpResponse": {"statusCode": 200, "body": text(body)}}],
        indent=2,
    ),
    "dio": composed(
        prefixed("║ "), around("╔ Body\n║\n", "║\n╚══════════════════╝\n"), prefixed("I/flutter ( 4242): ")
    ),
    "aws-logs-tail": prefixed(lambda n: f"{stamp(n)[:-1]}+00:00 2026/11/02/[$LATEST]0a1b2c3d4e5f "),
    "curl-v-http2": verbose_http2,
    "curl-v-times": verbose_with_times,
    "curl-v-i": lambda body: (
        b"* Connected to x\n> POST /v1/x HTTP/1.1\n> \n< HTTP/1.1 200 OK\n< content-type: "
        + mime(body)
        + b"\n< \n"
        + head(body)
    ),
    "curl-error": around(METER, "curl: (18) transfer closed with outstanding read data remaining\n"),
    "httpie": httpie,
    "wget": wget,
    "invoke-web-request": invoke_web_request,
    "transcript": transcript,
    "jetbrains": jetbrains,
    "asciinema": asciinema,
    "okhttp": okhttp(),
    "okhttp-logcat": okhttp("11-02 10:12:00.123  4242  4311 D OkHttp  : "),
    "apache-wire": apache_wire,
    "reactor-wiretap": reactor_wiretap,
    "strace": strace,
    "socat": socat,
    "ngrep": ngrep,
    "mitmdump": mitmdump,
    "nginx": nginx,
    "cri-partial": cri_partial,
    "docker-partial": docker_partial,
    "nock": document(nock, indent=2),
    "nock-compressed": document(
        lambda body: nock(
            body, [chunk.hex() for chunk in network_chunks(gzip.compress(body), 200)], ["Content-Encoding", "gzip"]
        )
    ),
    "polly": polly,
    "polly-compressed": polly_compressed,
    "wiremock": document(wiremock, indent=2),
    "wiremock-base64": document(wiremock_base64, indent=2),
    "hoverfly": document(hoverfly, indent="\t"),
    "go-vcr": go_vcr,
    "betamax": document(betamax),
    "junit": junit,
    "notebook": document(notebook, indent=1),
    "git-show": patch,
    "helicone-text": document(helicone_text),
    "kong": document(kong),
    "journal-json": journal_json,
    "journal-verbose": journal_verbose,
    "loki": document(loki),
    "logcli": prefixed(lambda n: f'{stamp(n)} {{app="x", pod="y-{n % 2}"}} '),
    "cloudwatch": document(cloudwatch, indent=4),
    "elastic": document(elastic),
    "loki-lines": records(lambda n, line: {"labels": {"app": "x"}, "line": line, "timestamp": stamp(n)}),
    "splunk": records(lambda n, line: {"preview": False, "offset": n, "result": {"_raw": line, "_time": stamp(n)}}),
    "slog": slog,
    "zap": zap,
    "burp": burp,
    "byte-numbers": byte_numbers,
    "buffers": buffers,
    "node-buffers": node_buffers,
    "aiohttp-chunks": aiohttp_chunks,
    "reqwest": reqwest,
    "od-hex": dumped(lambda at, row: f"{at:07o} {row.hex(' ')}\n"),
    "od-hex-text": dumped(lambda at, row: f"{at:07o} {row.hex(' '):<47}  >{_shown(row)}<\n"),
    "od-c": od_c,
    "hexdump-words": hexdump_words,
    "format-hex": dumped(
        lambda at, row: f"{at:08X}   {row.hex(' ').upper():<47}  {_shown(row)}\n",
        "\n\n           Path: C:\\me\\stream.sse\n\n           00 01 02 03 04 05 06 07 08 09 0A 0B 0C 0D 0E 0F\n\n",
    ),
    "base64": base64.encodebytes,
    "quoted-printable": quoted_printable,
    "cat-A": lines(lambda _n, line: line.replace("\t", "^I") + "$"),
    "cat-v-crlf": lines(lambda _n, line: line + "^M"),
    "slack": lambda body: b"Jane Doe\n  10:12 AM\nhere is the stream\n" + body + b"\n\nJohn\n  10:14 AM\nthanks\n",
    "jira": around("{noformat}\n", "{noformat}\n"),
    "list-item": composed(around("```\n", "```\n"), lines(lambda n, line: ("1. " if not n else "   ") + line)),
    "flutter": prefixed("flutter: "),
    "rails": prefixed(lambda n: f"D, [{stamp(n)[:-1]}456 #42] DEBUG -- : [a1-{n}] "),
    "laravel": prefixed(lambda n: f"[2026-11-02 10:12:{n % 60:02}] local.DEBUG: "),
    "serilog": prefixed(lambda n: f"[10:12:{n % 60:02} DBG] "),
    "dotnet": lambda body: "".join(f"dbug: App.Llm[0]\n      {line}\n" for _, line in _lines(body)).encode(),
    "spring": prefixed(lambda n: f"{stamp(n)[:-1]}+01:00 DEBUG 4242 --- [nio-8080-exec-{n % 9}] c.e.llm.SseReader : "),
    "azure-diagnostics": records(lambda n, line: {"time": stamp(n), "properties": {"log": line, "stream": "stdout"}}),
    "gcp-array": document(
        lambda body: [{"insertId": str(n), "textPayload": line, "timestamp": stamp(n)} for n, line in _lines(body)],
        indent=2,
    ),
    "multipart-html": lambda body: b"<!DOCTYPE html>\n<html><body><pre>" + body + b"</pre></body></html>\n",
    "testcontainers": prefixed(lambda n: f"10:12:{n % 60:02}.123 [main] DEBUG tc.image - STDOUT: "),
    "act": prefixed("[CI/test]   | "),
    "gitlab": prefixed(lambda n: f"{stamp(n)} 01O "),
    "gradle": prefixed("    "),
    "vitest": lambda body: (
        b"stdout | test/x.test.ts > streams\n" + body + b"\n \xe2\x9c\x93 test/x.test.ts (1 test) 12ms\n"
    ),
    "pytest": lambda body: (
        b"----------------------------- Captured stdout call -----------------------------\n"
        + body
        + b"=========================== short test summary info ============================\n"
    ),
}
"""For any body of text."""

DATA: dict[str, Wrap] = {
    "loguru-serialized": loguru_serialized,
    "router": ccr,
    "eventsource": eventsource,
    "chrome-console": lambda body: "".join(f"chat.js:42 data: {event.data}\n" for event in events(body)).encode(),
    "llama-server": lambda body: "".join(
        f"srv  log_server_r: data stream, to_send: data: {event.data}\n\n" for event in events(body)
    ).encode(),
    "httpx-sse": lambda body: "".join(
        f"ServerSentEvent(event={(event.name or 'message')!r}, data={event.data!r}, id='', retry=None)\n"
        for event in events(body)
    ).encode(),
    "langchain4j": lambda body: "".join(
        f"{clock(n)} DEBUG dev.langchain4j.http.client.log.LoggingHttpClient --"
        f" ServerSentEvent {{ event = {event.name or 'null'}, data = {event.data} }}\n"
        for n, event in enumerate(events(body))
    ).encode(),
    "field-lines": lambda body: "".join(
        f"event = {event.name or 'message'}\ndata = {event.data}\n\n" for event in events(body)
    ).encode(),
    "data-no-colon-space": lines(lambda _n, line: line.replace("data: ", "data:", 1)),
    "events-array": document(
        lambda body: [{"event": event.name or "message", "data": event.data} for event in events(body)], indent=2
    ),
    "timed-array": document(lambda body: [[n * 12, f"data: {event.data}\n\n"] for n, event in enumerate(events(body))]),
    "yaml-block": lambda body: "".join(
        f"- event: {event.name or 'message'}\n  data: {event.data}\n" for event in events(body)
    ).encode(),
    "yaml-quoted": lambda body: (
        "chunks:\n" + "".join(f"  - {json.dumps('data: ' + event.data + chr(10) * 2)}\n" for event in events(body))
    ).encode(),
    "yaml-single": lambda body: (
        "chunks:\n" + "".join("  - 'data: " + event.data.replace("'", "''") + "'\n" for event in events(body))
    ).encode(),
    "markdown-table": lambda body: (
        "| # | data |\n|---|---|\n"
        + "".join(f"| {n} | `data: {event.data}` |\n" for n, event in enumerate(events(body)))
    ).encode(),
    "markdown-list": lambda body: "".join(
        f"{n}. `data: {event.data}`\n" for n, event in enumerate(events(body), 1)
    ).encode(),
}
"""For event streams."""

OBJECTS: dict[str, Wrap] = {
    "rust-dbg": objects(lambda _n, payload: f"[src/main.rs:42:9] &chunk = {some(payload)}"),
    "litellm-verbose": objects(litellm_verbose),
    "llama-index": objects(
        lambda _n, payload: f"ChatResponse(message=ChatMessage(blocks=[]), raw={sdk(payload)}, delta='')"
    ),
    "openai-agents": objects(
        lambda _n, payload: f"RawResponsesStreamEvent(data={sdk(payload)}, type='raw_response_event')"
    ),
    "strands": objects(lambda _n, payload: repr({"event": payload})),
    "helicone": document(helicone),
    "gateway-strings": document(gateway_strings),
    "goose": goose,
    "codex-trace": objects(
        lambda n, payload: f"{stamp(n)} TRACE codex_api::sse::responses: SSE event: {compact(payload)}"
    ),
    "lm-studio": lm_studio,
    "pino": objects(lambda n, payload: compact({"level": 20, "time": n, "pid": 1, "chunk": payload, "msg": "chunk"})),
    "pino-pretty": pino_pretty,
    "ruby": objects(lambda _n, payload: ruby(payload)),
    "ruby-new": objects(lambda _n, payload: ruby(payload, " => ")),
    "ruby-symbols": objects(lambda _n, payload: ruby(payload, symbols=True)),
    "elixir": objects(lambda _n, payload: elixir(payload)),
    "php-var-export": objects(lambda _n, payload: php(payload)),
    "perl-dumper": objects(lambda _n, payload: f"$VAR1 = {ruby(payload, ' => ').replace('nil', 'undef')};"),
    "rust-struct": objects(lambda _n, payload: rust_struct(payload)),
    "rust-logged": objects(lambda n, payload: f"{stamp(n)} DEBUG app: chunk=Ok({rust(payload)})"),
    "python-tuple": objects(lambda n, payload: repr((n, payload))),
    "model-dump": lambda body: ("[" + ",\n ".join(map(repr, payloads(body))) + "]\n").encode(),
    "structlog": objects(
        lambda n, payload: f"{stamp(n)} [debug    ] chunk                          [app.llm] data={payload!r} n={n}"
    ),
    "icecream": objects(lambda _n, payload: f"ic| chunk: {payload!r}"),
    "repr-in-list": lambda body: (
        "chunks = [" + ", ".join(sdk(payload) for payload in payloads(body)) + "]\n"
    ).encode(),
    "debugger": objects(lambda _n, payload: f"(Pdb) p chunk\n{sdk(payload)}"),
    "ipython": objects(lambda n, payload: f"Out[{n}]: {sdk(payload)}\n"),
    "vcr-array": document(
        lambda body: {"chunks": [{"t": n, "json": payload} for n, payload in enumerate(payloads(body))]}
    ),
    "jsonp-pretty-arrow": objects(lambda n, payload: f"<- [{n}] {json.dumps(payload)}"),
    "mongo": objects(
        lambda n, payload: compact({"_id": {"$oid": f"{n:024x}"}, "doc": payload, "at": {"$date": stamp(n)}})
    ),
    "boto": objects(lambda _n, payload: repr({"chunk": {"bytes": compact(payload).encode()}})),
}
"""For any stream of JSON objects: the framing is lost."""
