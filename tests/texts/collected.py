"""The texts that users read, collected from the code and the documentation."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from tests.conftest import ROOT
from toolstream_core.report import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

CORE: Final = ROOT / "addon" / "toolstream_core"
HELP_KEYWORDS: Final = frozenset({"help", "description", "epilog"})
_CODE: Final = re.compile(
    r"^ *(```|~~~).*?^ *\1|<!--.*?-->|`[^`\n]*`|\]\([^)\s]*\)|https?://\S+", re.DOTALL | re.MULTILINE
)


def packages() -> list[str]:
    """Return the packages and modules of the core."""
    return sorted(path.stem for path in CORE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists())


def pages() -> list[str]:
    """Return the pages of the documentation as paths from the root."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def descriptions(value: Any) -> Iterator[str]:
    """Yield the descriptions in a JSON schema."""
    if isinstance(value, dict):
        if isinstance(text := value.get("description"), str):
            yield text
        for inner in value.values():
            yield from descriptions(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from descriptions(inner)


def prose(markdown: str) -> str:
    """Return a page without code and URLs."""
    return without_names(_CODE.sub(" CODE ", markdown))


def sentences(package: str) -> Iterator[tuple[str, str, bool]]:
    """Yield place and text of each string with a space, and whether it is an option's help; docstrings are skipped."""
    place = CORE / package
    for path in sorted(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
        file = path.relative_to(CORE).as_posix()
        for line, text, is_help in texts(path.read_text(encoding="utf-8")):
            yield f"{file}:{line}", prose(text), is_help


def texts(source: str) -> Iterator[tuple[int, str, bool]]:
    """Yield the strings with a space in a program; a value in an f-string becomes `X`."""
    tree = ast.parse(source)
    skipped: set[int] = set()
    helps: set[int] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr():
                skipped.add(id(node.value))
            case ast.keyword(arg=name) if name in HELP_KEYWORDS:
                helps.add(id(node.value))
            case ast.JoinedStr():
                skipped |= {id(part) for part in node.values}
        if isinstance(node, ast.expr) and id(node) not in skipped and " " in (text := _text(node)).strip():
            yield node.lineno, text, id(node) in helps


def _text(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr():
            return "".join(_text(part) or "X" for part in node.values)
    return ""


def without_names(text: str) -> str:
    """Replace the names that `toolstream list` prints."""
    return _names().sub("NAME", text)


@cache
def _names() -> re.Pattern[str]:
    document = catalogue.document()
    names = {entry["name"] for kind in document.values() if isinstance(kind, list) for entry in kind}
    compound = sorted((name for name in names if re.search(r"\W|_", name)), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, compound))})(?![\w-])")
