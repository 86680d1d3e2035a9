"""`agent.py` with secrets in its requests, its output and the results of its tools: `leaky_agent.py WAY`."""

from __future__ import annotations

import http.client
import json
import os
import sys
from typing import Any

import agent  # type: ignore[import-not-found]  # in the same folder

SECRET = "plain-words-that-are-a-secret-4711"
HEADERS = {"x-api-key": f"{SECRET}-a", "cookie": f"session={SECRET}-b"}
OUTPUT = json.dumps({"api_key": f"{SECRET}-d", "text": f"{SECRET}-a {SECRET}-b {SECRET}-c"})


class Connection(http.client.HTTPConnection):
    """A connection that adds the secrets to each request."""

    def request(self, method: str, url: str, body: Any = None, headers: Any = None, **more: Any) -> None:
        """Send a request with the secrets."""
        super().request(method, f"{url}?key={SECRET}-c", body, {**(headers or {}), **HEADERS}, **more)


def main(way: str) -> None:
    """With `models`, it sends no LLM request."""
    http.client.HTTPConnection = Connection  # type: ignore[misc]
    os.environ["RESULT"] = OUTPUT
    sys.stdout.write(f"{OUTPUT}\n")
    if way == "models":
        url = agent.urlsplit(os.environ["OPENAI_BASE_URL"])
        connection = Connection(url.netloc, timeout=20)
        connection.request("GET", f"{url.path}/models")
        connection.getresponse().read()
    else:
        agent.main(way)


if __name__ == "__main__":
    main(sys.argv[1])
