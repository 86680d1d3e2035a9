"""aichat, the program that TOOLSTREAM_AICHAT names or that is in PATH. Its tools are generated scripts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from two_tools import DESCRIPTIONS, MODEL, PROMPT, SCHEMAS

HERE = Path(__file__).resolve().parent
SCRIPT = """\
#!{python}
import os, pathlib, sys
sys.path.insert(0, {here!r})
import two_tools
pathlib.Path(os.environ["LLM_OUTPUT"]).write_text(two_tools.run_tool({name!r}, sys.argv[1]))
"""

with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    tools = folder / "functions" / "bin"
    tools.mkdir(parents=True)
    for tool in SCHEMAS:
        (tools / tool).write_text(SCRIPT.format(python=sys.executable, here=str(HERE), name=tool))
        (tools / tool).chmod(0o700)
    declared = [
        {"name": tool, "description": DESCRIPTIONS[tool], "parameters": schema} for tool, schema in SCHEMAS.items()
    ]
    (folder / "functions" / "functions.json").write_text(json.dumps(declared))
    models = [{"name": MODEL, "supports_function_calling": True}]
    settings = {
        "model": f"openai:{MODEL}",
        "stream": True,
        "function_calling": True,
        "use_tools": ",".join(SCHEMAS),
        "clients": [{"type": "openai", "api_key": "none", "models": models}],
    }
    (folder / "config.yaml").write_text(json.dumps(settings))  # JSON is YAML
    program = os.environ.get("TOOLSTREAM_AICHAT") or "aichat"
    done = subprocess.run([program, PROMPT], env={**os.environ, "AICHAT_CONFIG_DIR": name}, check=False)
sys.exit(done.returncode)
