"""google-genai, streaming. Its content parts are returned unchanged."""

from __future__ import annotations

import os

from google import genai
from google.genai import types
from two_tools import DESCRIPTIONS, PROMPT, SCHEMAS, TURNS, run_tool

client = genai.Client(
    api_key=os.environ["GEMINI_API_KEY"],
    http_options=types.HttpOptions(base_url=os.environ["GOOGLE_GEMINI_BASE_URL"]),
)
declarations = [
    types.FunctionDeclaration(name=name, description=DESCRIPTIONS[name], parameters_json_schema=schema)
    for name, schema in SCHEMAS.items()
]
config = types.GenerateContentConfig(
    tools=[types.Tool(function_declarations=declarations)],
    automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
)
contents = [types.Content(role="user", parts=[types.Part(text=PROMPT)])]
for _ in range(TURNS):
    parts = [
        part
        for chunk in client.models.generate_content_stream(model="gemini-2.5-flash", contents=contents, config=config)
        for candidate in chunk.candidates or []
        if candidate.content is not None
        for part in candidate.content.parts or []
    ]
    calls = [part.function_call for part in parts if part.function_call]
    if not calls:
        break
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=one.id, name=one.name, response={"result": run_tool(one.name or "", one.args)}
            )
        )
        for one in calls
    ]
    contents += [types.Content(role="model", parts=parts), types.Content(role="user", parts=results)]
