"""Which tools may be called without being named: one table of words, matched on the words of a tool's name.

A tool is harmless only if its name begins with a reading verb (`read_file`, `ListIssues`, `mcp__git__get_commit`), or
ends with one after known nouns (`file_search`, `TaskList`), and if no word names an effect. An unknown tool counts as
having effects. The description and the schema can only exclude a tool.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import dropwhile
from typing import Final

from toolstream_core.model import Json
from toolstream_core.protocols.requests.tools import OfferedTool, ToolChoice
from toolstream_core.wire import json_access


def _pattern(text: str) -> re.Pattern[str]:
    """The words as one pattern; `*` matches any ending or beginning."""
    return re.compile("|".join(word.replace("*", ".*") for word in text.split()))


_READS: Final = _pattern(
    "read list ls get search find lookup grep rg ripgrep glob view describe count calculate multiply subtract echo "
    "think"
)
"""Verbs with which the name of a harmless tool begins."""
_FACTS: Final = _pattern(
    "weather forecast temperature time datetime date today now clock timezone calculator cat head tail stat tree"
)
"""Words that name a harmless tool alone, or among nouns: `current_time`, `weather`."""
_NOUNS: Final = _pattern(
    "agents articles blocks branches calendar calendars channel channels city cities code codebase columns comments "
    "commits content contents cron crons current daily data database dataset datasets directory directories dir dirs "
    "doc docs document documents documentation events file files folder folders functions history hourly images info "
    "issue issues item items jobs labels local location locations logs members memory messages models nodes notes "
    "notebooks object objects pages path paths pods pr prs product products project projects prompts pull records "
    "references repo repos repositories repository request requests resource resources rows schema schemas semantic "
    "session sessions skills symbol symbols table tables tags task tasks teams tickets todo todos tools user users "
    "utc variables vector wiki workspace workspaces"
)
"""Words that may precede the verb of a harmless tool: `file_search`, `TaskList`."""
_VENDORS: Final = _pattern(
    "github gitlab git jira confluence notion slack linear figma asana trello sentry stripe mcp aws s3 gcp azure k8s "
    "kubernetes kubectl docker postgres mongodb redis supabase filesystem fs api"
)
"""Prefixes that name a tool's source: `jira_get_issue`."""
_OUTSIDE: Final = _pattern(
    "web website websites webpage webpages site internet online browser browse browsing url urls uri http https www "
    "google bing duckduckgo brave tavily exa serp serper perplexity crawl* scrap* download* wget curl secrets? "
    "passwords? passwd credentials? otp totp keychain vault"
)
"""Words of tools that use the network, can cost money, or read secrets into a conversation: they count as effects."""
_EFFECTS: Final = _pattern(
    # Files and data
    "*delet* del remov* rm rmdir unlink* eras* purg* destroy* drop* trunc* wip* clear* clean* prun* trash* shred* "
    "nuke rid empty emptied *writ* wrote *creat* mkdir touch sav* stor* put puts add adds added adding append* "
    "insert* upsert* *updat* modif* edit edits edited editing editor patch* replac* chang* alter* set sets setting "
    "unset reset* fill* mov* mv cp copy copies copied copying renam* rebas* merg* migrat* sync* import imports "
    "imported upload* chmod chown swap* transform* format formatt* fix fixes fixed fixing apply appl(ied|ies) revert* "
    "undo redo rollback* restor* backup* mutat* assign* unassign* archiv* unarchiv* mark marks marked marking lock "
    "locks locked unlock* clos(e|es|ed|ing) reopen* attach* detach* link linked bind binds unbind* tag tagged untag* "
    "pin pinned unpin* "
    # Programs
    "*execut* exec execs run runs ran running eval evals evaluat* invok* call calls called calling shell bash zsh sh "
    "powershell pwsh cmd commands? terminal* console python node js javascript script scripts repl sql "
    "quer(y|ies|ied) start* stop* restart* kill* abort* cancel* launch* spawn* terminat* suspend* resum* deploy* "
    "releas* install* uninstall* build builds building compil* enabl* disabl* toggl* trigger* schedul* reschedul* "
    "unschedul* activat* deactivat* boot* reboot* shutdown poweroff scal(e|es|ed|ing) open opens opened opening "
    "press* click* type typed typing drag* hover* scroll* navigat* goto submit* control* turn switch* act action "
    "actions do does did perform* dispatch* handl* manag* agent subagent* delegat* connect* disconnect* mount* "
    "unmount* play pause process processes "
    # People and money
    "send* sent post posts posted posting publish* unpublish* tweet* reply replies replied respond* email mail notify "
    "notif(y|ies|ied) broadcast* invit* subscrib* unsubscrib* follow unfollow like unlike vot(e|es|ed|ing) react* "
    "forward* share* shar(ed|ing) ask asks approv* accept* reject* confirm* decline* pay pays paid paying repay* "
    "prepay* buy* bought sell sells sold sale purchas* checkout order ordered ordering trade traded trading transfer* "
    "withdraw* deposit* refund* charg* book booked booking reserv(e|es|ed|ing) rent hir(e|es|ed|ing) fire fired ban "
    "bans banned grant* revok* authoriz* login logout signin signout signup sign signed register* unregister* enroll* "
    "provision* "
    # Reading with an effect
    "pop pops popped dequeu* enqueu* consum* drain* ack acks acked acknowledg* claim* next acquir* push* "
    "commit(ted|ting) checkin out upgrad* downgrad* increment* decrement* train trained training memoriz* remember* "
    "forget* generat* mak(e|es|ing) made flush* replay* retr(y|ies|ied) rotat* mint* burn* stak(e|es|ed|ing)"
)
"""Words of effects, anywhere in a name: `get_and_delete`, `read_write`."""
_JOINS: Final = frozenset({"and", "or", "then"})
"""Words between two actions of a tool."""
_RUNS_ARGUMENT: Final = _pattern(
    "commands? cmd argv shell sql script scripts statement statements program url urls uri uris link href "
    "endpoint webhook"
)
"""Words of required parameters whose value is run, or requested over the network."""
_WORD: Final = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+")
_SEGMENT: Final = re.compile(r"__|[./:]")
_SOURCE: Final = re.compile(r"[^\W_]+-(?=[^-]*_)|[A-Z][^\W_]*_(?=[a-z])")
"""A tool's source, before a name in another notation: `Files-read_file`, `Weather_get_weather`."""
_CONJUNCTION: Final = frozenset({"and", "or", "then", "also", "to"})


def words_of(text: str) -> list[str]:
    """The words of a name in any case: `get_a`, `getA`, `GetA`, `get-a`, `GET_A`."""
    return [word.lower() for word in _WORD.findall(text)]


def has_effect(words: Iterable[str]) -> bool:
    """Whether any of the words names an effect."""
    return any(_EFFECTS.fullmatch(word) or _OUTSIDE.fullmatch(word) for word in words)


def is_harmless(tool: OfferedTool) -> bool:
    """Whether a call of the tool only reads, by its name, description and schema."""
    return (
        not tool.custom
        and _is_harmless_name(tool.name)
        and not has_effect(words_of(tool.namespace))
        and not _describes_effect(tool.description)
        and not any(_is_risky(name, schema) for name, schema in required(tool.schema).items())
    )


def may_be_called(tools: Sequence[OfferedTool], choice: ToolChoice, names: Sequence[str] = ()) -> list[OfferedTool]:
    """The tools that may be called: `names` if there are any, else the harmless ones.

    First comes a tool whose arguments are free, then one that takes none, then one that reads a path (agents refuse to
    read outside of their working directory), then one that needs a known id.
    """
    allowed = [tool for tool in tools if choice.names is None or tool.name in choice.names]
    if names:
        return [tool for name in names for tool in allowed if tool.name == name]
    return sorted((tool for tool in allowed if is_harmless(tool)), key=_failure_rank)


def required(schema: Json) -> dict[str, Json]:
    """The required properties of a tool's schema, by name."""
    properties = json_access.get(schema, "properties")
    names = [name for name in json_access.items(json_access.get(schema, "required")) if isinstance(name, str)]
    return {name: properties.get(name) if isinstance(properties, dict) else None for name in names}


def _is_harmless_name(name: str) -> bool:
    if has_effect(words_of(name)):
        return False
    last = _SEGMENT.split(name)[-1]
    source = _SOURCE.match(last)
    return _only_reads(last) or (source is not None and _only_reads(last[source.end() :]))


def _only_reads(name: str) -> bool:
    first, *others = _parts(words_of(name))
    return _reads(first) and all(_reads(part) or _are(_NOUNS, part) for part in others)


def _parts(words: Sequence[str]) -> list[list[str]]:
    """The parts of a name, split at `and`, `or`, `then`."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word in _JOINS:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _reads(given: Sequence[str]) -> bool:
    words = list(dropwhile(_VENDORS.fullmatch, given))
    if not words:
        return False
    if _READS.fullmatch(words[0]) or words[:2] == ["look", "up"]:
        return True
    verbs = [word for word in words if not _NOUNS.fullmatch(word)]
    return (verbs == words[-1:] and _are(_READS, verbs)) or (bool(verbs) and _are(_FACTS, verbs))


def _are(known: re.Pattern[str], words: Sequence[str]) -> bool:
    return bool(words) and all(known.fullmatch(word) for word in words)


def _describes_effect(description: str) -> bool:
    """Whether the first sentence begins with a word of effect, has one after `and`, or has one of the outside."""
    lines = [line.strip("-*# \t") for line in description.splitlines()]
    sentence = re.split(r"[.;!](?:\s|$)", next(filter(None, lines), ""), maxsplit=1)[0]
    words = words_of(sentence)
    verbs = [word for before, word in zip(["and", *words], words, strict=False) if before in _CONJUNCTION]
    return has_effect(verbs) or any(_OUTSIDE.fullmatch(word) for word in words)


def _is_risky(name: str, schema: Json) -> bool:
    """Whether the value of a parameter is run, or requested over the network."""
    if any(_RUNS_ARGUMENT.fullmatch(word) for word in words_of(name)):
        return True
    described = words_of(str(json_access.get(schema, "description") or ""))
    return "sql" in described or json_access.get(schema, "format") in {"uri", "url"}


def _failure_rank(tool: OfferedTool) -> int:
    """The rank by which a generated call of a harmless tool is likely to fail."""
    names = [words_of(name) for name in required(tool.schema)]
    if any({"id", "ids", "number", "sha", "ref", "key", "uuid", "owner", "repo"} & {*words} for words in names):
        return 3
    if not names:
        return 1
    return 2 if any({"path", "paths", "file", "dir", "directory"} & {*words} for words in names) else 0
