"""All commands: their names, help texts and arguments. Imports no command, to make help fast."""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.cli import arguments
from toolstream_core.cli.arguments import EPILOG, FAIL_ON, RUN_EPILOG, Parser
from toolstream_core.proxy.option_table import KEEP_BODIES, LEVELS, LOG, OPTIONS, PROVIDER, REPEATS
from toolstream_core.wire.json_value import ABSENT

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.proxy.option_table import AddonOption

FLAGS: Final = tuple(option for option in OPTIONS if option not in {KEEP_BODIES, LOG, PROVIDER})
"""The addon's options that are flags of `run` and `serve`."""


def with_flag(message: str) -> str:
    """The error message of an option of the addon, with the flag of `run` and `serve` for it."""
    name, colon, rest = message.partition(": ")
    return next((f"{one.flag}{colon}{rest}" for one in FLAGS if one.name == name), message)


SHELLS: Final = ("bash", "zsh", "fish", "powershell")
PROMPT: Final = "Use the tools to do what you were asked to, once, and then say what came of it."
TIMEOUT: Final = 60.0
"""The default timeout of a client, in seconds."""
_READABLE: Final = (
    "flow file, HAR file, VCR cassette, saved response body (SSE, NDJSON, JSON), a folder of these, or - for stdin"
)
_FLOW: Final = (
    "what to respond with: a flow file, a folder of these, demo:NAME for a packaged flow, calls: for generated calls "
    "of the client's harmless tools, or calls:TOOL for calls of this tool"
)
_DEFECT_LIST: Final = "codes, names or families, separated by commas; repeatable"


@dataclass(frozen=True, slots=True)
class Command:
    """A command."""

    name: str
    help: str
    """One line for the list of commands."""
    declare: Callable[[Parser], None]
    description: str = ""
    usage: str | None = None
    """The text after `toolstream NAME`, if argparse cannot express it."""
    takes_command: bool = False
    """Whether a command line follows the first `--`."""
    epilog: str = EPILOG
    """The meaning of its exit codes."""
    function: str = ""
    """The function that runs it, as `MODULE:FUNCTION`; by default `run` of the module with its name."""

    def run(self, args: argparse.Namespace) -> int:
        module, _, function = (self.function or f"{self.name}:run").partition(":")
        code: int = getattr(importlib.import_module(f"toolstream_core.cli.{module}"), function)(args)
        return code

    def parser(self) -> Parser:
        text = self.description or f"{self.help[0].upper()}{self.help[1:]}."
        usage = None if self.usage is None else f"toolstream {self.name} {self.usage}"
        parser = Parser(self.name, description=text, usage=usage, epilog=self.epilog)
        self.declare(parser)
        return parser


def _nothing(parser: Parser) -> None:
    """No arguments."""


def _inspect(parser: Parser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help=_READABLE)
    _add_format(parser)
    text = "print every event with tool-call data, or only calls, findings and ends (default: events of one stream)"
    parser.add_argument("--chunks", action=argparse.BooleanOptionalAction, help=text)
    _add_request(parser)
    text = "read all input as this protocol (default: detect it)"
    parser.add_argument("--protocol", type=arguments.PROTOCOL, metavar="NAME", help=text)
    _add_selection(parser, "report only these findings", "do not report these findings")
    text = "exit with 1 at findings of this severity or a higher one (default: warning), or never"
    parser.add_argument("--fail-on", choices=tuple(FAIL_ON), default="warning", help=text)
    text = "exit with 0 even if there are findings: --fail-on never"
    parser.add_argument("--exit-zero", action="store_const", dest="fail_on", const="never", help=text)


def _repair(parser: Parser) -> None:
    _add_rewriting(parser)
    text = "defects to repair, separated by commas; repeatable (default: safe)"
    _add_changes(parser, text)


def _fault(parser: Parser) -> None:
    text = "fault to inject: NAME[:key=value,...]; several are applied in order"
    parser.add_argument("specs", nargs="+", type=arguments.FAULT, metavar="SPEC", help=text)
    _add_rewriting(parser)
    text = "random seed for probabilistic faults (default: 0)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=text)


def _extract(parser: Parser) -> None:
    parser.add_argument("paths", nargs="+", metavar="IN", help=_READABLE)
    text = "folder for the fixtures"
    parser.add_argument("-o", "--output", required=True, type=arguments.path, metavar="DIR", help=text)
    text = "flow: flow file with .expect.json (default); bare: folder with request and response; vcr: YAML cassette"
    parser.add_argument("--format", choices=("flow", "bare", "vcr"), default="flow", help=text)
    text = "write one fixture for each conversation (default), or for each flow"
    parser.add_argument("--each", choices=("conversation", "flow"), default="conversation", help=text)
    text = "keep chat text (default), mask it, or replace it with filler of the same shape"
    parser.add_argument("--text", choices=("keep", "mask", "shape"), default="keep", help=text)
    _add_secret(parser)
    text = "extract all fixtures (default), those with findings (warnings, errors) or failures, or those with errors"
    parser.add_argument("--when", choices=("all", "findings", "errors"), default="all", help=text)
    _add_selection(parser, "extract only fixtures with these findings", "ignore these findings")
    _add_request(parser)
    text = "file name of the fixtures, numbered if there are several (default: time, protocol and model)"
    parser.add_argument("--name", type=arguments.file_name, help=text)
    _add_force(parser)


def _doctor(parser: Parser) -> None:
    text = "flow file, .expect.json, HAR file, cassette, text file, or a folder of these"
    parser.add_argument("paths", nargs="+", type=arguments.path, metavar="PATH", help=text)
    _add_format(parser)
    parser.add_argument("--fix", action="store_true", help="rewrite flow files without secrets")
    _add_secret(parser)


def _explain(parser: Parser) -> None:
    parser.add_argument(
        "name", nargs="?", type=arguments.NAME, metavar="NAME", help="name or code (default: list all names)"
    )


def _serve(parser: Parser) -> None:
    parser.add_argument("flows", nargs="+", type=arguments.flow, metavar="FLOW", help=_FLOW)
    _add_session(parser, level="chunks", log="standard output")


def _run(parser: Parser) -> None:
    parser.add_argument("flows", nargs="*", type=arguments.flow, metavar="FLOW", help=_FLOW)
    _add_session(parser, level="calls", log="standard error")
    text = "point base URLs to the proxy, which forwards to URL (default: to where each variable pointed)"
    parser.add_argument("--base-url", nargs="?", type=arguments.url, const=True, metavar="URL", help=text)
    text = "write a bug report on the responses, and their flow file"
    parser.add_argument("--report", type=arguments.path, metavar="FILE", help=text)
    text = "with --view: write the page to FILE when CMD has ended, instead of serving it on"
    parser.add_argument("-o", "--output", type=arguments.path, metavar="FILE", help=text)
    _add_force(parser)
    text = "suppress setup and summary output (--level off suppresses the log)"
    parser.add_argument("--quiet", action="store_true", help=text)


def _check(parser: Parser) -> None:
    parser.add_argument("flows", nargs="*", type=arguments.flow, metavar="FLOW", help=_FLOW)
    text = "protocol of the client (default: that of its first request)"
    parser.add_argument("--protocol", type=arguments.PROTOCOL, metavar="NAME", help=text)
    text = "run only these cases: ids, names, codes, families, kinds or globs, separated by commas; -WORD excludes"
    parser.add_argument("--case", action="append", default=[], type=arguments.CASE, metavar="WORDS", help=text)
    parser.add_argument(
        "--jobs", type=arguments.positive, default=1, metavar="N", help="run N clients at once (default: 1)"
    )
    text = "stop a client after this time (default: 60)"
    parser.add_argument("--timeout", type=arguments.seconds, default=TIMEOUT, metavar="SECONDS", help=text)
    text = "run each case K times and grade the worst run (default: 1)"
    parser.add_argument("--repeat", type=arguments.positive, default=1, metavar="K", help=text)
    text = "random seed for arguments and faults (default: 0)"
    parser.add_argument("--seed", type=int, default=0, metavar="N", help=text)
    _add_grading(parser)
    _add_reports(parser)


def _add_grading(parser: Parser) -> None:
    text = "call this tool with generated arguments; repeatable (default: harmless tools, selected by name)"
    parser.add_argument("--tool", action="append", default=[], metavar="NAME", help=text)
    text = "run the client in the working directory (default), or in a temporary copy"
    parser.add_argument("--workdir", choices=("here", "copy"), default="here", help=text)
    text = "limit equal requests per saved response (default: 8; 0 sets no limit)"
    parser.add_argument("--provider-repeats", type=arguments.repeats, default=REPEATS, metavar="N", help=text)
    parser.add_argument("--upstream", action="store_true", help="let the client's own provider respond")
    _add_changes(parser, "repair these defects in flight; repeatable")
    parser.add_argument("--prompt", default=PROMPT, metavar="TEXT", help="replace {prompt} in CMD with this text")
    text = "check the clients of this file instead of CMD"
    parser.add_argument("--matrix", type=arguments.path, metavar="TOML", help=text)
    text = "check only this client of --matrix; repeatable"
    parser.add_argument("--client", action="append", default=[], metavar="NAME", help=text)


def _add_reports(parser: Parser) -> None:
    _add_resume(parser)
    _add_format(parser, "text", "json", "html")
    parser.add_argument("--junit", type=arguments.path, metavar="FILE", help="write JUnit XML")
    parser.add_argument("--html", type=arguments.path, metavar="FILE", help="write an HTML page")
    text = "write annotations and a summary for GitHub Actions"
    parser.add_argument("--github", action="store_true", help=text)
    text = "show which failures of an earlier JSON report now pass"
    parser.add_argument("--compare", type=arguments.path, metavar="JSON", help=text)
    _add_quiet(parser)


def _shrink(parser: Parser) -> None:
    parser.add_argument("flow", type=arguments.path, metavar="FLOW", help=f"{_READABLE}, which needs -o")
    text = "keep one of these findings: codes, names or families, separated by commas; repeatable"
    parser.add_argument("--select", action="append", type=arguments.DEFECTS, metavar="DEFECT", help=text)
    text = "keep this verdict, on the saved conversation or on the runs of CMD (default: the worst of the first run)"
    parser.add_argument("--verdict", type=arguments.VERDICT, metavar="NAME", help=text)
    text = "accept a result that fails with another verdict, or also when repaired"
    parser.add_argument("--any-failure", action="store_true", help=text)
    text = "fixture to write, with its .expect.json next to it (default: FLOW with .min.flow)"
    parser.add_argument("-o", "--output", type=arguments.path, metavar="FILE", help=text)
    _add_force(parser)
    text = "allow defects that FLOW does not have, and events without their common fields"
    parser.add_argument("--any", action="store_true", help=text)
    _add_resume(parser)
    text = "run N commands at once (default: 1)"
    parser.add_argument("--jobs", type=arguments.positive, default=1, metavar="N", help=text)
    text = "stop CMD after this time; it counts as passed (default: 60)"
    parser.add_argument("--timeout", type=arguments.seconds, default=TIMEOUT, metavar="SECONDS", help=text)
    text = "limit equal requests per saved response (default: 8; 0 sets no limit)"
    parser.add_argument("--provider-repeats", type=arguments.repeats, default=REPEATS, metavar="N", help=text)
    text = "require the bug in K of K runs, for flaky commands (default: 1)"
    parser.add_argument("--repeat", type=arguments.positive, default=1, metavar="K", help=text)
    text = "require this text in the output of CMD"
    parser.add_argument("--says", default="", metavar="TEXT", help=text)
    _add_quiet(parser)


def _report(parser: Parser) -> None:
    parser.add_argument(
        "flow", type=arguments.path, metavar="FLOW", help="flow file; use `toolstream shrink` on it first"
    )
    text = f"report only these findings: {_DEFECT_LIST}"
    parser.add_argument("--select", action="append", type=arguments.DEFECTS, metavar="DEFECT", help=text)
    text = "output format: markdown (default), or html, the page of `toolstream view`"
    parser.add_argument("--format", choices=("markdown", "html"), default="markdown", help=text)
    _add_output(parser)


def _view(parser: Parser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help=_READABLE)
    text = "output format: html (default), or json, the document of the page"
    parser.add_argument("--format", choices=("html", "json"), default="html", help=text)
    _add_output(parser)
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--raw", action="store_true", help="keep secrets (default: overwrite them, as captures do)")
    _add_request(parser)


def _probe(parser: Parser) -> None:
    text = "base URL (https://api.openai.com/v1) or endpoint"
    parser.add_argument("url", metavar="URL", help=text)
    text = "protocol of the API (default: detect it from URL)"
    parser.add_argument("--protocol", type=arguments.PROBED, metavar="NAME", help=text)
    parser.add_argument("--model", metavar="NAME", help="model to request")
    text = "send each request N times (default: 3)"
    parser.add_argument("--times", type=arguments.positive, default=3, metavar="N", help=text)
    text = "use the prompt in this text file; needs --tool"
    parser.add_argument("--prompt", type=arguments.path, metavar="FILE", help=text)
    text = "offer the tools in this JSON file: one or a list, each with name, description, parameters"
    parser.add_argument("--tool", type=arguments.path, metavar="FILE", help=text)
    _add_format(parser, "text", "markdown", "json")
    text = "treat a response as broken after this time without data (default: 60)"
    parser.add_argument("--timeout", type=arguments.seconds, default=TIMEOUT, metavar="SECONDS", help=text)
    text = "keep the responses in this folder as fixtures, without secrets"
    parser.add_argument("--keep", type=arguments.path, metavar="DIR", help=text)
    _add_quiet(parser)


def _mcp(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", metavar="FILE", help=_READABLE.removesuffix(", or - for stdin"))
    text = "address of a live view, as `toolstream run --view` prints it; the tool `view` then shows this view"
    parser.add_argument("--view", type=arguments.view_address, metavar="ADDRESS", help=text)


def _help(parser: Parser) -> None:
    known = arguments.Names(lambda: COMMANDS, str)
    text = "command to explain (default: list all commands)"
    parser.add_argument("name", nargs="?", type=known, metavar="COMMAND", help=text)


def _completion(parser: Parser) -> None:
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def _add_format(parser: Parser, *formats: str) -> None:
    known = formats or ("text", "json")
    text = f"output format: {', '.join(known[:-1])} or {known[-1]} (default: text)"
    parser.add_argument("--format", choices=known, default="text", help=text)
    _add_output(parser)


def _add_output(parser: Parser) -> None:
    text = "write to FILE (default: standard output)"
    parser.add_argument("-o", "--output", type=arguments.output, metavar="FILE", help=text)
    _add_force(parser)


def _add_force(parser: Parser) -> None:
    parser.add_argument("--force", action="store_true", help="overwrite existing files")


def _add_quiet(parser: Parser) -> None:
    parser.add_argument("--quiet", action="store_true", help="suppress progress output")


def _add_resume(parser: Parser) -> None:
    text = "save the progress to FILE, and continue from it"
    parser.add_argument("--resume", type=arguments.path, metavar="FILE", help=text)


def _add_request(parser: Parser) -> None:
    text = "JSON body of the request that a saved response body belongs to"
    parser.add_argument("--request", type=arguments.request, default=ABSENT, metavar="FILE", help=text)


def _add_secret(parser: Parser) -> None:
    text = "redact this too: name of a header, parameter or field, or /REGEX/; repeatable"
    parser.add_argument("--secret", action="append", default=[], metavar="NAME|/REGEX/", help=text)


def _add_selection(parser: Parser, select: str, ignore: str) -> None:
    for name, text in (("--select", select), ("--ignore", ignore)):
        parser.add_argument(
            name, action="append", type=arguments.DEFECTS, metavar="DEFECT", help=f"{text}: {_DEFECT_LIST}"
        )


def _add_rewriting(parser: Parser) -> None:
    parser.add_argument("source", metavar="IN", help=_READABLE)
    text = "file to write, in the format of IN; a folder if IN is one, or - for stdout"
    parser.add_argument("-o", "--output", required=True, metavar="OUT", help=text)
    _add_force(parser)
    parser.add_argument("--diff", action="store_true", help="print what changes in each event, on stderr")
    _add_request(parser)


def _add_changes(parser: Parser, text: str) -> None:
    """The repairs, explained by `text`, and the shapes."""
    parser.add_argument("--repair", action="append", default=[], type=arguments.REPAIR, metavar="DEFECT", help=text)
    text = "re-encode tool calls: a shape, or for:CLIENT; repeatable"
    parser.add_argument("--shape", action="append", default=[], type=arguments.SHAPE, metavar="SHAPE", help=text)


def _add_session(parser: Parser, *, level: str, log: str) -> None:
    """The arguments that `run` and `serve` share."""
    for option in FLAGS:
        _add_flag(parser, option)
    text = "port to listen on (default: any free port)"
    parser.add_argument("--port", type=arguments.port, default=0, metavar="N", help=text)
    text = "set another option of toolstream or mitmproxy; repeatable"
    parser.add_argument(
        "--set", action="append", default=[], type=arguments.option, metavar="NAME=VALUE", dest="options", help=text
    )
    text = f"log nothing, the calls of each response, or every chunk (default: {level})"
    parser.add_argument("--level", choices=LEVELS, default=level, help=text)
    text = f"append the log to FILE (default: {log})"
    parser.add_argument("--log", type=arguments.log_file, metavar="FILE", help=text)


def _add_flag(parser: Parser, option: AddonOption) -> None:
    text = option.help[0].lower() + option.help[1:].removesuffix(".")
    settings: dict[str, Any] = {"help": text}
    if isinstance(option.default, bool):
        settings["action"] = "store_true"
    elif option.const:
        settings |= {"action": "store_const", "const": option.const, "default": ""}
    else:
        kind = arguments.OF_OPTIONS.get(option.name, int if isinstance(option.default, int) else str)
        settings |= {"type": kind, "metavar": option.metavar or None, "choices": option.choices or None}
        if option.many:
            settings |= {"action": "append", "default": []}
        elif kind is not str:
            settings["default"] = kind(str(option.default))
    parser.add_argument(option.flag, **settings)


COMMANDS: Final = {
    one.name: one
    for one in (
        Command(
            "inspect",
            "read saved streams: flow files, HAR files, response bodies, folders",
            _inspect,
            "Read saved streams. Print the reassembled tool calls and the findings.",
        ),
        Command(
            "repair",
            "repair saved streams, or re-encode their tool calls",
            _repair,
            "Write saved streams as the proxy would forward them with these repairs and shapes.",
            function="rewrite:repair",
        ),
        Command(
            "fault",
            "inject faults into saved streams",
            _fault,
            "Write saved streams as the proxy would forward them with these faults.",
            function="rewrite:fault",
        ),
        Command(
            "extract",
            "extract fixtures from saved files: flow files, HAR files, cassettes, response bodies",
            _extract,
            "Extract the LLM responses in saved files as fixtures without secrets, each with its expectation.",
        ),
        Command(
            "doctor",
            "find secrets and stale expectations in fixtures",
            _doctor,
            "Find secrets, stale expectations and missing bodies in saved files. Print how to fix each.",
        ),
        Command(
            "list",
            "list defects, shapes, faults, presets, clients and verdicts",
            _add_format,
            function="explain:list_all",
        ),
        Command(
            "explain",
            "explain a defect, family, shape, fault, preset, client, verdict, grade or client bug",
            _explain,
            function="explain:explain",
        ),
        Command(
            "serve",
            "respond to requests with saved flows on a local port",
            _serve,
            "Respond to requests with saved flows on a local port. Needs no key and no network.",
        ),
        Command(
            "run",
            "run a command with the proxy",
            _run,
            "Run a command with the proxy: proxy variables and certificate are set. With flows, toolstream responds to "
            "LLM requests; otherwise the real providers do.",
            "[FLOW…] [options] -- CMD…",
            takes_command=True,
            epilog=RUN_EPILOG,
        ),
        Command(
            "check",
            "run a client against each fault, and grade the result",
            _check,
            "Run a client once for each case: healthy, faults, shapes, timing faults, presets. Grade the result. "
            "The proxy responds with calls of the client's tools, and the client runs these tools. Without --tool, "
            "FLOW or calls:TOOL, only harmless tools are called. Grades: ok; failed, with the reason; not-strict: the "
            "client refused the call or sent the request again, which is permitted; call-rejected: its tool rejected "
            "an incomplete call; info: nothing is required; skipped, with the reason. A required case that fails sets "
            "exit code 1.",
            "[FLOW…] [options] -- CMD…",
            takes_command=True,
        ),
        Command(
            "shrink",
            "reduce saved responses to the smallest reproduction of a bug",
            _shrink,
            "Reduce saved responses to the smallest events that still show a bug: a finding, a verdict, or a failing "
            "CMD. CMD runs with a proxy that responds with each candidate. It must exit with a code other than 0 "
            "while the bug shows.",
            "FLOW [options] (--select DEFECT | --verdict NAME | -- CMD…)",
            takes_command=True,
        ),
        Command(
            "report",
            "write a bug report on saved responses, as Markdown",
            _report,
            "Write a bug report on saved responses, as Markdown for an issue, or as a page.",
        ),
        Command(
            "view",
            "show saved responses as a page: what the client did, and at which event",
            _view,
            "Write a page on saved responses: what the client did with each, at which event it misread the stream, and "
            "what helps. The page loads nothing from elsewhere.",
        ),
        Command(
            "probe",
            "compare streaming and non-streaming responses of a provider",
            _probe,
            "Compare streaming and non-streaming responses of a provider, and report defects of the streams. Sends "
            "billable requests. The key comes from TOOLSTREAM_PROBE_KEY or the usual variable of the protocol.",
        ),
        Command(
            "mcp",
            "serve these reports to a coding agent (MCP, standard input and output)",
            _mcp,
            "Serve the reports on saved streams, and a live view, to a coding agent, over the Model Context Protocol "
            "on standard input and output. Tools: verdicts, inspect, view, explain; with CMD also check. Files, "
            "ADDRESS and CMD are fixed at the start. Needs the package mcp.",
            "[FILE…] [--view ADDRESS] [-- CMD…]",
            takes_command=True,
        ),
        Command("demo", "show toolstream with clients and saved streams, offline", _nothing),
        Command(
            "addon-path",
            "print the path of the mitmproxy addon",
            _nothing,
            'Print the path of the mitmproxy addon, for mitmdump -s "$(toolstream addon-path)".',
            function="main:print_addon_path",
        ),
        Command(
            "completion",
            "print a completion script for a shell",
            _completion,
            "Print a completion script. bash and zsh: source it; fish: pipe it to source; PowerShell: invoke it.",
        ),
        Command("help", "print the help of a command", _help, function="main:print_help"),
        Command("version", "print the version", _nothing, function="main:print_version"),
    )
}
