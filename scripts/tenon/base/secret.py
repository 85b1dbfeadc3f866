"""What a secret looks like: whether a name says that it holds one, and whether a value is one.

Nothing here looks at the text around; `redact` finds the names and the values.
"""

from __future__ import annotations

import re
from functools import lru_cache

# A longer value is judged by its beginning.
LONG = 100

_WORD = re.compile(r"[A-Z]{1,120}(?![a-z])|[A-Z]?[a-z]{1,120}")
# A name that ends in one of these tells about a secret and does not hold it.
_ABOUT = frozenset(
    "name names type types id ids url uri file files path paths field fields length len count size limit policy label hint expiry expires "
    "expiration expire ttl at age env var algorithm alg method mode provider endpoint header headers prefix suffix regex pattern "
    "format index num number min max budget usage required enabled strength placeholder title description message error store manager "
    "service class arn version rotation days hours minutes seconds input column table row form page view button link route state status "
    "kind rule rules validator dir host port username domain realm callback source word words board code space sha digest "
    "fingerprint checksum ref template reader parser stream estimate total".split()
)
_KEYS = frozenset(
    "api access private secret encryption signing sign account master app auth consumer webhook service license session ssh deploy client "
    "shared storage subscription aws admin root crypto cipher hmac jwt".split()
)
_GLUED = ("apikey", "secretkey", "accesskey", "privatekey", "accountkey", "authkey", "masterkey")


@lru_cache(maxsize=4096)
def strength(name: str) -> int:
    """How surely a name holds a secret: 3 a password, 2 a key, secret or token, 1 perhaps, 0 not."""
    words = [word.lower() for word in _WORD.findall(name[-120:])]
    if not words or words[-1] in _ABOUT:
        return 0
    if any("passw" in word or "passphrase" in word or "passcode" in word for word in words) or words[-1].endswith("pwd"):
        return 3
    if "pwd" in words or words[-1] in ("dbpass", "userpass", "rootpass", "smtppass") or ("pass" in words and len(words) > 1):
        return 3
    if words[-1] in ("pw", "dbpw", "userpw", "rootpw") or any("contrase" in word for word in words):
        return 3
    if words[-1] == "passe" and words[:-1] == ["mot", "de"]:
        return 3
    if any(word.endswith(("token", "secret", "apikey", "authorization")) or word in ("credential", "credentials") for word in words):
        return 2
    if any(word.endswith(_GLUED) for word in words) or any(a in _KEYS and b == "key" for a, b in zip(words, words[1:])):
        return 2
    return 1 if any(word in ("auth", "tokens", "secrets", "pass") for word in words) else 0


def kind_of(name: str) -> str:
    """The kind of secret that a name holds: password, token, secret, key or credential."""
    low = name.lower()
    if strength(name) == 3:
        return "password"
    return next((kind for kind in ("token", "secret", "key", "credential") if kind in low), "secret")


def is_shaped(value: str) -> bool:
    """Whether a value has the variety of a key, which «xxxxxxxx» and «your-key-here» have not."""
    mixed = any(map(str.isdigit, value)) or (value != value.lower() and value != value.upper())
    return mixed and len(set(value)) >= 8


def is_entropic(value: str) -> bool:
    """Whether a value without a telling name is random enough to be a key: three classes, often alternating."""
    if value[0] in "/-." or not is_random(value, 20) or value == value.lower() or value == value.upper():
        return False
    kinds = ["d" if char.isdigit() else "u" if char.isupper() else "l" if char.islower() else "" for char in value]
    changes = sum(1 for one, two in zip(kinds, kinds[1:]) if one != two and one and two)
    return changes * 4 >= len(value) and value.count("/") * 8 < len(value) and value.count(".") <= 2


_EXPRESSION = re.compile(
    r"[$%{(\[|@](?=[\w{(\s%:]|\Z)|&[a-z*]|[!*&][A-Za-z]{3,20}\Z|0x[0-9a-fA-F]{1,200}\Z|\d[\d.,_]{0,40}(?:ms|[smhd]|[kmgKMG]i?[bB]?|px|%|[LUf]{1,2})\Z"
)
_CALL = re.compile(r"([A-Za-z_][\w.:]{2,200}(?:->\w{1,60})?)[(\[{]")
# «pw[:-1]»: a name shorter than a call is told by.
_ITEM = re.compile(r"[A-Za-z_]\w?\[[\w:-]{0,40}\]?\Z", re.ASCII)
_REFERENCE = re.compile(r"[A-Z]{1,40}(?:_[A-Z]{1,40}){1,12}|[A-Za-z_]{1,60}(?:\.[A-Za-z_]{1,60}){1,12}")
_DOTTED_NAME = re.compile(r"[A-Za-z_]\w{0,60}(?:(?:\.|->|::)[A-Za-z_]\w{0,60}){1,12}", re.ASCII)
_TEMPLATE = re.compile(
    r"(?i)\$\{|\{\{|\$\(\w|%\(\w|(?:\A|\W)%[sdvr](?!\w)|\{[a-z_][\w.!:\[\]'\"()]{0,80}\}|\{\}|\A\$[a-z_]\w{0,80}\Z|\A<[^<>]{1,80}>?\Z|\A<[a-z_ -]{1,40}>|\[[^\]]{0,40}(?:a-z|0-9|a-f)"
    r"|\*\*\*|\.\.\.|…|\A%\w{2,60}%\Z|\[redacted"
)
STEM = re.compile(r"passw|passphrase|secret|token|key|credential|auth|pwd")
_TECHNICAL = re.compile(
    r"(?i)sha-?\d{1,3}|md[45]|b(?:16|32|64|85)|base-?(?:16|32|58|64)|utf-?(?:8|16|32)|oauth-?[12]?|x509|ipv[46]|ed25519|secp\d{3}\w\d|[rhep]s(?:256|384|512)|aes-?\d{3}"
    r"|(?:string|varchar|char|text|u?int|float|bytes?|word)\d{1,4}|pkcs-?\d{1,2}|argon2\w?|pbkdf2|http2?|s3|k8s|i18n|v\d{1,2}\b"
    r"|\d{1,4}-?(?:char|byte|bit|day|hour|min|sec|digit|word|step|factor|token)\w{0,6}"
)
_PIECE = re.compile(r"[A-Za-z][a-z]{0,60}\d{0,2}|[A-Z]{1,60}\d{0,2}|\d{1,2}")
_SYMBOL = re.compile(r"[^\w\s./:>-]")
_SPLIT = re.compile(r"[^A-Za-z0-9]{1,9}|(?<=[a-z])(?=[A-Z])")
_PLACEHOLDERS = frozenset(
    "none null nil undefined true false yes no on off str string bytes int integer number bool boolean any object text unknown void "
    "changeme change_me change-me example placeholder password passwd pass pwd passphrase secret token key apikey test testing dummy "
    "fake mock default required optional enabled disabled hidden redacted masked todo tbd fixme here value values foo bar baz abc "
    "user username name email basic bearer digest oauth oauth2 jwt include omit same-origin keyword comment self this invalid "
    "incorrect wrong missing empty unset n/a na auto env environment stdin file prompt ask kennwort passwort xxx abc123 your".split()
)
_POLITE = re.compile(
    r"(?:your|my|the|some|test|fake|dummy|example|sample|placeholder|insert|enter|replace|change|invalid|wrong|mock|x{3})"
    r"(?:me|it|this|key|secret|token|value)?(?:[-_ .]{1,3}[a-z]{1,24}){0,8}[-_ .]?\d{0,3}"
)
_LABELS = re.compile(r"(?:(?:api|access|secret|private|public|client|auth|refresh|id|the|new|old|password|token|key|here)[-_. ]?){1,6}")


def is_placeholder(value: str) -> bool:
    """Whether a value only stands where a secret would: a template, a mask, a dictionary word."""
    low = value[:LONG].lower()
    if low in _PLACEHOLDERS or len(set(low)) <= 2 or not any(map(str.isalnum, low)):
        return True
    if len(value) > LONG:
        return low.startswith(("${", "{{", "[redacted"))
    return any(pattern is not None for pattern in (_TEMPLATE.search(low), _POLITE.fullmatch(low), _LABELS.fullmatch(low)))


def is_expression(value: str, setting: bool) -> bool:
    """Whether an unquoted value is code that yields a secret; in a setting (NAME=value) a name is taken for text."""
    call = _CALL.match(value)
    if call is not None and (not setting or is_wordy(_TECHNICAL.sub("", call.group(1)))):
        return True
    if not any(map(str.isdigit, value)) and _REFERENCE.fullmatch(value):
        return True
    if not setting and _DOTTED_NAME.fullmatch(value) and STEM.search(value[:LONG].lower()):
        return True
    return _EXPRESSION.match(value) is not None or (not setting and _ITEM.match(value) is not None)


def is_wordy(value: str) -> bool:
    """Whether a value is made of words, as identifiers are; a word may end in two digits."""
    return _SYMBOL.search(value) is None and all(not piece or _PIECE.fullmatch(piece) for piece in _SPLIT.split(value))


def is_path(value: str) -> bool:
    """Whether a value is the path of a file, or the address of a page, and not a key that has slashes in it."""
    if "://" in value:
        return value.count("/") > 1
    if not re.match(r"~?/|\.{1,2}/|[A-Za-z]:[\\/]|[\w-]{1,40}/.{0,200}\.[a-z]{2,5}\Z", value):
        return False
    return all(len(piece) <= 32 and not _entropic_piece(piece) for piece in re.split(r"[\\/]", value)) and "=" not in value


def _entropic_piece(piece: str) -> bool:
    return len(piece) > 16 and any(map(str.isdigit, piece)) and piece != piece.lower() and not is_wordy(piece)


def is_random(value: str, least: int, ended: bool = False) -> bool:
    """Whether a value looks made up by a generator or to a password rule, not written as a word or an identifier.

    With ended, a word that merely ends in digits counts too, as in «my password is hunter22».
    """
    if len(value) < least:
        return False
    plain = value[:64]
    if any(map(str.isdigit, plain)):
        plain = _TECHNICAL.sub("", plain)
    letters = any(map(str.isalpha, plain))
    if letters and any(map(str.isdigit, plain)):
        return not is_wordy(plain) or ended and not STEM.search(value[:LONG].lower())
    if letters and ended and re.search(r"[!@#$%^&*?~+=]\S", plain):
        return not re.search(r"[(){}\[\]]|[=+*&|]{2}", plain)
    return len(plain) >= 20 and plain != plain.lower() and plain != plain.upper() and plain.isalnum() and _tangled(plain)


_NAMELIKE = re.compile(r"(?:\w{0,40}_)?(?:pw|pass)\d{0,2}|[a-z]\w{0,40}P(?:w|ass)\d{0,2}|[A-Z]\w{0,40}(?:Str|String|Bytes|Field|Input|Type|Column)", re.ASCII)


def is_chosen(value: str) -> bool:
    """Whether what follows «password=» without quotes is a password: no lower-case word, no name of another secret, no type."""
    if len(value) < 4 or value[0] in "\\.<>|/)]}" or "|" in value or value.endswith("\\"):
        return False
    digits = any(map(str.isdigit, value))
    if not value[0].isalnum() and not (digits and any(map(str.isalpha, value))):
        return False
    if is_wordy(value) and (STEM.search(value[:LONG].lower()) or _NAMELIKE.fullmatch(value)):
        return False
    return digits or value != value.lower() or re.search(r"[^\w\s]", value) is not None


def _tangled(value: str) -> bool:
    """Whether capitals fall as in random letters: camel case has words of four letters or so between them."""
    return sum(1 for one, two in zip(value, value[1:]) if one.islower() != two.islower()) * 2.5 >= len(value)
