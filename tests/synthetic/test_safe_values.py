"""Generated paths, commands, SQL and URLs have no effect, and are never the user's."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from toolstream_core.protocols.requests.tools import OfferedTool
from toolstream_core.synthetic.schema import distinct_arguments
from toolstream_core.synthetic.strings import absent, clear_places, sample_file

TEXT = {"type": "string"}


def texts(schema: Any, name: str, seed: str = "0") -> list[dict[str, Any]]:
    """Two different arguments for a schema, the second with wide characters."""
    tool = OfferedTool(name, schema)
    first = distinct_arguments(tool, seed, [])
    assert first is not None
    second = distinct_arguments(tool, seed, [first], wide_characters=True)
    generated = [one for one in (first, second) if one is not None]
    for one in generated:
        jsonschema.validate(one, schema)
    return generated


def schema_of(**properties: Any) -> dict[str, Any]:
    """The schema of an object with these required properties."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


PATHS = [
    ("delete_file", {"path": TEXT}),
    ("delete_file", {"path": {**TEXT, "default": "."}}),
    ("delete_file", {"path": {**TEXT, "examples": ["README.md"]}}),
    ("delete_file", {"path": {**TEXT, "pattern": "^/"}}),
    ("delete_file", {"path": {**TEXT, "minLength": 200}}),
    ("removeFile", {"fileName": TEXT}),
    ("remove_dir", {"directory": TEXT}),
    ("rm", {"paths": {"type": "array", "items": TEXT, "minItems": 2, "uniqueItems": True}}),
    ("rm", {"target": TEXT}),
    ("rm", {"x": {**TEXT, "description": "Absolute path of what is removed"}}),
    ("clean", {"what": {**TEXT, "default": "/"}}),
    ("clean", {"what": {**TEXT, "default": "src/lib"}}),
    ("move_file", {"source": TEXT, "destination": TEXT}),
    ("write", {"filePath": TEXT}),
    ("apply", {"files": {"type": "array", "items": schema_of(path=TEXT)}}),
    ("edit_notebook", {"notebook_path": {"anyOf": [TEXT, {"type": "null"}]}}),
]


def leaves(value: Any) -> list[Any]:
    """All texts and numbers in a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if inner is None else [leaf for one in inner for leaf in leaves(one)]


@pytest.mark.parametrize(("name", "properties"), PATHS, ids=json.dumps)
def test_a_path_does_not_exist(name: str, properties: Any) -> None:
    """It is in a temporary folder."""
    folder = Path(absent("x")).parent
    for arguments in texts(schema_of(**properties), name):
        for path in leaves(arguments):
            assert Path(path).is_relative_to(folder)
            assert folder.is_dir()
            assert not os.path.lexists(path)


@pytest.mark.parametrize(
    "pattern", [r"^[\w-]+$", r"\.py$", r"^\./", r"^[a-z]+$", r"^[^/]+\.md$", "^file://", r"^\w{3,40}$"]
)
def test_a_path_with_a_pattern_does_not_exist_in_a_project(pattern: str) -> None:
    """A relative path has an unusual name."""
    for arguments in texts(schema_of(path={**TEXT, "pattern": pattern}), "delete_file"):
        assert re.search("no.?such.?path", arguments["path"])


@pytest.mark.parametrize("most", [1, 4, 8])
def test_a_path_is_never_shortened(most: int) -> None:
    """A shortened path may be another one, such as `/tmp`."""
    for arguments in texts(schema_of(path={**TEXT, "maxLength": most}), "delete_file"):
        assert "/" not in arguments["path"]


@pytest.mark.parametrize(
    ("name", "parameter", "exists_as"),
    [
        ("read_file", "path", Path.is_file),
        ("Read", "file_path", Path.is_file),
        ("view", "filePath", Path.is_file),
        ("list_directory", "path", Path.is_dir),
        ("ls", "path", Path.is_dir),
        ("search_files", "path", Path.is_dir),
        ("grep", "dir", Path.is_dir),
        ("get_file_info", "path", Path.is_file),
    ],
)
def test_a_tool_that_reads_gets_a_sample(name: str, parameter: str, exists_as: Any) -> None:
    """It is a file or a folder made for this tool."""
    generated = texts(schema_of(**{parameter: TEXT}), name)
    paths = [Path(one[parameter]) for one in generated]
    assert len({*paths}) == 2
    for path in paths:
        assert exists_as(path)
        assert path.is_relative_to(Path(absent("x")).parents[1])


@pytest.mark.parametrize(
    ("name", "properties", "pattern"),
    [
        ("bash", {"command": TEXT}, r"true( \d+)?( 🌍)?"),
        ("exec_command", {"cmd": {**TEXT, "default": "rm -rf ."}}, r"true( \d+)?( 🌍)?"),
        ("shell", {"command": {"type": "array", "items": TEXT}}, r"true( \d+)?( 🌍)?"),
        ("shell", {"input": TEXT}, r"true( \d+)?( 🌍)?"),
        ("run_query", {"query": TEXT}, r"SELECT \d+( -- 🌍)?"),
        ("x", {"sql": TEXT}, r"SELECT \d+( -- 🌍)?"),
        ("x", {"text": {**TEXT, "description": "A SQL statement"}}, r"SELECT \d+( -- 🌍)?"),
        ("run_python", {"code": TEXT}, r'\d+|"\d+ 🌍"'),
        ("fetch", {"url": TEXT}, r"http://127\.0\.0\.1:9/\d*"),
        ("x", {"page": {**TEXT, "format": "uri"}}, r"http://127\.0\.0\.1:9/\d*"),
        ("x", {"what": {**TEXT, "default": "https://real.host/"}}, r"http://127\.0\.0\.1:9/\d*"),
        ("x", {"webhook_url": {**TEXT, "pattern": "^https://"}}, r"https://127\.0\.0\.1:9/\d*"),
        ("send", {"email": {**TEXT, "format": "email"}}, r"\w+@toolstream\.invalid"),
        ("ping", {"host": TEXT}, r"(\w+\.)?toolstream\.invalid( 🌍)?"),
    ],
    ids=str,
)
def test_commands_and_addresses_have_no_effect(name: str, properties: Any, pattern: str) -> None:
    """Defaults and patterns of the schema do not matter."""
    generated = texts(schema_of(**properties), name)
    assert len(generated) == 2
    for text in (leaf for one in generated for leaf in leaves(one)):
        assert re.fullmatch(pattern, text), text


def test_the_files_of_a_call_are_removed() -> None:
    """The next call gets an empty folder. Samples stay until the process ends."""
    path, sample = Path(absent("made")), Path(sample_file("kept"))
    path.write_text("x")
    clear_places()
    assert (path.exists(), path.parent.is_dir(), sample.is_file()) == (False, True, True)
