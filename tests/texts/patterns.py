"""Phrases that no text for users may contain, each with a sentence that it matches and one that it does not."""

from __future__ import annotations

import re
from typing import Final, NamedTuple


class Pattern(NamedTuple):
    """A phrase to avoid."""

    phrase: str
    """A regular expression that ignores case."""
    instead: str
    caught: str
    passes: str

    def found(self, text: str) -> list[str]:
        """Return the matches in a text."""
        return [match[0] for match in re.finditer(self.phrase, text, re.IGNORECASE | re.MULTILINE)]


_NOUN: Final = r"(?:an?|the|this|that|each|every|whole|saved|healthy|upstream's|provider's|no|one|of|its|last|first)"
_SPEAKER: Final = (
    r"(?:finish(?: reason)?|stream|event|delta|chunk|provider|answer|response|log|page|file|table|addon|toolstream"
    r"|line|summary|report|column|section|verdict)"
)

ANYWHERE: Final = (
    Pattern(
        rf"\b{_NOUN} (?!plain )(?:\w+ )?answers?\b(?= (?:is|are|was|were|has|have|had|that|which|of|in|from"
        rf"|ends?|began|as|and|did"
        r"|carries|holds?|comes?|came|streams?|stops?|could|at|on)\b|[.,;:)])",
        "response",
        "The answer has ended.",
        "The proxy answers the request with a saved response.",
    ),
    Pattern(
        r"\b(?:to mend|mends? (?:an?|the|it|them|this|that|what|all|streams|defects)"
        r"|(?:is|are|was|were|be|been|not|and|it|them|answers|\d+) mended)\b",
        "repair",
        "5 mended (empty-id)",
        "We recommend the second form.",
    ),
    Pattern(
        r"\b(?:is|are|was|were|be|been|being|cannot be|both|not) told\b(?! apart)",
        "is reported, is logged, is sent",
        "Nothing that no option changes is told.",
        "The two ids can be told apart.",
    ),
    Pattern(
        rf"\b{_SPEAKER}s? (?:tells?|told|says?|said)\b",
        "reports, is, has",
        "The finish reason says that the turn is over.",
        "The maintainer of the client says that it is a bug.",
    ),
    Pattern(
        r"\b(?:is|are|was|were|been|be) said\b(?! to)|\b(?:says?|said) (?:it|them|again|once more|(?:the|its"
        r"|their) calls?"
        r"|calls|nothing|neither|whole)\b",
        "sends, repeats, returns",
        "It says the calls again, with their results.",
        "The field is said to be optional.",
    ),
    Pattern(
        r"\b(?:made|makes?|making) of (?:it|them|an answer|the stream|that|what)\b",
        "how the client interpreted it",
        "What the client made of it stands in the next request.",
        "A preset is made of several faults.",
    ),
    Pattern(
        r"\b(?:are|is|but|other|a|few|no|as|only) lawful\b|\blawful (?:but|way|ways|stream|streams|shape"
        r"|encoding|form)\b",
        "valid",
        "Other lawful ways to say a call.",
        "The proxy may only read traffic where this is legal.",
    ),
    Pattern(
        r"\b(?:ends? as|end in|with|before|of|notes|for) (?:a|the) break\b",
        "disconnect, truncated response",
        "An answer that stops inside a call ends as a break.",
        "Put a line break after each event.",
    ),
    Pattern(
        r"\bbehind (?:it|them|that|its end|whole|\[?DONE|the other|the one"
        r"|(?:an?|the|its|each|every|another) (?:\w+ )?(?:end|event|colon|finish|arguments|names?|arrow|call"
        r"|header|number))\b",
        "after",
        "No space stands behind the colon.",
        "The clients behind the proxy keep their own settings.",
    ),
    Pattern(
        r"\bbehind (?:repair|repairs|--\w+|shape|which shape|such)\b",
        "with",
        "The cases that are worse behind repair.",
        "Start the client behind a proxy.",
    ),
    Pattern(
        r"\b(?:is|are|was|were|be|been|becomes?|came|comes?|not|made|it|them|has|had) whole\b"
        r"|\bwhole (?:calls?|answers?|(?:JSON )?responses?|arguments|ones?)\b|\b(?:calls?|answers?"
        r"|arguments) whole\b",
        "complete",
        "Each call comes whole in one event.",
        "The whole repository is searched.",
    ),
    Pattern(
        r"\bhalf (?:an?|the|of an?) (?:call|answer|event)s?\b|\bhalf (?:call|answer)s?\b|\bcalls? (?:is|are"
        r"|was) half\b",
        "incomplete",
        "No client runs half a call.",
        "About half of the calls are parallel.",
    ),
    Pattern(
        r"\bplants (?:one|an?|the|it|nothing|every|each)\b|\b(?:is|are|was|were|be|been) planted\b|\bto plant\b",
        "inject",
        "One thing is planted in each answer.",
        "The model describes a plant in the garden.",
    ),
    Pattern(
        r"\b(?:can|could|cannot|to) be caused\b(?! by)|\bcaused in (?:an?|the|it|healthy|every|each)\b"
        r"|\b(?:defects?|faults?|to|what) (?:to )?causes? (?:an?|each|the|one|this|such)? ?(?:defect|defects"
        r"|fault|it|in)\b"
        r"|\bdefects? to cause\b|\bis caused\b(?! by)",
        "inject",
        "Defects to cause in streams.",
        "The error is caused by the client.",
    ),
    Pattern(
        r"\bbroken on purpose\b|\bbreaks? (?:healthy streams|streams that|them on purpose|it on purpose)\b",
        "inject faults",
        "It breaks healthy streams in every way.",
        "A newline breaks the line.",
    ),
    Pattern(
        r"\b(?:provider|client|server|model)(?:'s|s') habits?\b|\bhabits? of (?:a|an|the|one|clients|providers)\b",
        "quirk",
        "A preset of a provider's habits.",
        "Old habits die hard.",
    ),
    Pattern(
        r"\bfaults? of (?:time|the connection|a probability)\b",
        "timing fault, connection fault",
        "Faults of time need a stable interface.",
        "The fault of the second run is different.",
    ),
    Pattern(
        r"\bin (?:\w+ )?pieces\b|\bpiece by piece\b|\b(?:other|its|their) pieces\b|\beach piece\b|\bof a piece\b"
        r"|\ba piece that\b",
        "chunk, fragment",
        "Arguments come in pieces.",
        "A piece of the puzzle is missing.",
    ),
    Pattern(
        r"\bask(?:s|ed)? (?:[\w ]{0,20})?(?:once more|again)\b|\bthe same was asked\b|\basked so\b"
        r"|\basks? the same\b",
        "retried, repeats the request",
        "The same was asked 7 times more.",
        "Ask for help in the forum.",
    ),
    Pattern(
        r"\bgo(?:es)? by (?:the|its|their|an?|what|index|id|name|type|output_index|it|them|call_id|position)\b",
        "matches on, uses",
        "A client that goes by the index alone.",
        "Weeks go by between two releases.",
    ),
    Pattern(
        r"\btak(?:e|es|en|ing) (?:an?|the|every|each|any|half|null|this|that|them|it|change"
        r"|present)\b[^.,;:]{0,40}? for"
        r" (?:an?|the|all|one|another|nothing|\"\"|\{\})(?= |$|[.,;])",
        "treats X as Y",
        "It takes every present id for a new call.",
        "The flag takes a number of seconds.",
    ),
    Pattern(
        r"\bin the midst\b|\bin mid-\w+",
        "inside, mid-stream",
        "An answer that stops in the midst of a call.",
        "The event in the middle is dropped.",
    ),
    Pattern(
        r"\b(?:call|calls|what|which|that|they|it|arguments|stream) (?:is|are|was|were) meant\b(?! (?:to|for|as)\b)"
        r"|\b(?:may|might) be meant\b",
        "intended",
        "The arguments that were meant.",
        "This option is meant for tests.",
    ),
    Pattern(r"\bglued\b(?= (?:together|to|in|calls))", "concatenated", "Calls are glued together.", "Glue code."),
    Pattern(
        r"\bweaves? (?:\w+ ){0,6}in\b|\bwoven in(?:to)?\b",
        "inserts",
        "It weaves the calls of that answer in.",
        "The developers weave baskets.",
    ),
    Pattern(
        r"\bnot drawn\b|\bspared (?:it|them)\b|\b(?:is|are) drawn (?:from|by)\b|\bthe number that \w+ (?:are"
        r"|is) drawn\b",
        "select, skip",
        "not drawn: chance (p) or its number (times) spared it",
        "The diagram is drawn with Graphviz.",
    ),
    Pattern(
        r"\b(?:as|when) (?:it|they) (?:came|comes?|pass(?:es|ed)?|stood)\b(?! (?:in|into|to|from)\b)"
        r"|\bpass as they\b",
        "unchanged, in flight",
        "Everything else goes on as it came.",
        "The field is dropped as it comes from another server.",
    ),
    Pattern(
        r"\bon (?:its|their|the) way\b",
        "in flight",
        "It repairs streams on the way.",
        "There is a better way to do it.",
    ),
    Pattern(
        r"\bwhat is wrong with\b|\bnames what is wrong\b|\basked wrongly\b|\bwhat would be right\b"
        r"|\bright would be\b",
        "the error, expected",
        "It prints what is wrong with them.",
        "Something is wrong in the configuration.",
    ),
    Pattern(
        r"(?<!there )\bis no (?!longer\b|more\b|different\b|better\b|need\b)[a-z]",
        "is not a, is not valid",
        "The file is no HAR file.",
        "There is no limit, and the option is no longer needed.",
    ),
    Pattern(
        r"\bnames no (?:case|shape|client|defect|fault|tool|row|command)\b|\bhas no meaning here\b"
        r"|\bthere is no flows\b",
        "unknown",
        "'x' names no shape.",
        "The log names no secret.",
    ),
    Pattern(
        r"\b(?:nothing|everything|none|nobody|neither) (?:more )?(?:comes?|came)\b|\band none came\b",
        "the provider sends nothing",
        "Nothing comes for a while.",
        "The first event comes from the cache.",
    ),
    Pattern(
        r"\b(?:comes?|came|coming) back (?:as|with|without|for|by|in|once|under|twice|right)\b"
        r"|\bnor a result came back\b"
        r"|\bdid not come back\b|\bwhat came back\b",
        "the client returned",
        "Call 0 came back without its arguments.",
        "Come back later.",
    ),
    Pattern(
        r"\b(?:whoever|whomever|whatever|whichever) (?:\w+)",
        "name the actor or thing",
        "Whoever adds a command adds its test.",
        "Anybody can add a command.",
    ),
    Pattern(
        r"(?:^|(?<=[.;!] )|(?<=\| ))(?:What|Who)\b(?! follows)[^?.;|\n]* (?:is|are|was|were|has|goes|passes"
        r"|gets|comes|stays"
        r"|ends|counts|needs|belongs|holds)\b[^?|\n]*[.;]",
        "a noun as the subject",
        "What holds no LLM stream is told on standard error.",
        "Ask what happened.",
    ),
    Pattern(
        r"\bof what\b(?! (?:is|happened)\b)|\bof whom\b|\b(?:an?|the|every) \w+ of which\b",
        "two sentences",
        "An answer of which everything was said ends in order.",
        "All of them are listed.",
    ),
    Pattern(
        r"\bso that\b[^.\n]*\bso that\b",
        "two sentences",
        "It waits so that the call ends so that nothing is lost.",
        "It waits so that the call ends.",
    ),
    Pattern(
        r"\b(?:others'|owner's|owners'|foreign|nobody's) eyes\b",
        "do not share it",
        "It is not for others' eyes.",
        "Look at it with fresh eyes.",
    ),
    Pattern(
        r"\b(?:your|this|our|the) house\b(?! \w+ing)|\bhouse (?:law|rule)s?\b",
        "your project, code base",
        "Name what is secret in your house.",
        "An in-house proxy.",
    ),
    Pattern(
        r"\b(?:its|each|one|a protocol's|the protocol's|protocols'|that|other) rooms?\b(?! (?:for|is left))"
        r"|\brooms' \w+|\b(?:command line's|addon's|the) door\b",
        "protocol package, entry point",
        "A protocol is one room.",
        "The spool has no room for the response.",
    ),
    Pattern(
        r"\b(?:the|a|these) laws? (?:hold|holds|in|of|that|is|are)\b|\b(?:by|outside|is) the (?:\w+'s? )?letter\b",
        "invariant, as the protocol defines",
        "The laws hold for every row.",
        "Laws of other countries may differ.",
    ),
    Pattern(
        r"\b(?:stray|torn|loose|astray) (?:delta|fragment|piece|call|event|entry|chunk)s?\b|\bleads? astray\b",
        "say what it is",
        "A stray delta is dropped.",
        "The event was sent twice.",
    ),
    Pattern(
        r"\bin the provider's place\b|\bin the place of (?:the|a) (?:provider|flows?)\b",
        "instead of the provider",
        "Saved flows answer in the provider's place.",
        "The event is rewritten in place.",
    ),
    Pattern(
        r"\b(?:holds?|held) (?:it|them|that|this|the \w+) (?:against|to what|to it)\b",
        "compares with",
        "toolstream holds it against what was sent.",
        "The stage holds the event until the next one.",
    ),
    Pattern(
        r"(?:^|[.;] |\b(?:if|where|as|what|when|that|how) )one (?:can|may|must|wants?|has to|needs?|would|should)\b",
        "you, the client, the provider",
        "If one wants the raw bytes, one can save them.",
        "One call is lost.",
    ),
    Pattern(
        r"\b(?:is|are|was) mitmproxy's business\b|\blikes by itself\b|\bdoes for that\b|\bin kind\b"
        r"|\bleft in peace\b",
        "say what happens",
        "That is mitmproxy's business.",
        "mitmproxy's own options work too.",
    ),
)
HELP: Final = (
    Pattern(
        r"^(?:whether|how (?:many|often|much|long)|what|which|when|where)\b",
        "an imperative: Reject requests without a recorded response",
        "Whether a request that was not recorded is refused.",
        "Reject requests without a recorded response",
    ),
)
"""Additional phrases for the help of an option."""
