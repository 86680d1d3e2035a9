"""Run published clients under every fault, raw and with repair."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "addon"), str(ROOT / "scripts"), str(ROOT)]

from matrixlib.clients import clients, lock  # noqa: E402
from matrixlib.page import Measured, markdown  # noqa: E402
from matrixlib.record import Record, merged, read_record, record_of, with_rerun, write_record  # noqa: E402
from matrixlib.run import Options, combined, kept, kept_rerun, rerun, run  # noqa: E402
from matrixlib.toolchains import InstallError, cache_folder  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matrixlib.clients import MatrixClient
    from matrixlib.record import Cell

DONE, FAILED, USAGE = 0, 1, 2
"""Exit codes."""
EPILOG = """\
Installed packages and streams are kept in ${XDG_CACHE_HOME:-~/.cache}/toolstream/clients. The measurement of a client
is a line of tests/clients/measured.jsonl; docs/clients.md is generated from all lines. Clients can be run at different
times and on different machines. With --faults, the other cells of a client are kept. The cases that are graded by the
results of tools are run again: raw, with repair, and with the shape whole-calls.
Examples:
  scripts/matrix --list
  scripts/matrix --only openai-loop pi-ai-old --faults fault,preset --jobs 2
  scripts/matrix --faults late-id        run only this case, and keep the results of the others
  scripts/matrix --resume                continue an interrupted run
  scripts/matrix --only pi --rerun       run only the cases that are graded by results
  scripts/matrix --rerun --reason "gave up"  run only the cases in which a client gave up
  scripts/matrix --lock openai-js        pin the newest openai for JavaScript
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, list or pin clients. Returns 1 if a client could not be run or pinned."""
    options = _parser().parse_args(arguments)
    known = clients()
    selected = {*(options.only or ()), *(options.lock or ())}
    names = {client.group.name for client in known} if options.lock is not None else {one.name for one in known}
    if unknown := sorted(selected - names):
        print(f"matrix: unknown name {unknown[0]!r}; expected one of {', '.join(sorted(names))}", file=sys.stderr)
        return USAGE
    if options.list:
        for client in known:
            print(f"{client.name:28} {client.package} {client.version or '(installed version)'}")
        return DONE
    if options.lock is not None:
        return _pin(known, selected)
    failed = False if options.page else _run([one for one in known if not selected or one.name in selected], options)
    _write(known)
    return FAILED if failed else DONE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/matrix",
        description="Run published clients under every fault, raw and with repair, and write docs/clients.md.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--list", action="store_true", help="list the clients and run none")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="run these clients")
    parser.add_argument("--resume", action="store_true", help="continue from kept results")
    parser.add_argument(
        "--rerun", action="store_true", help="run only the cases that are graded by the results of tools"
    )
    parser.add_argument(
        "--reason", nargs="+", metavar="REASON", help="with --rerun: run the cells that failed for these reasons"
    )
    parser.add_argument("--faults", metavar="WORDS", help="select cases, as in toolstream check")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="run N clients at once (default 2)")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for one run (default 60)")
    parser.add_argument("--page", action="store_true", help="run nothing; write the pages from the measurements")
    parser.add_argument(
        "--lock", nargs="*", metavar="GROUP", help="pin the newest versions of these groups, or of all groups"
    )
    return parser


def _pin(known: Sequence[MatrixClient], selected: set[str]) -> int:
    failed = False
    for group in {client.group.name: client.group for client in known}.values():
        if group.lock is None or (selected and group.name not in selected):
            continue
        try:
            lock(group)
            print(f"{group.name}: pinned")
        except InstallError as error:
            failed = True
            print(f"{group.name}: {error}", file=sys.stderr)
    return FAILED if failed else DONE


def _run(selected: Sequence[MatrixClient], options: argparse.Namespace) -> bool:
    """Run clients sequentially. Returns whether a client could not be run."""
    failed = False
    for client in selected:
        each = Options(
            cache=cache_folder(),
            faults=options.faults,
            jobs=options.jobs,
            timeout=options.timeout,
            resume=options.resume,
            command_line=_command_line(options),
        )
        why = None if options.rerun else run(client, each)
        if why is None and (record := _record(client, each.cache)) is not None:
            why = rerun(client, each, [cell.case for cell in record.cells if _again(cell, options.reason)])
        failed = failed or why is not None
        print(f"{client.name}: {why or 'run'}", flush=True)
    return failed


def _again(cell: Cell, reasons: Sequence[str] | None) -> bool:
    """Whether to run a cell again: it is graded by results, or the client failed it raw for one of the reasons."""
    return cell.by_results if reasons is None else cell.raw in reasons


def _command_line(options: argparse.Namespace) -> str:
    """The command for the page, without the clients, which are in its table."""
    words = ["scripts/matrix", *(["--rerun"] if options.rerun else [])]
    words += ["--reason", *map(shlex.quote, options.reason)] if options.reason else []
    words += ["--faults", options.faults] if options.faults else []
    return " ".join([*words, "--jobs", str(options.jobs), "--timeout", f"{options.timeout:g}"])


def _record(client: MatrixClient, cache: Path) -> Record | None:
    """The current record of a client: from the cache, else from the repository."""
    earlier, found, again = read_record(client.name), kept(client, cache), kept_rerun(client, cache)
    record = earlier if found is None else merged(record_of(client, _portable(found, cache)), earlier)
    return None if record is None else with_rerun(record, again, earlier)


def _write(known: Sequence[MatrixClient]) -> None:
    """Write the records of all clients, and the pages."""
    cache = cache_folder()
    for client in known:
        if (record := _record(client, cache)) is not None:
            write_record(client.name, record)
    measured = [Measured(client, read_record(client.name)) for client in known]
    (ROOT / "docs" / "clients.md").write_text(markdown(measured), encoding="utf-8")
    streams = [
        (client, {**(kept_rerun(client, cache) or {}), **found})
        for client in known
        if (found := kept(client, cache)) is not None
    ]
    if report := combined(streams):
        from toolstream_core.view.assemble import check_page

        text = check_page(_portable(report, cache))
        (cache / "results" / "clients.html").write_text(text, encoding="utf-8")


def _portable(found: dict[str, Any], cache: Path) -> dict[str, Any]:
    """The results without absolute paths."""
    text = json.dumps(found).replace(str(cache), "~/.cache/toolstream/clients").replace(str(ROOT), ".")
    portable: dict[str, Any] = json.loads(text.replace(str(Path.home()), "~"))
    return portable


if __name__ == "__main__":
    sys.exit(main())
