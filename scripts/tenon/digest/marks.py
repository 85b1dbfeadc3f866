"""The words that mark what people say to a coding agent: what is left out, what is taken, what an answer must confirm. English.

Only patterns; `spot_said` reads sentences with them, one at a time and none longer than a few hundred characters, so that no
pattern can take long.
"""

from __future__ import annotations

import re


class Mark:
    """A pattern, whatever the case; compiled when it is first looked for, as the end of a turn has no time for all of them."""

    __slots__ = ("pattern", "_compiled")

    def __init__(self, *patterns: str) -> None:
        self.pattern = "|".join(patterns)
        self._compiled: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern itself."""
        if self._compiled is None:
            self._compiled = re.compile(self.pattern, re.I)
        return self._compiled

    def search(self, said: str) -> re.Match[str] | None:
        """The first place where it stands, or None."""
        return self.compiled.search(said)


def _words(*phrases: str) -> str:
    """Any of the phrases as whole words."""
    return rf"\b(?:{'|'.join(phrases)})\b"


_GREETING = "oh|hm+|ah|ok(?:ay)?|good|great|nice|fine|right|yes|yep|yeah|sure|perfect|thanks|thank you|cool|alright|hi|hey|hello"
_NOT = "(?:do not|don't|dont)"
GREETING = re.compile(rf"^(?:(?:{_GREETING})\b[\s,.!:;–—-]+)+(?=\S)", re.I)  # what no memory begins with
# What may stand before what is said, and before what is asked for; the patterns that begin with «^» are for what comes after it.
LEAD = re.compile(rf"^(?:(?:and|also|so|but|then|now|well|please|agreed(?!\s*[:.!–—-])|exactly|true|no worries|{_GREETING})\b[\s,.!:;–—-]*)+(?=\S)", re.I)
PLEASE = re.compile(r"^(?:(?:can you|could you|let's|let us|go ahead and|try to|just|please|i(?:'d| would) like (?:you )?to|i want (?:you )?to) )+", re.I)

# ---------------------------------------------------------------- what is left out

_AUXILIARY = "is|are|am|was|were|do|does|did|can|could|would|will|should|shall|may|might|have|has|had|isn't|aren't|don't you|didn't|doesn't|wouldn't|couldn't|can't|won't|shouldn't"
QUESTION = Mark(
    r"\?[\"»”’)\]*]*$",
    rf"^(?:(?:what|why|how|who|whose|which|any|{_AUXILIARY})\s(?:\w+\s)?(?:i|we|you|he|she|it|they|the|this|that|these|those|there|a|an|to|my|our|anyone|anybody|one|"
    r"is|are|do|does|did|can|should|would)|(?:when|where|whether|if)\s(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have)|(?:when|where) (?:i|you))\b(?!.*\.$)",
)
DOUBT = Mark(
    _words(
        "maybe|perhaps|might|possibly|probably|presumably|suppose|imagine|hypothetical\\w*|unsure|not sure|no idea|i wonder|wondering|what if|i guess|i suppose|i (?:don't|do not) know",
        "what do you think|your call|up to you|let me know|either way|we(?:'ll| will) see|for example if|just (?:an idea|thinking|curious)",
        "(?:haven't|hasn't|have not|has not|not yet|never|need to|have to|must|should|to be|yet to) (?:yet )?(?:be )?(?:decide|decided|agree|agreed)",
        "(?:once|if|until|unless|when|before) we(?:'ve| have)? (?:decide|agree|go with)",
    )
)
MOMENT = Mark(
    _words(
        "for now|right now|just now|this time|this once|just once|at the moment|for the moment|for today|not today|yet|tonight|in a minute|temporar\\w+|until i|before i|first, then",
        "(?:it|them|once) again|in this (?:pr|commit|session|change|branch|file|function|refactor)|never ?mind|as always|as usual",
    )
)
FAULT = Mark(
    _words(
        "returns?|returned|throws?|threw|raises|fails?|failed|failing|crash\\w*|broken|bugs?|exception|stack ?trace|hangs?|stuck|blurry|timed? out|weird|strange|not working",
        "doesn't|does not|didn't|isn't|wasn't|can't see|complain\\w*|reports?|reported|refuses|prints?|printed|seems?|looks? like|it (?:always|never)|i (?:see|get|got|saw|tried|ran)",
        "shows? (?:up|nothing|only|the|\\d+)|(?:never|not) (?:seen|had|heard)|(?:this|gives?|the) errors?|errors? (?:in|out|with|when|on|if|after|message)",
    )
)
TOLD = Mark(
    r"^\W*(?:it|this|that|which|the \w+(?: \w+)?|\w+\(\)) (?:uses|takes|shows|gives|has|gets|picks|sends|writes|calls|stores|sets|sorts|keeps|did|had|used)\b",
    r"\bthe (?:results?|outputs?|total|count|sum|response|page) (?:is|are)\b",
)  # it is told what is so, not what is to be
NARRATED = Mark(
    r"^\W*(?:ok,? |so |but |and |now |also )*i(?:'m| am|'ve| have)?\s(?:\w+ly |just |only |already |also )*(?:have|had|got|opened|need|use|work|installed|ran|changed|added|made|used|tried|took|did|put|"
    r"pushed|merged|wrote|moved|started|see|saw|found|noticed|updated|looking|trying|working|using|getting|seeing|on|in|at)\b",
    r"\b(?:you|he|she|they|someone|somebody|we) (?:just |already )?(?:changed|forgot|did|made|added|wrote|broke|removed|deleted|missed|touched|said|told|asked)\b",
    _words(
        "here(?:'s| is| are)|yesterday|since then|last (?:night|week|time)|in the middle of|(?:is|are) (?:done|red|green|ready|finished)|(?:this|the) (?:screenshot|image|picture|file|log|diff|pr)"
    ),
)  # what was done, or what somebody has before them
ASKING = Mark(
    r"^(?:look|check|find|show|explain|tell|list|print|describe|see|search|grep|read|(?:give|send|walk|get|show|tell) (?:me|us)|let me know|quote|recall|summari[sz]e)\b"
)
ERRAND = Mark(
    r"^(?:look|check|find|show|run|rerun|re-run|read|open|explain|tell|list|print|commit|push|pull|merge|rebase|deploy|trace|profile|bump|continue|carry on|go on|go ahead|"
    r"try|test|investigate|debug|review|search|grep|see|describe|summari[sz]e|draft|revert|undo|restart|start|stop|kill|set (?:a|the) breakpoint|install|upgrade|format|lint|help|let me|let's see|compare|measure|"
    r"benchmark|translate|shorten|again|next|wait|have a look|take a look|give me|figure out|work out|walk me|think|propose|suggest|come up|clean up|tidy|rewrite|fix|refactor)\b"
)
CHORE = Mark(
    r"^(?:add|create|implement|write|build|generate|make (?:a|an|the|sure|me|it)|rename|move|delete|remove|update|change|replace|swap|document|copy|extract|split|sort)\b"
)
SETTING = Mark(r"^(?:add|make|change|increase|raise|lower|reduce|extend|shrink|bump|cap|limit)\b")  # a chore that may set a value
DANGLING = Mark(
    r"\b(?:it|them|this|that|these|those|he|she|they|there|such|the (?:first|second|third|last|other|former|latter|same)(?: (?:one|option|way))?|option \w|one)\b"
    r"(?=\s*(?:[.,;:!?)]|$|(?:instead|again|way|always|never|to|in|into|with|from|for|as|is|was|were|are|has|had|have|must|should|on|by|at|and|but|or|before|after|then|too|now|up|off|out|"
    r"so|will|can)\b))"
)

# ---------------------------------------------------------------- what somebody else wrote

_LETTERS = "tickets?|e-?mails?|mails?|messages?|letters?|threads?|posts?|articles?|readme|reviews?|comments?|transcripts?|proposals?|reports?|texts?|documents?"
_OTHERS = rf"(?:{_LETTERS}|issues?|pages?|docs?|documentation)"
ANNOUNCING = (":", "this", "This", "following", "from", "From", "ere's", "ere’s", "ere is", "ere are", "ere comes")  # one of them stands in each of those
ANNOUNCED = Mark(
    rf"\bthis (?:\w+ )?(?:{_LETTERS})\b",
    r"\bthe following\b[^.!?]{0,60}[:.!?]?\s*$",
    rf"\bfrom (?:the|an?|this|his|her|their) (?:\w+ )?{_OTHERS}\b[^.!?]{{0,40}}:?\s*$",
    rf"\bhere(?:'s|’s| is| are| comes) (?:\w+ ){{0,3}}{_OTHERS}\b",
    rf"\b(?:{_OTHERS}|wrote|writes)\b[^.!?:]{{0,60}}:\s*$",
    r"^\W*(?:please )?(?:summari[sz]e|translate|answer|review|rewrite|shorten|proofread|explain|read)(?: \w+){0,3}:\s*$",
)
OTHERS_WORDS = Mark(rf"\b(?:{_OTHERS}|wrote|writes|says|pasted|quoted?)\b")  # where they are spoken of, nobody knows whose words are whose

# ---------------------------------------------------------------- what a correction names

_THING = r"[^,.;:!?()]{1,60}?"
_WRONG, _RIGHT = rf"(?P<wrong>{_THING})", rf"(?P<right>{_THING})"
_END = r"(?=\s*(?:[,.;:!?()]|$|\b(?:because|since|as|so|for|when|where|which|after all|from now on|please|now|here|everywhere|anymore|any more|last|this|yesterday|today|and|but|in|on)\b))"
_AT = r"(?:the |a |by |in |on |with |to )?"
_DO = "(?:use|take|make it|make|keep|put|store|call it|call|name|set|write|send|go with|pick|choose|have|want|say|it's|it is|is|are|be|by|with|on|in|to|through|via)"
_OVER = "wrong|outdated|out of date|obsolete|deprecated|gone|dead|stale|retired|no longer (?:used|valid|right|true)"
_FORGET = r"^\W*(?:no[,. ]+)?(?:forget|drop|scrap|scratch)\s+(?:about )?(?:the )?"
WRONG_AND_RIGHT = tuple(
    Mark(pattern + _END)
    for pattern in (
        rf"\b(?:use|using|take|want|need|prefer|make it|set (?:it )?to|with|on|to|keep|is|are|it's|have|call it|by)\s+(?:the )?{_RIGHT}(?:\s+now)?\s+(?:instead of|rather than|in place of)\s+(?:the )?{_WRONG}",
        rf"\b(?:prefer|chose|choose)\s+(?:the )?{_RIGHT}\s+(?:over|to)\s+(?:the )?{_WRONG}",
        rf"\b(?:instead of|rather than)\s+(?:the )?{_WRONG},?\s+(?:please\s+)?(?:we\s+)?(?:use|take|want|go with|call it|have)\s+(?:the )?{_RIGHT}",
        rf"(?:^\W*|[:;,]\s){_RIGHT}\s+instead of\s+(?:the )?{_WRONG}",
        rf"\b{_DO}\s+(?:the |a )?{_RIGHT},?\s+(?:and )?(?:not|never)\s+{_AT}{_WRONG}",
        rf"\bnot\s+{_AT}{_WRONG},?\s+but\s+(?:rather )?{_AT}{_RIGHT}",
        rf"\bnot\s+{_AT}{_WRONG}[,;:–—-]\s*(?:it|they|that|this|those)(?:'s|'re| is| are| goes?| lives?| uses?)\s+(?:now |stored |kept ){{0,2}}{_AT}{_RIGHT}",
        rf"^\W*(?:no,? )?not\s+{_AT}{_WRONG}[,;:–—-]\s*(?:the |our |all |we )?(?:\w+ ){{1,4}}?(?:is|are|goes?|lives?|runs?|uses?)\s+(?:now |stored |kept |called ){{0,2}}{_AT}{_RIGHT}",
        rf"^\W*(?:no,? )?not\s+{_AT}{_WRONG}[,;:–—-]\s*(?:use |it's |it is |but )?{_RIGHT}",
        rf"\b(?:moved?|moving|migrat\w+|switch\w*|chang\w+|renamed|upgrad\w+|went|going)\b(?:\s+\w+){{0,3}}?\s+(?:away )?from\s+{_WRONG}\s+(?:over )?to\s+{_RIGHT}",
        rf"\b(?:replaced?|replacing|swap|swapped)\s+(?:the )?{_WRONG}\s+(?:by|with|for)\s+{_RIGHT}",
        rf"^\W*(?:the |our )?{_WRONG}\s+(?:is|are|was|were)\s+(?:now |long )?(?:{_OVER})\b[^.;]{{0,30}}?[,;:.–—-]\s*"
        rf"(?:please )?(?:use|now|we use|the new one is|we're on|we are on|(?:it|they|the \w+)(?:'s| is| are| lives?))\s+(?:now )?{_RIGHT}",
        rf"\bwas\s+renamed\s+(?:from\s+{_WRONG}\s+)?to\s+{_RIGHT}",
        rf"{_FORGET}{_WRONG}[.,;:]\s*(?:we )?(?:use|take|go with|let's use)\s+(?:the )?{_RIGHT}",
    )
)
GONE = tuple(
    Mark(pattern)
    for pattern in (
        rf"\bno longer\s+(?:use|have|need|support|run|deploy to|want|on|with)\s+(?:the )?{_WRONG}{_END}",
        rf"\b(?:don't|do not|aren't|are not|not)\s+(?:use|using|run|running|on|have)\s+(?:the )?{_WRONG}\s+any ?more\b",
        rf"{_FORGET}{_WRONG}{_END}",
        rf"^\W*(?:the |our )?{_WRONG}\s+(?:is|are|gets?|will be)\s+(?:(?:no longer|not)\s+(?:used|supported|needed|in use)|(?:switched|turned|phased) (?:off|out)|going away|retired|dropped|removed)\b",
    )
)
OPPOSES = Mark(
    _words(
        "not|never|instead|rather|place of|over|prefer|from|replac\\w+|swap\\w*|forget|drop|scrap|scratch|longer|any ?more|wrong|outdated|out of date|obsolete|deprecated|gone|dead|stale|retired",
        "chose|choose|renamed|off|out|away|dropped|removed|isn't|aren't|don't",
    )
)  # a word that each of the patterns above has one of
AROUND = Mark(
    r"^(?:(?:it|them|all|only|just|the|a|an|our|by|on|in|to|with|from|through|via|as|for|at|called|named)\s+)+",
    r"\s+(?:instead|now|then|please|again|everywhere|only|anymore|too)$",
)
NOTHING = frozenset(
    "it that this them these those sure yet only working just much so really all always even a the what there one ones later before after ever again until too often sooner".split()
)

# ---------------------------------------------------------------- what is taken

CORRECTION = Mark(
    r"^(?:(?:no|nope|nah|wrong|not quite|stop)\b\s*[,.!:;–—-]+\s*"
    rf"(?!(?:wait|thanks|thank|leave|revert|undo|stop|{_NOT}|not now|i mean|just|sorry|never mind|problem|need|idea|that's (?:fine|ok|all)|it's (?:fine|ok))\b)\S"
    r"|actually\b,?\s+(?:it|the|we|our|they|that|use|this|those|its|it's|we're|we've|there|\w+ (?:is|are|uses?|lives|runs|was)\b)(?! (?:can|could|wait|do you|let's|first))"
    r"|(?:that's|that is|this is) (?:wrong|not right|not true|incorrect|outdated|not correct)\b\W+\w"
    r"|correction\s*:|scratch that\W+\w|change of plans?\W+\w|i (?:said|told you)\b.{3,}|forget (?:about )?the \w+)"
)
MOVED = Mark(
    r"\b(?:we|i|they|ops|the \w+(?: \w+)?|everything|all \w+)(?:'ve|'re| have| has| had| are| is| was| were)?\s+(?:now |just |already |all |since )*(?:been )?"
    r"(?:moved|migrated|switched|changed|renamed|upgraded|moving|migrating|switching|went)\b.{0,40}?\b(?:from .{1,60} )?(?:to|away from)\s+\S",
    r"\b(?:we|let's|let us|i)(?:'ll| will)? (?:now )?(?:switch|move|migrate|change over)(?: (?:over|everything|back))? to\s+\S",
    r"\bno longer (?:use|have|need|support|run|deploy)\b",
    r"\b(?:don't|do not) \w+ .{1,60} any ?more\b",
    r"\bis no longer (?:used|supported|needed)\b",
    r"\bis (?:now )?(?:outdated|obsolete|deprecated|retired)\b.{0,30}[,;:–—-]\s*(?:use|it's|it is|now|we use)\b",
)
DECISION = Mark(
    r"\b(?:we|i|they|the (?:team|board|client|customer|boss|group)|ops|management|everybody|everyone)(?:'ve| have| had| has)?\s+(?:now |all |just |finally |already |both )*"
    r"(?:decided|agreed|settled on|opted|chose|chosen|picked|voted|standardi[sz]ed on)\b(?! (?:not sure|whether|if))",
    r"^\W*(?:the |our |final |my )*(?:decisions?|decided|agreed|verdict)(?: is| of today| today)?\s*[:–—-]",
    r"\b(?:it's|it is|it has been|that's|was|has been) (?:decided|agreed|settled)\b",
    r"^(?:\w+, )?(?:decided|settled|agreed)[.!]?$",
    r"\blet(?:'s|s| us)\s+(?:just |better |rather |then )*(?:go (?:with|for)|use|take|stick (?:with|to)|adopt|switch to|move to|settle on|standardi[sz]e on|call (?:it|them|this|that|the)|"
    r"name (?:it|them|this|the)|store|host|base)\s(?!(?:a |another )?(?:look|break|step|moment|minute|closer|different approach)\b)",
    r"\b(?:we|i)(?:'ll| will|'re going to| are going to|'re| are| shall)\s+(?:now |just |then |all )*(?:use|go with|going with|stick (?:with|to)|sticking (?:with|to)|adopt|adopting|"
    r"standardi[sz]e on|standardi[sz]ing on|host)\s",
    r"\b(?:we|i) (?:go|went|stick|stay) (?:with|for)\s",
    r"^go (?:with|for) (?!it\b|that\b|this\b)",
    r"\b[\w.+#-]{2,} it is(?:,? then)?\s*[.!,;]",
    r"\b[\w.+#-]{3,} it is(?:,? then)?$",
)
NOT_A_DECISION = Mark(r"\blet(?:'s|s| us) (?:use|take)\b.*\b(?:to (?:see|check|find|debug|look|test|verify|figure|reproduce|understand))\b")
_BASE = (
    "(?:use|run|put|name|write|keep|add|call|store|commit|push|ask|check|make|do|include|prefer|start|end|format|import|return|test|wrap|log|pin|sort|validate|escape|quote|prefix|go|set|"
    "create|give|leave|document|read|trim|round|send|squash|rebase|update|begin|pass|mention|tell|answer|reply|respond)"
)
ALWAYS = Mark(
    r"^always\s+\w",
    rf"\b(?:we|you|please|must|should|shall|to|and|but|then|commits|they|is|are)\s+always\s+(?:be\s+)?(?:{_BASE}\b|\w+ed\b)",
    rf",\s*always\s+(?:{_BASE}|with|in|by|as|from|the)\b",
    r"\bin all cases\b",
)
NEVER = Mark(
    r"^never\s+(?!mind|heard|seen|knew|again$)\w",
    r"\b(?:we|you|please|must|should|shall|may|can|and|but|they|to)\s+never\s+(?:be\s+|ever\s+)?\w+(?<!seen)(?<!heard)",
    r",\s*never\s+\w+",
    rf"\b{_NOT}\s+(?:you\s+)?ever\s+\w",
    r"\bnever again\b",
    r"\bunder no circumstances\b",
)
NOT_A_RULE = Mark(
    r"\b(?:has|have|had|'ve|is|was|were|did|does|it|which|that)\s+never\b",
    r"\bi(?:'ve)? never\b",
    r"\b(?:it|which|this|that|he|she|function|test|tests|build|page|server|code|call|method|app)\s+(?:is\s+)?always\b",
    r"\b(?:almost|nearly) (?:never|always)\b",
    r"\bnot always\b",
    r"\b(?:never|always) (?:works?|worked|fails?|failed|returns?|gets?|got|happens?|happened|finish\w*|ends?|called|reached|executed|comes?|came)\b",
)
FROM_NOW = Mark(
    _words(
        "from now on(?:wards)?|from (?:today|here) on(?:wards)?|going forward|as of (?:now|today)|henceforth|for (?:all )?future (?:sessions|work|reference)"
    ),
    r"\bin (?:the )?future,",
)
_FORBIDDEN = "use|commit|push|mock|hardcode|hard-code|log|import|deploy|merge|rebase|squash|amend|force-push|store"
RULE = Mark(
    r"^\W*(?:(?:one|another|a|an|the|our|new|and|also|two|important|general|house|project|coding|team|more|last|first|naming|style)\s+){0,4}"
    r"(?:rules?|conventions?|polic(?:y|ies)|guidelines?|standards?)\b[^.:]{0,40}:\s*\S",
    r"\b(?:our|the|my|by|a)\s+(?:\w+\s+)?(?:convention|policy|rule|guideline|standard|style guide) (?:is|here is|says|demands|requires|forbids)\b",
    r"\bby convention\b|\bas a rule\b|\brule of thumb\b",
    r"\bmust (?:not|never|always|only)\b|\bmustn't\b|\bmay (?:not|never|only)\b",
    r"\b(?:nothing|nobody|no one|none of \w+|no \w+)(?: \w+){0,5}? (?:may|must|should|shall|can|leaves?|goes|is allowed|are allowed)\b",
    r"\b(?:is|are) (?:strictly )?(?:forbidden|prohibited|not allowed|mandatory|off[- ]limits|taboo|required (?:in|for|on|by))\b",
    rf"\b(?:we|you|please)\s+(?:{_NOT}|only|should not|shouldn't)\s+(?:{_FORBIDDEN}|edit|allow|add|write|touch|ship|support|accept)\b",
    rf"^{_NOT}\s+(?:{_FORBIDDEN})\b",
)
PREFERENCE = Mark(
    r"\b(?:i|we)(?:'d| would)?\s+(?:really |strongly |much |generally |usually |always )*prefer\b",
    r"\bi(?:'d| would) rather (?!not\b|you )|\bmy preference is\b|\bi'm used to\b|\bi want you to always\b",
    r"\bi (?:really |don't |do not )*(?:like|hate|love|can't stand|dislike) (?:it (?:when|if)|when|to (?:have|see|keep)|having|seeing|my |short|small|long|terse|explicit|plain|clean|simple)\b",
    r"\b(?:please )?(?:stop|quit|avoid) (?:adding|writing|using|saying|putting|creating|asking|explaining|apologi[sz]ing|committing|pushing|mocking|commenting|generating|summari[sz]ing|touching)\b",
    r"\bi (?:don't|do not|never) want (?:any|to see|you to)\b",
)
NOT_A_PREFERENCE = Mark(_words("i'd like (?:you )?to|i would like|would you prefer|if you prefer|as you prefer|whichever"))
GOTCHA = Mark(
    r"^(?:beware|careful|be careful|be aware|watch out|look out|caution|gotcha|pitfall|caveat|heads[- ]up|warning|attention|mind (?:the|that|you|your)|be warned|trap)\b[\s,:!–—-]*\S",
    r"\bwe (?:have )?(?:lost|wasted|burned|spent) (?:\w+ ){1,4}(?:days?|weeks?|hours?|months?|nights?|afternoon|weekend) (?:\w+ ){0,2}(?:on|with|over|because)\b",
    _words("don't be fooled|despite (?:its|the) name|(?:bit|bitten|burned|burnt) us|(?:beware|careful) (?:of|with|about|that)"),
)
REMEMBER = Mark(
    r"^(?:remember|keep in mind|bear in mind|note|fyi|for the record|for (?:later|next time)|(?:a )?note (?:for|to) (?:later|self|you|yourself|the future)|just so you know|so you know|"
    r"for your information|do remember)\b[\s,:–—-]*(?:that\b|for later\b|for next time\b)?[\s,:–—-]*\S",
    r"\b(?:please )?remember (?:that|this:)\s*\S",
    r"\bdon't forget that\b|\bremember for (?:later|next time|the future)\b",
)
NOT_REMEMBER = Mark(
    r"\b(?:i|you|we|they|he|she|can't|don't|do you|if i) remember\b(?! that)",
    _words("remember (?:when|how|me|the time|last)|notes? (?:down|app|field|column|table|page|in)|for later (?:use|processing)"),
)

# ---------------------------------------------------------------- what an answer must confirm

_UNIT = (
    "%|°|[kmgt]i?b(?:/s)?\\b|(?:ns|µs|us|ms|s|sec|secs|seconds?|min|mins|minutes?|h|hours?|hrs?|days?|weeks?|months?|years?|times|attempts?|retries|tries|bytes?|bits?|px|pixels?|pt|em|rem|"
    "m|metres?|meters?|cm|mm|km|percent|per cent|requests?|rows?|items?|entries|lines?|characters?|chars?|columns?|points?|digits?|workers?|threads?|connections?|replicas?|users?|missed|"
    "updates?|cores?|euros?|dollars?|cents?|tokens?|pages?|levels?|versions?|fps|hz|khz|mhz|db|degrees?|o'clock|am|pm|to \\d+)\\b"
)
_PERIOD = (
    "second|minute|hour|day|night|week|month|quarter|year|morning|evening|monday|tuesday|wednesday|thursday|friday|saturday|sunday|request|update|user|use|file"
)
QUANTITY = Mark(
    rf"(?<![\w.,])\d[\d.,_]{{0,20}}\s?(?:{_UNIT})",
    r"\b(?:port|qos|version|level|priority|ratio|limit|timeout|ttl|size|step|every|after|below|above|under|over|within|least|most|than|to|be|=|is|between|from)\s+\d[\d.,:]{0,20}\b",
    rf"\b(?:once|twice|every|each|per|a) (?:{_PERIOD})\b",
)
NORM = Mark(
    _words(
        "must|shall|should|have to|has to|had to|needs? to be|need to|only|never|always|by default|default|instead|at (?:most|least)|no more than|up to|may not|unless|except|as long as",
        "not (?:above|below|before|after|more|less|later|by|in|on|the)|but not|nothing|nobody|may|keeps?|kept|stays?|expires?|counts? as|allowed|required?|forever|without|one per|per \\w+|until|then",
        "no \\w+ please",
    )
)
CHOICE = Mark(
    r"^(?:we |i )?(?:use|take|pick|choose|switch to|do it with|go|put|store|keep|set|raise|lower|make it|call|name|drop|allow|cut|replace|swap|cap|limit|send|round|pin|deduplicate|"
    r"reject|accept|hash|sign|encrypt|park|return|hold|wait|retry|serve|listen|bind|mount|mark|prefix|treat|map|split|sort|group|cache|deny|block|log|write|ignore|skip|let)\b",
    r"^\W*[\w.+#-]+(?: \w+)? then\b",
    r"\b(?:we|they) (?:follow|use|need|want|run|keep|go|switch|take|store|only|allow|support)\b",
    r"\b(?:is|are|be) (?:called|named|at|in|on|by|from|with|split|stored|kept|sent|signed)\b",
    r"^\W*i think \d|\bi want (?!you\b|to\b)",
    r"\b(?:name|flag|value|header|key|bucket|port|magic|cursor|format|unit|units|colour|color|field|path|prefix|topic|table|folder|queue|branch|region|version)\b(?: \w+){0,3} (?:is|are|=)\b",
    r"^\W*\w+(?: \w+){0,3}:\s",
)
FIRM = Mark(
    _words(
        "must|shall|has to|have to|never|always|only|by default|at most|at least|may not|forbidden|from now on|everywhere|throughout|in every|for every|for each"
    ),
    r"^(?:every|each|all|any|no|new|both)\s(?:\w+\s){1,5}?(?:is|are|has|have|gets?|goes|go|needs?|lives?|live|carry|carries|starts?|ends?|comes?|should|may|can|belongs?|takes?|stays?|"
    r"without|in|outside)\b",
)
DECLARES = Mark(
    _words(
        "is|are|has|have|needs?|belongs? to|owns?|comes? (?:from|in|with|as)|runs? (?:on|in|at|as|with)|sits? (?:in|on|behind)|lives? (?:in|on|at|under)|sends?|speaks?|expects?|delivers?",
        "accepts?|counts?|(?:starts?|ends?) (?:at|in|with)|works? (?:with|on|only)|means?|stands for|goes? (?:to|through|by|into)|listens?|reads?|writes?|gets?|wants?|calls?|refers? to",
        "contains?|lacks?|knows?|stops?|allows?",
    )
)
NEGATED = Mark(_words("no|not|never|none|nothing|nobody|without|stop|avoid|forbidden|\\w+n't"))
PARTS = re.compile(r"[/:=()<>]+")  # what an address or a path is taken apart at

# ---------------------------------------------------------------- what an agent found out

FINDING = Mark(
    r"\b(?:the )?(?:root|real|actual|underlying|true) (?:cause|problem|issue|reason|culprit|bug|error)\s*(?:was|is|turned out|:|lies|lay)",
    r"\broot cause\b\s*[:–—-]",
    r"\bthe (?:cause|culprit|reason)(?: of [^.,;]{1,60}| for [^.,;]{1,60})? (?:was|is)\b",
    r"\b(?:it |this |that |which )?turn(?:s|ed) out (?:that|to be|to)\b|\bit turns out\b",
    r"\b(?:this|that|it) (?:happens|happened|failed|fails|broke|breaks) because\b|\b(?:was|were) (?:failing|broken|slow|killed|rejected|lost) because\b",
    r"\b(?:was|were|is|are) caused by\b|\bcomes? down to\b|\bthe (?:fix|solution) was to\b",
)
UNSURE = Mark(
    _words(
        "maybe|perhaps|might|may be|could be|likely|probably|possibly|suspect|seems?|appears?|i think|i believe|i guess|not sure|unclear|whether|hypothes\\w+|let me|i'll|i will|let's|need to",
        "to find|to see|should|would",
    ),
    r"\?$",
)
CODE = re.compile(
    r"^\W*(?P<code>[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)*[_-]?\d[\w-]*|[A-Z]{2,}(?:_[A-Z0-9]+)+|E[A-Z]{3,}) (?:is|means|stands for|comes from|came from|says|signals|was|happens|occurs)\b"
)
