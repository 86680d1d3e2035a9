"""What `toolstream check` is asked to do, from its arguments."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Final

from toolstream_core.checking.case import UNKNOWN, Kind, Selection
from toolstream_core.checking.cases import all_cases
from toolstream_core.checking.matrix import clients_of
from toolstream_core.checking.plan import Plan
from toolstream_core.checking.run import Client
from toolstream_core.checking.workdir import Workdir
from toolstream_core.cli.commands import PROMPT, TIMEOUT
from toolstream_core.cli.errors import UsageError
from toolstream_core.cli.serving import flows_and_calls
from toolstream_core.proxy.option_table import REPEATS
from toolstream_core.settings import Words, settings
from toolstream_core.synthetic.call_specs import parse_calls, spec_text

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

_INTERPRETERS: Final = ("python", "node", "npx", "deno", "bun", "uv", "ruby", "java", "bash", "sh", "env")


def plan_asked(args: argparse.Namespace) -> Plan:
    """What is to be done. Raises `ValueError`s whose messages say what was expected."""
    selection = Selection(tuple(word for text in args.case for part in text.split(",") if (word := part.strip())))
    known = all_cases()
    selection.check(known)
    if not any(map(selection.takes, known)):
        raise UsageError("no case is left: --case excludes all cases that it names")
    flows, calls = flows_and_calls(args.flows)
    if args.upstream and (flows or calls):
        raise UsageError("--upstream and FLOW exclude each other: either the client's provider answers, or saved flows")
    if flows and calls:
        raise UsageError("flows and calls: exclude each other. Expected one of them")
    _check_flows(flows)
    settings(Words(repair=args.repair, shape=args.shape))
    return Plan(
        selections=(selection,),
        calls=tuple(map(spec_text, parse_calls(calls))),
        tools=tuple(args.tool),
        flows=flows,
        upstream=args.upstream,
        repair=tuple(args.repair),
        shape=tuple(args.shape),
        seed=args.seed,
        repeat=args.repeat,
        provider_repeats=args.provider_repeats,
        sessions=args.html is not None or args.format == "html",
    )


def _check_flows(flows: Sequence[Path]) -> None:
    """Raise `UsageError` where one has no answer to give."""
    if not flows:
        return
    from toolstream_core.fixtures import FixtureError, load

    try:
        for flow in flows:
            load(flow)
    except FixtureError as error:
        raise UsageError(str(error)) from error


def clients_asked(args: argparse.Namespace) -> list[Client]:
    """Who is to be checked. Raises `UsageError`, `MatrixError`."""
    if (args.matrix is None) == (not args.command_line):
        raise UsageError("no client. Expected --matrix FILE, or a command: toolstream check -- python agent.py")
    if args.matrix is None and args.client:
        raise UsageError("--client needs --matrix FILE")
    command = tuple(args.command_line)
    usual = Client(
        name=_name(command) if command else "",
        command=command,
        protocol=args.protocol,
        prompt=args.prompt,
        timeout=args.timeout,
        workdir=Workdir.of(Path.cwd()) if args.workdir == "copy" else None,
    )
    found = [usual] if args.matrix is None else clients_of(args.matrix, usual)
    if unknown := [name for name in args.client if name not in {client.name for client in found}]:
        raise UsageError(f"{args.matrix} has no client {unknown[0]!r}")
    found = [client for client in found if not args.client or client.name in args.client]
    if args.upstream and any("{base_url}" in word for client in found for word in client.command):
        raise UsageError("{base_url} and --upstream exclude each other: {base_url} is the proxy, which answers itself")
    return found


def _name(command: Sequence[str]) -> str:
    """What the client is called: its program, or the script that an interpreter runs."""
    words = [word for word in command if not word.startswith("-")] or list(command)
    names = [Path(word).name for word in words]
    runs_other = names[0].startswith(_INTERPRETERS) and len(names) > 1
    return names[1] if runs_other else names[0]


def about(args: argparse.Namespace, plan: Plan, clients: Sequence[Client]) -> dict[str, object]:
    """What has to be the same for a check to go on."""
    return {
        "clients": {client.name: [client.shown, client.protocol] for client in clients},
        "calls": plan.calls,
        "tools": plan.tools,
        "flows": [str(path) for path in plan.flows],
        "upstream": plan.upstream,
        "repair": plan.repair,
        "shape": plan.shape,
        "seed": plan.seed,
        "repeat": plan.repeat,
        "provider_repeats": plan.provider_repeats,
        "prompt": args.prompt,
    }


def rerun_of(args: argparse.Namespace, client: Client) -> Callable[[str], str]:
    """The command line that runs the case of an id again."""
    words = ["toolstream", "check", *map(str, args.flows)]
    for option, values in (
        ("--protocol", [args.protocol] if args.protocol else []),
        ("--tool", args.tool),
        ("--workdir", [args.workdir] if args.workdir != "here" else []),
        ("--repair", args.repair),
        ("--shape", args.shape),
        ("--seed", [args.seed] if args.seed else []),
        ("--provider-repeats", [args.provider_repeats] if args.provider_repeats != REPEATS else []),
        ("--timeout", [f"{args.timeout:g}"] if args.timeout != TIMEOUT else []),
        ("--prompt", [args.prompt] if args.prompt != PROMPT else []),
        ("--matrix", [args.matrix] if args.matrix else []),
        ("--client", [client.name] if args.matrix else []),
    ):
        words += [word for value in values for word in (option, str(value))]
    words += ["--upstream"] if args.upstream else []
    command = [] if args.matrix else ["--", *client.command]
    return lambda identity: shlex.join([*words, *_only(identity), *command])


def _only(identity: str) -> list[str]:
    """Choose the case, in the protocol of its run if that is known."""
    protocol, _, name = identity.partition("/")
    if protocol != UNKNOWN:
        return ["--case", identity]
    return [] if name == Kind.HEALTHY else ["--case", f"*/{name}"]
