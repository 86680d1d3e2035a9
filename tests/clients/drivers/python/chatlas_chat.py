"""chatlas: its chat, streaming."""

from __future__ import annotations

import os

from chatlas import ChatOpenAICompletions
from two_tools import MODEL, PROMPT, get_weather, read_file

chat = ChatOpenAICompletions(model=MODEL, base_url=os.environ["OPENAI_BASE_URL"])
chat.register_tool(get_weather)
chat.register_tool(read_file)
for _ in chat.stream(PROMPT):
    pass
