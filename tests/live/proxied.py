"""A user whose Claude Code talks through the real proxy: every byte between the two is written down, and so is what arrived."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from tenon.wire import body as bodies
from tenon.world import proof
from tests.fakes.claude_code import API_KEY, ClaudeCode
from tests.fakes.conversation import THINKING, Block, blocks_of, unmarked
from tests.fakes.door import RecordedRequest
from tests.fakes.messages_api import MessagesApi
from tests.fakes.replies import is_title
from tests.fakes.signatures import trimmed
from tests.live.conftest import FOUND
from tests.live.user import Session, User, furnish, quoting, until

AGENT = "x-claude-code-agent-id"
SESSION = "x-claude-code-session-id"
MODEL = "claude-opus-5-5"  # its thinking is bound to what stands before it
END = b"\r\n\r\n"
MARKER = b',"cache_control":{"type":"ephemeral"}'


class Sent:
    """One request as the client sent it: when it began (monotonic), its first line and headers in lower case, its body."""

    def __init__(self, at: float, head: bytes, raw: bytes) -> None:
        self.at = at
        self.head = head.decode("latin-1").lower()
        self.raw = raw

    def header(self, name: str) -> str:
        """The value of a header, "" when there is none."""
        lines = self.head.split("\r\n")[1:]
        return next((line.partition(":")[2].strip() for line in lines if line.startswith(name + ":")), "")

    @property
    def body(self) -> dict[str, Any]:
        """The body as JSON, {} for none."""
        found: dict[str, Any] = json.loads(self.raw) if self.raw.startswith(b"{") else {}
        return found


class Copy:
    """What went over one connection in one direction; `begun` has the time of each piece by the place where it begins."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.begun: dict[int, float] = {}

    def add(self, piece: bytes) -> None:
        """Notes a piece."""
        self.begun[len(self.data)] = time.monotonic()
        self.data += piece

    def requests(self) -> list[Sent]:
        """The whole requests in it."""
        found, data, here = [], bytes(self.data), 0
        while (end := data.find(END, here)) >= 0:
            head, here, start = data[here:end], end + len(END), here
            sizes = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            size = int(sizes[0]) if sizes else 0
            found.append(Sent(self.begun.get(start, 0.0), head, data[here : here + size]))
            here += size
        return found


class Tee:
    """A wire between a client and the proxy that hands every byte on and keeps a copy of both directions, per connection."""

    def __init__(self, port: int) -> None:
        self.target = port
        self.sent: list[Copy] = []
        self.answers: list[Copy] = []
        self.open: list[tuple[threading.Thread, tuple[socket.socket, socket.socket]]] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.welcome, daemon=True).start()

    def close(self) -> None:
        """Takes no more connections and ends those there are."""
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread, ends in self.open:
            finish(*ends)
            thread.join()

    def welcome(self) -> None:
        """Joins each connection to one of its own at the target; where nobody listens it is closed."""
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.sent.append(Copy())
            self.answers.append(Copy())
            thread = threading.Thread(target=self.join, args=(client, server, self.sent[-1], self.answers[-1]), daemon=True)
            self.open.append((thread, (client, server)))
            thread.start()

    def join(self, client: socket.socket, server: socket.socket, sent: Copy, answers: Copy) -> None:
        """Carries both directions of a connection until both have ended."""
        with client, server:
            there = threading.Thread(target=carry, args=(client, server, sent), daemon=True)
            there.start()
            carry(server, client, answers)
            there.join()

    def requests(self) -> list[Sent]:
        """Every request that the client sent, in the order of time."""
        return sorted((request for copy in list(self.sent) for request in copy.requests()), key=lambda request: request.at)

    def answered(self) -> bytes:
        """All that came back."""
        return b"".join(bytes(copy.data) for copy in list(self.answers))


def carry(source: socket.socket, sink: socket.socket, copy: Copy) -> None:
    """One direction of one connection, to its end; a connection that breaks on one side ends on both."""
    try:
        sink.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := source.recv(1 << 16):
            copy.add(data)
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        finish(source, sink)


def finish(*ends: socket.socket) -> None:
    """Ends connections, whatever is on its way."""
    for end in ends:
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it has ended


class Proxy:
    """The proxy as a process of its own."""

    def __init__(self, root: Path, home: Path, env: dict[str, str], upstream: str) -> None:
        self.entry = root / "scripts" / "tenon" / "proxy" / "__main__.py"
        self.memory = home / ".tenon"
        self.env = {**env, "TENON_HOME": str(self.memory), "TENON_UPSTREAM": upstream}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = int(free.getsockname()[1])
        self.said = home.parent / "proxy said"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts it and returns when it answers."""
        command = [sys.executable, "-I", "-S", str(self.entry), "--port", str(self.port)]
        with open(self.said, "ab") as said:
            self.process = process = subprocess.Popen(command, env=self.env, cwd=self.said.parent, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        assert until(lambda: process.poll() is not None or self.answers()), self.said.read_text()
        assert process.poll() is None, self.said.read_text()

    def answers(self) -> bool:
        """Whether this process has said where it is and answers there."""
        try:
            return self.process is not None and self.status()["pid"] == self.process.pid
        except (OSError, ValueError, KeyError, HTTPException):
            return False

    def status(self) -> dict[str, Any]:
        """What it says of itself."""
        token = json.loads((self.memory / "proxy.json").read_text(encoding="utf-8"))["token"]
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=5)) as door:
            door.request("GET", "/_tenon/status", headers=proof.headers(token, proof.nonce(), self.port, "GET", "/_tenon/status"))
            told: dict[str, Any] = json.loads(door.getresponse().read())
        return told

    def end(self, how: int = signal.SIGTERM) -> None:
        """Ends it with a signal and waits until it is gone."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(20)
            self.process = None

    def log(self) -> str:
        """Its request log, empty when there is none yet."""
        path = self.memory / "proxy.log"
        return path.read_text(encoding="utf-8") if path.exists() else ""


class Proxied(User):
    """A user whose requests go through the proxy; `refusing` is what the fake may have refused, and why."""

    def __init__(self, claude: ClaudeCode, api: MessagesApi, plugin: Path, proxy: Proxy, tee: Tee) -> None:
        super().__init__(claude, api, plugin)
        self.proxy = proxy
        self.tee = tee
        self.refusing = ""
        self.anew = False  # whether a conversation may change its beginning: something was forgotten, the budget was reached
        self.hooks = True  # they put memory into prompts, so that the proxy must not
        self.model = MODEL

    def says(self, prompt: str, *args: str, env: dict[str, str] | None = None, folder: Path | None = None) -> Session:
        """A session of one prompt, in the project or in another folder; it must end well."""
        before = len(self.api.messages())
        done = self.at(folder).run(prompt, "--model", self.model, *args, env=env)
        assert 0 == done.returncode, done.stdout + done.stderr + self.problems()
        return Session(done, self.api.messages()[before:])

    def at(self, folder: Path | None) -> ClaudeCode:
        """Claude Code in a folder."""
        if folder is None:
            return self.claude
        folder.mkdir(exist_ok=True)
        elsewhere = ClaudeCode(self.claude.binary, self.claude.home, self.claude.env["ANTHROPIC_BASE_URL"], folder)
        elsewhere.env = self.claude.env
        return elsewhere

    def sets(self, **settings: object) -> None:
        """Writes Tenon's settings; a name's dots are given as double underscores."""
        self.memory.mkdir(parents=True, exist_ok=True)
        named = {name.replace("__", "."): value for name, value in settings.items()}
        (self.memory / "settings.json").write_text(json.dumps(named), encoding="utf-8")

    def client(self, session: str = "") -> list[Sent]:
        """The requests of main conversations as the client sent them, of one session or of all."""
        found = [sent for sent in self.tee.requests() if sent.head.startswith("post /") and "/v1/messages?" in sent.head and not sent.header(AGENT)]
        return [sent for sent in found if session in ("", sent.header(SESSION)) and sent.body.get("tools") and not is_title(sent.body)]

    def problems(self) -> str:
        """What to know when a test failed: refusals, log, faults."""
        faults = self.memory / "faults.log"
        noted = faults.read_text(encoding="utf-8") if faults.exists() else ""
        return "\n".join(["", *self.refusals(), self.proxy.log(), noted])


def connect(version: str, plugin: Path, template: Path, folder: Path) -> Iterator[Proxied]:
    """A user who has installed Tenon and talks through the proxy; what must hold of every conversation is looked at in the end."""
    with MessagesApi(quoting) as api:
        claude = ClaudeCode(FOUND[version], folder / "a höme", api.url, folder / "a prøject")
        furnish(claude.home, template)
        proxy = Proxy(plugin, claude.home, {name: claude.env[name] for name in ("PATH", "HOME")}, api.url)
        tee = Tee(proxy.port)
        claude.env["ANTHROPIC_BASE_URL"] = tee.url
        user = Proxied(claude, api, plugin, proxy, tee)
        try:
            proxy.start()
            yield user
            behaved(user)
        finally:
            tee.close()
            proxy.end()
        assert until(lambda: not user.processes()), user.processes()
        assert [] == user.strangers()
        assert [] == secrets(user.memory)


def behaved(user: Proxied) -> None:
    """Nothing was refused that the test did not ask for, and every conversation only grew at its end."""
    unexpected = [said for said in user.refusals() if not user.refusing or user.refusing not in said]
    assert [] == unexpected, user.problems()
    assert "fault of ours" not in user.proxy.log(), user.problems()
    assert not user.hooks or "memory added" not in user.proxy.log(), user.problems()
    for session in {str(request.headers[SESSION]) for request in user.api.messages() if request.headers[SESSION]}:
        arrived, sent = mains(user.api, session), user.client(session)
        if not user.refusing:
            assert len(arrived) == len(sent), user.problems()
            grew(arrived, sent, anew=user.anew)


def mains(api: MessagesApi, session: str = "") -> list[RecordedRequest]:
    """The answered requests of main conversations, of one session or of all: no sub-agents, no side requests."""
    found = [r for r in api.messages() if r.status == 200 and not r.headers[AGENT] and r.body.get("tools") and not is_title(r.body)]
    return [request for request in found if not session or request.headers[SESSION] == session]


def canonical(messages: Sequence[Block]) -> list[tuple[str, Any]]:
    """The messages as one list of blocks with their roles: what cache and signatures see, and the thinking too."""
    found: list[tuple[str, Any]] = []
    for message in messages:
        for block in blocks_of(message["content"]):
            plain = unmarked(block) if block.get("type") in THINKING else trimmed(block)
            if plain is not None:
                found.append((str(message["role"]), plain))
    return found


def common(one: Sequence[Any], other: Sequence[Any]) -> int:
    """How many items the two begin with alike."""
    count = 0
    while count < min(len(one), len(other)) and one[count] == other[count]:
        count += 1
    return count


def grew(arrived: Sequence[RecordedRequest], client: Sequence[Sent], *, anew: bool = False) -> None:
    """What arrived of a conversation is append-only as far as the client itself only appended, and no thinking was lost.

    A client may print an old message differently, go back in the conversation, or compact it: where its own requests differ
    from each other, what arrived may differ too, but not before that place.
    """
    own = [canonical(sent.body["messages"]) for sent in client]
    wire = [canonical(request.body["messages"]) for request in arrived]
    for number in range(len(wire) - 1):
        if anew and wire[number][0] != wire[number + 1][0]:
            continue
        lost = len(own[number]) - common(own[number], own[number + 1])
        kept = common(wire[number], wire[number + 1])
        assert kept >= len(wire[number]) - lost, f"request {number + 1} changed at block {kept} of {len(wire[number])}: {wire[number][kept : kept + 2]}"


def thoughts(request: RecordedRequest) -> list[str]:
    """The signatures of the thinking in a request."""
    return [str(block.get("signature") or block.get("data")) for _, block in canonical(request.body["messages"]) if block.get("type") in THINKING]


def marked(value: object) -> int:
    """How many cache markers a request has."""
    if isinstance(value, dict):
        return ("cache_control" in value) + sum(marked(inner) for inner in value.values())
    return sum(marked(inner) for inner in value) if isinstance(value, list) else 0


def listed(raw: bytes) -> bytes:
    """The bytes of a request's messages, without the brackets round them: everything else is printed around them."""
    found = bodies.parse(raw)
    return raw[found.opening : found.closing]


def said(messages: Sequence[Block], role: str) -> list[str]:
    """The texts of a role, one string a block."""
    return [block["text"] for who, block in canonical(messages) if who == role and block.get("type") == "text"]


def secrets(memory: Path) -> list[str]:
    """The files in Tenon's home that hold the client's key or a header's name that goes with one."""
    words = (API_KEY.encode(), API_KEY[-20:].encode(), b"x-api-key", b"Bearer ")
    return [str(path) for path in memory.rglob("*") if path.is_file() and any(word in path.read_bytes() for word in words)]


def front(request: RecordedRequest, sent: Sent) -> bytes:
    """The bytes that the proxy put before the client's own messages, without the marker at their end; they must end where those begin."""
    whole, own = listed(request.raw), listed(sent.raw)
    assert whole.endswith(own), "the client's own messages did not arrive as they were sent"
    return whole[: len(whole) - len(own)].replace(MARKER, b"")


def past(request: RecordedRequest, sent: Sent) -> list[Block]:
    """The messages that the proxy put before the client's own."""
    found: list[Block] = json.loads(b"[" + front(request, sent).rstrip().rstrip(b",") + b"]")
    return found
