"""Ollama, where the user runs it: embeddings of texts, and which models it has; every answer that is not as it must be is an error with a sentence.

Nothing is ever pulled, no proxy of the environment is asked, and no call takes longer than its limit: it runs in a
thread of its own, whose connection is shut when the time is over, wherever it waits then. A `guarded` call sends nothing
before it knows that the program at the other end is this user's, root's or Ollama's own.
"""

from __future__ import annotations

import base64
import http.client
import json
import math
import socket
import threading
from urllib.parse import unquote, urlsplit

from tenon import __version__
from tenon.base.errors import TenonError
from tenon.base.text import clean, cut
from tenon.world import peer
from tenon.world.call import Abandoned, Call

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LARGEST_BYTES = 32 << 20  # of an answer: 16 texts of 4,096 dimensions are 1.5 MB
LARGEST_DIMS = 16_384
LONGEST_TEXT = 8000  # characters; what is longer no model of this kind reads to its end
SERVICE = "ollama"  # the user as whom its own installer has it run
KEEP_ALIVE = "30m"  # how long the model stays loaded after a request; Ollama's own 5 minutes are shorter than a thought
AGREE = "where you know that it is your Ollama, `tenon config embed.ollama on` says so"
# What a family of models wants in front of a text that is kept, and of a question: by the models' own cards.
PREFIXES = (
    ("qwen3-embedding", "", "Instruct: Given a question, retrieve what was said or noted earlier that answers it\nQuery:"),
    ("nomic-embed-text", "search_document: ", "search_query: "),
    ("embeddinggemma", "title: none | text: ", "task: search result | query: "),
    ("mxbai-embed-large", "", "Represent this sentence for searching relevant passages: "),
    ("snowflake-arctic-embed", "", "Represent this sentence for searching relevant passages: "),
)


class Unavailable(TenonError):
    """No embeddings now.

    `kind` says why: away (nobody answers), slow, missing (the model), wrong (an answer that is none), foreign (another user's
    program answers there), unknown (whose it is cannot be told). `status` and `told` are the answer's own, for a caller who
    must not repeat what it says; 0 and «» where there was none.
    """

    def __init__(self, kind: str, said: str, status: int = 0, told: str = "") -> None:
        super().__init__(said)
        self.kind = kind
        self.status = status
        self.told = told


def embed(url: str, model: str, texts: Sequence[str], timeout_s: float, *, guarded: bool = True) -> list[list[float]]:
    """The vectors of the texts as the model gives them, in their order, all of one size. Raises Unavailable and nothing else."""
    if not texts:
        return []
    body = {"model": model, "input": [clean(text)[:LONGEST_TEXT] for text in texts], "truncate": True, "keep_alive": KEEP_ALIVE}
    found = exchange(url, "POST", "/api/embed", body, timeout_s, guarded=guarded, model=model)
    vectors = found.get("embeddings")
    if not isinstance(vectors, list) or len(vectors) != len(texts):
        many = f"{len(vectors)} vectors" if isinstance(vectors, list) else "no list of vectors"
        raise Unavailable("wrong", f"{shown(url)} answered {len(texts)} texts with {many}")
    checked = [_vector(vector, url, model) for vector in vectors]
    if len({len(vector) for vector in checked}) != 1:
        raise Unavailable("wrong", f"{model} at {shown(url)} gave vectors of different sizes in one answer")
    return checked


def kept(url: str, model: str, texts: Sequence[str], timeout_s: float, *, guarded: bool = True) -> list[list[float]]:
    """The vectors of texts that are kept, with what the model wants in front of such."""
    return embed(url, model, [_prefixes(model)[0] + text for text in texts], timeout_s, guarded=guarded)


def asked(url: str, model: str, texts: Sequence[str], timeout_s: float, *, guarded: bool = True) -> list[list[float]]:
    """The vectors of questions, with what the model wants in front of such."""
    return embed(url, model, [_prefixes(model)[1] + text for text in texts], timeout_s, guarded=guarded)


def query(url: str, model: str, text: str, timeout_s: float = 0.15, *, guarded: bool = True) -> list[float]:
    """The vector of one question."""
    return asked(url, model, [text], timeout_s, guarded=guarded)[0]


def tells_apart(model: str) -> bool:
    """Whether a question has another vector than the same text where it is kept."""
    kept, asked = _prefixes(model)
    return kept != asked


def version(url: str, timeout_s: float, *, guarded: bool = True) -> str:
    """The version that Ollama says it has. Raises Unavailable."""
    return cut(str(exchange(url, "GET", "/api/version", None, timeout_s, guarded=guarded).get("version") or "of no version"), 40)


def models(url: str, timeout_s: float, *, guarded: bool = True) -> dict[str, str]:
    """The models that are there, by their full names, each with its digest, which is another when the name stands for another file. Raises Unavailable."""
    listed = exchange(url, "GET", "/api/tags", None, timeout_s, guarded=guarded).get("models")
    if not isinstance(listed, list):
        raise Unavailable("wrong", f"{shown(url)} answers, and not as Ollama does: it lists no models")
    return {str(entry.get("name") or entry.get("model") or ""): str(entry.get("digest") or "") for entry in listed if isinstance(entry, dict)}


def is_local(url: str) -> bool:
    """Whether the address is this machine's own, so that what is sent there stays here."""
    try:
        host = (urlsplit(url.strip()).hostname or "").lower()
    except ValueError:
        return False
    if host in ("localhost", "::1"):
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isdigit() and int(part) < 256 for part in parts)


def shown(url: str) -> str:
    """The address without a name and password that may be in it."""
    scheme, mark, rest = url.strip().partition("://")
    place, slash, path = rest.partition("/")
    return cut(scheme + mark + ("***@" if "@" in place else "") + place.rpartition("@")[2] + slash + path, 200).rstrip("/")


def _prefixes(model: str) -> tuple[str, str]:
    name = model.lower().rpartition("/")[2]
    return next(((kept, asked) for family, kept, asked in PREFIXES if name.startswith(family)), ("", ""))


def _vector(given: object, url: str, model: str) -> list[float]:
    if not isinstance(given, list) or not 1 <= len(given) <= LARGEST_DIMS:
        size = f"of {len(given)} numbers" if isinstance(given, list) else "that is no list"
        raise Unavailable("wrong", f"{model} at {shown(url)} gave a vector {size}")
    try:
        # A number that is none (NaN, a text, true) would spoil every comparison with it.
        values = [float(value) if type(value) in (float, int) else math.nan for value in given]
    except OverflowError:
        values = [math.inf]
    if not all(map(math.isfinite, values)):
        raise Unavailable("wrong", f"{model} at {shown(url)} gave a vector with something in it that is no number")
    return values


def exchange(url: str, method: str, path: str, body: object, timeout_s: float, *, guarded: bool, model: str = "") -> dict[str, object]:
    """The JSON object that is answered within the limit. Raises Unavailable and nothing else."""
    call, answer = Call(), _Answer()
    thread = threading.Thread(target=answer.fetch, args=(call, url, method, path, body, timeout_s, guarded), daemon=True)
    thread.start()
    thread.join(timeout_s)
    if thread.is_alive():
        call.abandon()
        raise _slow(url, timeout_s)
    if answer.failed is not None:
        raise answer.failed
    return _understood(url, path, model, answer.status, answer.data)


class _Answer:
    """What a thread brought back: a status with its bytes, or why there is none."""

    __slots__ = ("status", "data", "failed")

    def __init__(self) -> None:
        self.status = 0
        self.data = b""
        self.failed: Unavailable | None = None

    def fetch(self, call: Call, url: str, method: str, path: str, body: object, timeout_s: float, guarded: bool) -> None:
        """Asks, and keeps what came; never raises."""
        try:
            self.status, self.data = _exchanged(call, url, method, path, body, timeout_s, guarded)
        except Unavailable as error:
            self.failed = error
        except (socket.timeout, Abandoned):  # up to Python 3.9 that is no TimeoutError
            self.failed = _slow(url, timeout_s)
        except ConnectionRefusedError:
            self.failed = Unavailable("away", f"nobody answers at {shown(url)}")
        except (OSError, http.client.HTTPException) as error:
            kind = "away" if isinstance(error, OSError) else "wrong"
            self.failed = Unavailable(kind, f"{shown(url)} gave no whole answer ({type(error).__name__})")
        except Exception as error:  # noqa: BLE001 - whatever another program's answer does to a parser, it is an answer that is none
            self.failed = Unavailable("wrong", f"{shown(url)} cannot be asked ({type(error).__name__})")


def _slow(url: str, timeout_s: float) -> Unavailable:
    return Unavailable("slow", f"{shown(url)} did not answer within {timeout_s:g} s")


def _exchanged(call: Call, url: str, method: str, path: str, body: object, timeout_s: float, guarded: bool) -> tuple[int, bytes]:
    try:
        parts = urlsplit(url.strip())
        host, port, name = parts.hostname or "", parts.port, parts.username
    except ValueError:
        host, port, name = "", None, None
    if not host or parts.scheme not in ("http", "https"):
        raise Unavailable("wrong", f"{shown(url)} is no address; embed.url is one like http://127.0.0.1:11434")
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(host, port, timeout=timeout_s)
    headers = {"Accept": "application/json", "User-Agent": f"tenon/{__version__}", "Connection": "close"}
    if name is not None:
        pair = unquote(name) + ":" + unquote(parts.password or "")
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    data = None if body is None else json.dumps(body).encode("ascii")
    if data is not None:
        headers["Content-Type"] = "application/json"
    try:
        connection.connect()
        call.hold(connection.sock)
        if guarded:
            _trusted(connection.sock, url)
        connection.request(method, parts.path.rstrip("/") + path, data, headers)
        response = connection.getresponse()
        if response.length is not None and response.length > LARGEST_BYTES:
            raise _huge(url)
        read = response.read(LARGEST_BYTES + 1)
        if len(read) > LARGEST_BYTES:
            raise _huge(url)
        if response.length:  # fewer bytes than it said
            raise http.client.IncompleteRead(read)
        return response.status, read
    finally:
        connection.close()


def _trusted(connection: socket.socket, url: str) -> None:
    """Raises Unavailable unless the program that listens there may have the user's texts."""
    found = peer.is_trusted(connection, SERVICE)
    if found is None:
        raise Unavailable("unknown", f"it cannot be told whose program answers at {shown(url)}, so it is not asked; {AGREE}")
    if not found:
        raise Unavailable("foreign", f"another user's program answers at {shown(url)}, so it is not asked; {AGREE}")


def _huge(url: str) -> Unavailable:
    return Unavailable("wrong", f"{shown(url)} answered with more than {LARGEST_BYTES >> 20} MiB")


def _understood(url: str, path: str, model: str, status: int, data: bytes) -> dict[str, object]:
    try:
        found = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        found = None
    if 300 <= status < 400:
        raise Unavailable("wrong", f"{shown(url)} sends on to another address ({status}); give that one as embed.url")
    said = found.get("error") if isinstance(found, dict) else None
    if status == 404 and model and isinstance(said, str) and "not found" in said:
        raise Unavailable("missing", f"Ollama at {shown(url)} does not have {model}; `ollama pull {model}` brings it")
    if status == 403 and not data.strip():
        raise Unavailable("wrong", f"Ollama at {shown(url)} refuses requests by that name (403); OLLAMA_ORIGINS and OLLAMA_HOST say which it takes")
    if status != 200:
        told = f": {cut(said, 200)}" if isinstance(said, str) and said else ""
        raise Unavailable(
            "wrong", f"{shown(url)} answered {path} with {status}{told}" + ("" if told else "; is it Ollama, 0.3 or newer?"), status, str(said or "")
        )
    if isinstance(said, str) and said:
        raise Unavailable("wrong", f"{shown(url)} answered {path} with: {cut(said, 200)}", status, said)
    if not isinstance(found, dict):
        raise Unavailable("wrong", f"{shown(url)} answered {path} with something that is no JSON object; is it Ollama?")
    return found
