"""What the user agreed to when they turned the background digest on: by which way and which program its requests go.

A session's environment has what its project sets too, and a digest reads what was said in all projects. So of the variables that decide
about that, only those count that the user's own settings of Claude Code state, or that were the same in the terminal where the user said
`tenon digest auto on`. Of these a salted hash is kept, and no value but PATH's, with which the background then runs.
"""

from __future__ import annotations

import hashlib
import json
import os

from tenon.base import paths, settings
from tenon.base.errors import TenonError
from tenon.world import base_url, dial, direct

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenon.base.settings import Settings

NAME = "digest-agreed.json"
UNKNOWN = "it is not on record by which program and which way its requests may go; `tenon digest auto on`, in a terminal of your own, records it"
# Whose settings are read: no settings can vouch for these.
WHOSE = ("HOME", "USERPROFILE", "CLAUDE_CONFIG_DIR")
CREDENTIALS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
# Without these a request would go another way than the user's: a background that has others does not run.
WAYS = (
    *WHOSE, "TENON_UPSTREAM", "TENON_CLAUDE", "CLAUDE_CODE_GIT_BASH_PATH", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
    "NODE_EXTRA_CA_CERTS", "NODE_TLS_REJECT_UNAUTHORIZED", "REQUESTS_CA_BUNDLE",
)  # fmt: skip
WAY_PREFIXES = (
    "ANTHROPIC_", "SSL_", "CLAUDE_CODE_USE_", "CLAUDE_CODE_SKIP_", "CLAUDE_CODE_CLIENT_", "CLAUDE_CODE_CERT_", "CLAUDE_CODE_PROXY_", "CLAUDE_CODE_HTTP",
    "CLAUDE_CODE_CUSTOM_OAUTH_", "CLAUDE_CODE_API_KEY_",
)  # fmt: skip
CLOUD = "CLAUDE_CODE_USE_"
CLOUD_PREFIXES = ("AWS_", "GOOGLE_", "CLOUD_ML_", "CLOUDSDK_", "GCLOUD_", "VERTEX_", "AZURE_")
# Without these it goes the same way: they are left out.
INSIDE = ("BASH_ENV", "ENV", "SSLKEYLOGFILE", "CLAUDE_CODE_EXECPATH")
INSIDE_PREFIXES = ("NODE_", "BUN_", "LD_", "DYLD_", "OPENSSL_")
CHOICES = ("ANTHROPIC_BETAS", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_LOG", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_EXTRA_BODY")
NAMED = 3  # variables in a sentence


class Agreement:
    """The variables agreed to, as hashes, and the PATH."""

    __slots__ = ("salt", "variables", "path")

    def __init__(self, salt: str, variables: Mapping[str, object], path: str) -> None:
        self.salt = salt
        self.variables = variables
        self.path = path

    def has(self, name: str, value: str) -> bool:
        """Whether the variable was agreed to with this value."""
        return self.variables.get(name) == _hashed(self.salt, name, value)


def record(env: Mapping[str, str]) -> list[str]:
    """Keeps that the user agrees to what this environment says; the names of the variables, without those that tell whose it is. Raises TenonError."""
    salt = os.urandom(16).hex()
    names = sorted(name for name, value in env.items() if value and _counts(name))
    held = {"salt": salt, "path": env.get("PATH", ""), "variables": {name: _hashed(salt, name, env[name]) for name in names}}
    paths.make_private(paths.home())
    path = _path()
    new = f"{path}.{os.getpid()}.new"
    try:
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump(held, file, indent=2)
        os.replace(new, path)
    except OSError as error:
        raise TenonError(f"{path} cannot be written ({error.strerror}); check the permissions of its folder") from error
    return [name for name in names if name.upper() not in WHOSE]


def load() -> Agreement | None:
    """What was agreed to, None when nothing is on record, or others than the user can read or write the record."""
    try:
        with open(_path(), encoding="utf-8") as file:
            state = os.fstat(file.fileno())
            if os.name == "posix" and (state.st_uid != os.getuid() or state.st_mode & 0o077):  # a file out of a repository is never the owner's alone
                return None
            found = json.load(file)
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or not isinstance(found.get("variables"), dict) or not isinstance(found.get("path"), str):
        return None
    return Agreement(str(found.get("salt")), found["variables"], found["path"])


def doubt(chosen: Settings, env: Mapping[str, str]) -> str:
    """Why a digest must not run in this environment, with the way out, «» when it may. Raises TenonError for settings that name no upstream."""
    if chosen.text("digest.runner") == "ollama" and settings.is_own(chosen.text("embed.url")):
        return ""
    held = load()
    if held is None:
        return UNKNOWN
    own = direct.own_variables()
    names = sorted(name for name, value in env.items() if value and _is_way(name, env, own) and not _stated(name, value, held, own))
    if dial.VARIABLE in names and (direct.is_named(chosen) or direct.is_ours(env[dial.VARIABLE], chosen)):
        names.remove(dial.VARIABLE)  # requests go past it
    if not names and not _goes_home(direct.address(chosen, env), chosen, held, own):
        names = [dial.VARIABLE]
    if not names:
        return ""
    told = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")
    return (
        f"{told}: set in the session, maybe by its project, and not as you agreed to. `tenon digest auto on`, in a terminal of your own, "
        "agrees to what is set there; `tenon config upstream URL` names an address"
    )


def trusted(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without what nobody agreed to, and with the PATH that was; for one that is not in doubt."""
    held, own = load(), direct.own_variables()
    if held is None:
        return dict(env)
    kept = {name: value for name, value in env.items() if not _is_aside(name) or _stated(name, value, held, own)}
    return {**kept, "PATH": held.path}


def choosing(name: str, value: str) -> bool:
    """Whether the variable chooses a model or adds to requests, and neither the user's own settings nor what they agreed to have it with that value."""
    if not _is_choice(name.upper()):
        return False
    held, own = load(), direct.own_variables()
    return own.get(name) != value and (held is None or not held.has(name, value))


def _path() -> str:
    return os.path.join(paths.home(), NAME)


def _hashed(salt: str, name: str, value: str) -> str:
    return hashlib.sha256(f"{salt}\0{name}\0{value}".encode("utf-8", "surrogateescape")).hexdigest()


def _stated(name: str, value: str, held: Agreement, own: Mapping[str, str]) -> bool:
    return held.has(name, value) or (own.get(name) == value and name.upper() not in WHOSE)


def _goes_home(url: str, chosen: Settings, held: Agreement, own: Mapping[str, str]) -> bool:
    """Whether the user said themselves that requests go to this address."""
    switch = base_url.load()
    return url in (dial.DEFAULT, chosen.text("upstream").strip(), own.get(dial.VARIABLE), switch.upstream if switch else "") or held.has(dial.VARIABLE, url)


def _counts(name: str) -> bool:
    return _is_way(name, {CLOUD: "1"}, {}) or _is_aside(name)


def _is_way(name: str, env: Mapping[str, str], own: Mapping[str, str]) -> bool:
    """Whether the variable decides where requests go, by which program, through whom or whom they believe; a cloud's do where one is used."""
    name = name.upper()
    if name in CREDENTIALS or _is_choice(name):
        return False
    if name in WAYS or name.startswith(WAY_PREFIXES):
        return True
    return name.startswith(CLOUD_PREFIXES) and any(other.upper().startswith(CLOUD) and value for held in (env, own) for other, value in held.items())


def _is_aside(name: str) -> bool:
    name = name.upper()
    return name not in WAYS and (_is_choice(name) or name in INSIDE or name.startswith(INSIDE_PREFIXES))


def _is_choice(name: str) -> bool:
    return name in CHOICES or (name.startswith("ANTHROPIC_") and "MODEL" in name) or name.startswith("ANTHROPIC_DEFAULT_")
