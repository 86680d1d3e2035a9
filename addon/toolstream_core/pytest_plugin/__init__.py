"""The pytest plugin: saved flows as responses and as test items. Inactive unless it is used.

The output of a failing test: `fixture.py` for a marked test, `flow_items.py` for a saved flow as an item.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from toolstream_core.pytest_plugin.fixture import Provider, Toolstream

MARKER = (
    "toolstream(*flows, fault=None, repair=None, shape=None, speed=0, strict=False, seed=0, provider_repeats=8): "
    "send saved flows in response to this test's LLM requests; paths are relative to the test file or to the root "
    "directory."
)
_PROVIDER = "toolstream-provider"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare options and settings."""
    group = parser.getgroup("toolstream")
    group.addoption(
        "--toolstream-update",
        metavar="MODES",
        default="",
        help="update the expectations of flows: create (missing ones), fix (wrong ones), "
        "trim (remove those without a flow); comma-separated",
    )
    group.addoption(
        "--toolstream-block-network",
        action="store_true",
        help="refuse all connections except to the toolstream fixture's proxy",
    )
    parser.addini("toolstream_flows", "folders whose *.flow files are collected as tests", type="paths", default=[])


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and register the plugins that options and settings request."""
    config.addinivalue_line("markers", MARKER)
    if config.getoption("toolstream_update") or config.getini("toolstream_flows"):
        from toolstream_core.pytest_plugin.flow_items import Flows

        config.pluginmanager.register(Flows(config), "toolstream-flows")
    if config.getoption("toolstream_block_network"):
        from toolstream_core.pytest_plugin.network import NetworkBlock

        config.pluginmanager.register(NetworkBlock(), "toolstream-network")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """A flow file in one of the folders is a test."""
    folders = parent.config.getini("toolstream_flows") if file_path.suffix == ".flow" else ()
    if not any(file_path.is_relative_to(folder) for folder in folders):
        return None
    from toolstream_core.pytest_plugin.flow_items import FlowFile

    return FlowFile.from_parent(parent, path=file_path)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Begin to start the proxy if a test is going to use it: it is ready when the first test needs it."""
    if not session.config.getoption("collectonly") and any(map(_uses, session.items)):
        provider_of(session.config).proxy.launch()


def provider_of(config: pytest.Config) -> Provider:
    """The provider for this process's tests."""
    found: Provider | None = config.pluginmanager.get_plugin(_PROVIDER)
    if found is None:
        from toolstream_core.pytest_plugin.fixture import Provider

        found = Provider(config)
        config.pluginmanager.register(found, _PROVIDER)
    return found


def _uses(item: pytest.Item) -> bool:
    return "toolstream" in getattr(item, "fixturenames", ()) or item.get_closest_marker("toolstream") is not None


@pytest.fixture(autouse=True)
def _toolstream_first(request: pytest.FixtureRequest) -> None:
    """Runs before the test's other fixtures: clients that they create find the proxy too."""
    if _uses(request.node):
        request.getfixturevalue("toolstream")


@pytest.fixture
def toolstream(request: pytest.FixtureRequest) -> Iterator[Toolstream]:
    """A provider made of saved flows: LLM clients of this test find it by their environment."""
    yield from provider_of(request.config).provide(request.node)
