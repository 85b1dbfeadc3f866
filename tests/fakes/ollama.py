"""A stand-in for Ollama: its wire format, its texts of error, vectors in which equal words are near, what a chat model says; and faults on demand.

A word is a token. `says` is what a chat model answers, `stop` how that ends; `windows` are those of the models' own, `remote` where one runs
that is another machine's; an `old` Ollama cuts a prompt that is too long, whatever it is told. `models` has each name with its dimensions; `common` is the share of every vector that is the same in all, as real models have it;
`fault` is in every answer from now on («» is well again), `faults` in the next ones, one each.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VERSION = "0.12.3"
CONTEXT_WORDS = 512
HOSTS = {"localhost", "127.0.0.1", "[::1]", "0.0.0.0"}  # noqa: S104 - a name in a header
PATIENCE_S = 30.0
TOO_LARGE = 33 << 20
BUFFERED = 2048  # bytes of an answer up to which its length is told first
CHUNK = 1 << 16
NOT_EMBEDDING = "this model does not support embeddings"


def vector(text: str, dims: int, *, normal: bool = True) -> list[float]:
    """The sum of its words' vectors; a text without words has one of its own."""
    total = [0.0] * dims
    for word in re.findall(r"\w+", text.lower()) or ["\0"]:
        seed = hashlib.shake_256(word.encode()).digest(dims)
        total = [value + byte - 127.5 for value, byte in zip(total, seed)]
    norm = math.sqrt(sum(value * value for value in total)) or 1.0
    return [value / norm for value in total] if normal else total


class Ollama:
    """A server on a free port of this machine, until `close`."""

    def __init__(self) -> None:
        self.models: dict[str, int] = {"qwen3-embedding:0.6b": 32}
        self.common = 0.0
        self.digests: dict[str, str] = {}  # of models that were pulled anew
        self.chat_only = {"llama3.2:1b"}
        self.windows: dict[str, int] = {}
        self.remote: dict[str, str] = {}
        self.says = "{}"
        self.stop = "stop"
        self.old = False
        self.fault = ""
        self.faults: list[str] = []
        self.poison = ""  # a text with this in it cannot be embedded
        self.requests: list[tuple[str, str, dict[str, Any]]] = []  # method, path, body
        self.changed = threading.Condition()
        self.released = threading.Event()  # what hangs goes on when it is set
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("OwnDoor", (Door,), {"ollama": self}))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Ends it; nobody answers at its address any more."""
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE_S)

    def __enter__(self) -> Ollama:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def embedded(self) -> list[str]:
        """All texts that it was asked to embed."""
        given = [body["input"] for _, path, body in self.requests if path == "/api/embed" and "input" in body]
        return [text for texts in given for text in ([texts] if isinstance(texts, str) else texts)]

    def wait(self, path: str, count: int = 1) -> None:
        """Until so many requests for a path have come."""
        with self.changed:
            assert self.changed.wait_for(lambda: sum(one[1] == path for one in self.requests) >= count, PATIENCE_S), f"no {count} requests for {path}"

    def named(self, given: object) -> str | None:
        """The full name of a model that is here."""
        name = str(given or "")
        return next((here for here in (name, name + ":latest") if here in self.models or here in self.chat_only), None)

    def digest(self, name: str) -> str:
        """Of the model's file."""
        return self.digests.get(name) or hashlib.sha256(name.encode()).hexdigest()

    def details(self) -> dict[str, Any]:
        """What is said of every model."""
        return {"parent_model": "", "format": "gguf", "family": "bert", "families": ["bert"], "parameter_size": "23M", "quantization_level": "F16"}

    def entry(self, name: str) -> dict[str, Any]:
        """A model as /api/tags lists it."""
        return {"name": name, "model": name, "modified_at": "2026-11-01T10:00:00Z", "size": 1000, "digest": self.digest(name), "details": self.details()}


class Door(BaseHTTPRequestHandler):
    """One connection."""

    ollama: Ollama
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""

    def handle_one_request(self) -> None:
        """Serves the next request; a client that is gone ends the connection quietly."""
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True

    def do_HEAD(self) -> None:
        """Whether it is there."""
        self.do_GET()

    def do_GET(self) -> None:
        """What there is."""
        if not self.taken({}):
            return
        ollama = self.ollama
        if self.path == "/":
            self.send(200, b"Ollama is running", "text/plain; charset=utf-8")
        elif self.path == "/api/version":
            self.told({"version": VERSION})
        elif self.path == "/api/tags":
            self.told({"models": [ollama.entry(name) for name in [*ollama.models, *ollama.chat_only]]})
        elif self.path == "/api/ps":
            more = {"expires_at": "2026-11-01T10:30:00Z", "size_vram": 0, "context_length": CONTEXT_WORDS}
            self.told({"models": [{**ollama.entry(name), **more} for name in ollama.models]})
        else:
            self.send(404, b"404 page not found", "text/plain")

    def do_POST(self) -> None:
        """Embeddings, a model's particulars, and a pull."""
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            body = json.loads(raw) if raw else None
        except ValueError as error:
            self.refused(400, str(error))
            return
        if not self.taken(body if isinstance(body, dict) else {}):
            return
        answers = {"/api/embed": self.embed, "/api/embeddings": self.embeddings, "/api/show": self.show, "/api/pull": self.pull, "/api/chat": self.chat}
        answer = answers.get(self.path)
        if answer is None:
            self.send(404, b"404 page not found", "text/plain")
        elif not isinstance(body, dict):
            self.refused(400, "missing request body")
        else:
            answer(body)

    def embed(self, body: dict[str, Any]) -> None:
        """POST /api/embed: vectors of length 1."""
        name = self.model(body)
        if name is None:
            return
        given = body.get("input")
        texts = [given] if isinstance(given, str) and given else given or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            self.refused(400, "invalid input type")
        elif body.get("truncate") is False and any(len(text.split()) > CONTEXT_WORDS for text in texts):
            self.refused(400, "the input length exceeds the context length")
        elif self.ollama.poison and any(self.ollama.poison in text for text in texts):
            self.refused(500, "failed to encode response: json: unsupported value: NaN")
        else:
            dims, share = int(body.get("dimensions") or self.ollama.models[name]), self.ollama.common
            vectors = [vector(text, dims) for text in texts]
            if share:
                same = vector("\0", dims)
                vectors = [[math.sqrt(share) * one + math.sqrt(1 - share) * two for one, two in zip(same, own)] for own in vectors]
            self.told({"model": body["model"], "embeddings": vectors, "total_duration": 9, "load_duration": 1, "prompt_eval_count": len(texts)})

    def embeddings(self, body: dict[str, Any]) -> None:
        """POST /api/embeddings, the older form: one vector, of any length."""
        name = self.model(body)
        if name is not None:
            self.told({"embedding": vector(body["prompt"], self.ollama.models[name], normal=False) if body.get("prompt") else []})

    def show(self, body: dict[str, Any]) -> None:
        """POST /api/show."""
        name = self.ollama.named(body.get("model") or body.get("name"))
        if name is None:
            self.refused(404, f"model '{body.get('model')}' not found")
            return
        can = ["embedding"] if name in self.ollama.models else ["completion"]
        more: dict[str, Any] = {"modelfile": "", "template": "{{ .Prompt }}", "model_info": {"bert.embedding_length": self.ollama.models.get(name, 0)}}
        if name in self.ollama.windows:
            more["model_info"] = {"general.architecture": "llama", "llama.context_length": self.ollama.windows[name]}
        if name in self.ollama.remote:
            more.update(remote_host=self.ollama.remote[name], remote_model=name)
        self.told({**more, "details": self.ollama.details(), "capabilities": can, "modified_at": "2026-11-01T10:00:00Z"})

    def chat(self, body: dict[str, Any]) -> None:
        """POST /api/chat: one message, not streamed."""
        name = self.ollama.named(body.get("model"))
        if name is None:
            self.refused(404, f"model '{body.get('model')}' not found")
            return
        if name in self.ollama.models:
            self.refused(400, f'"{name}" does not support chat')
            return
        options = body.get("options") or {}
        window, most = int(options.get("num_ctx") or 4096), int(options.get("num_predict") or -1)
        asked = sum(len(message["content"].split()) for message in body["messages"])
        if asked > window and body.get("truncate") is False and not self.ollama.old:
            self.refused(400, f"prompt too long; exceeded max context length by {asked - window} tokens")
            return
        said = len(self.ollama.says.split())
        cut = 0 < most < said
        words = " ".join(self.ollama.says.split()[:most]) if cut else self.ollama.says
        counts = {"prompt_eval_count": min(asked, window), "eval_count": min(said, most) if cut else said, "total_duration": 9, "load_duration": 1}
        message = {"role": "assistant", "content": words}
        self.told(
            {
                "model": body["model"],
                "created_at": "2026-11-01T10:00:00Z",
                "message": message,
                "done": True,
                "done_reason": "length" if cut else self.ollama.stop,
                **counts,
            }
        )

    def pull(self, body: dict[str, Any]) -> None:
        """POST /api/pull: a line of JSON for each step, or one for all."""
        name = str(body.get("model") or body.get("name"))
        self.ollama.models[name if ":" in name else name + ":latest"] = 16
        if body.get("stream") is False:
            self.told({"status": "success"})
            return
        layer = {"status": "pulling 0123", "digest": "sha256:0123", "total": 10, "completed": 10}
        steps = [{"status": "pulling manifest"}, layer, {"status": "verifying sha256 digest"}, {"status": "writing manifest"}, {"status": "success"}]
        self.send(200, "".join(json.dumps(step) + "\n" for step in steps).encode(), "application/x-ndjson")

    def model(self, body: dict[str, Any]) -> str | None:
        """The model that is asked for; None when that was refused."""
        name = self.ollama.named(body.get("model"))
        if name is None:
            self.refused(404, f'model "{body.get("model")}" not found, try pulling it first')
        elif name not in self.ollama.models:
            self.refused(501, NOT_EMBEDDING)
            return None
        return name

    def taken(self, body: dict[str, Any]) -> bool:
        """Whether the request is to be answered well; what is not, is answered here."""
        ollama = self.ollama
        with ollama.changed:
            ollama.requests.append((self.command, self.path, body))
            fault = ollama.faults.pop(0) if ollama.faults else ollama.fault
            ollama.changed.notify_all()
        host = (self.headers.get("host") or "").lower()
        if host.rpartition(":")[0] not in HOSTS and host not in HOSTS:
            self.send(403, b"", "text/plain")
            return False
        if not fault:
            return True
        self.fail(fault, body)
        return False

    def fail(self, fault: str, body: dict[str, Any]) -> None:
        """Answers in one of the ways in which a server goes wrong."""
        good = {"embeddings": [[1.0, 2.0] for _ in body.get("input", [])]}
        whole = json.dumps(good).encode()
        plain = {
            "html": (200, b"<html><body>Sign in</body></html>"), "500": (500, b'{"error":"llama runner process has terminated"}'), "400": (400, b'{"error":"invalid input type"}'),
            "404": (404, b"404 page not found"), "403": (403, b""), "half": (200, whole[: len(whole) // 2]), "empty": (200, b""), "list": (200, b"[1, 2]"), "error": (200, b'{"error":"out of memory"}'),
            "none": (200, b'{"embeddings": []}'), "no list": (200, b'{"embeddings": "x"}'), "nan": (200, whole.replace(b"2.0", b"NaN")), "huge number": (200, whole.replace(b"2.0", b"1e999")),
            "huge integer": (200, whole.replace(b"2.0", b"9" * 400)), "text": (200, whole.replace(b"2.0", b'"2"')), "true": (200, whole.replace(b"2.0", b"true")),
            "no vector": (200, whole.replace(b"[1.0, 2.0]", b"[]")), "sizes": (200, whole.replace(b"2.0", b"2.0, 3.0", 1)), "deep": (200, b"[" * 100_000), "bytes": (200, b"\xff\xfe\x00"),
            "few": (200, json.dumps({"embeddings": good["embeddings"][1:]}).encode()), "many": (200, json.dumps({"embeddings": [[1.0], *good["embeddings"]]}).encode()),
            "gone": (404, b'{"error":"model \'qwen3-embedding:0.6b\' not found"}'), "large": (200, b" " * TOO_LARGE + whole),
        }  # fmt: skip
        if fault in plain:
            self.send(*plain[fault], "application/json")
            return
        if fault == "redirect":
            self.send(302, b"", "text/plain", {"Location": "http://127.0.0.1:9/"})
        elif fault == "large, said":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
        elif fault == "cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + whole)
        elif fault == "no http":
            self.wfile.write(b"220 mail.example ESMTP\r\n")
        elif fault == "hang":
            self.ollama.released.wait(PATIENCE_S)
        elif fault == "drip":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nX-A: ")
            while not self.ollama.released.wait(0.02):
                self.wfile.write(b"a")
                self.wfile.flush()
        self.close_connection = True

    def told(self, fields: dict[str, Any]) -> None:
        """An answer in JSON."""
        self.send(200, json.dumps(fields).encode(), "application/json; charset=utf-8")

    def refused(self, status: int, said: str) -> None:
        """An error in Ollama's form."""
        self.send(status, json.dumps({"error": said}).encode(), "application/json; charset=utf-8")

    def send(self, status: int, data: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        """A whole answer; a long one in chunks, as Go's server sends it."""
        chunked = len(data) > BUFFERED
        self.send_response(status)
        size = {"Transfer-Encoding": "chunked"} if chunked else {"Content-Length": str(len(data))}
        for name, value in {"Content-Type": kind, **size, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        for at in range(0, len(data), CHUNK) if chunked else ():
            part = data[at : at + CHUNK]
            self.wfile.write(f"{len(part):x}\r\n".encode() + part + b"\r\n")
        self.wfile.write(b"0\r\n\r\n" if chunked else data)
