"""What the proxy adds: time to the first byte, to a stream, to fifty at once, and what it holds in memory.

    python3 bench/proxy.py [PAIRS]

The upstream is a process of its own (bench/upstream.py) that answers at once; every figure stands beside the same thing done without the
proxy, measured in turn with it. The requests are those of a session of Claude Code whose past sessions (60,000 tokens) stand in front of
it, so all of them are rewritten. «cpu, all in» is the proxy's processor time a request, what it notes after the answer included. Up to 2 MB
a body is text; of 10 MB, 8 are pictures, as more text than the model's window holds would not be sent.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [ROOT, os.path.join(ROOT, "scripts")]

from bench import running, sessions  # noqa: E402
from bench.client import Block, Client, Setting, text_block, wire  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES = {"10 KB": 10_000, "200 KB": 200_000, "2 MB": 2_000_000, "10 MB": 10_000_000}
MOST_TEXT = 2_000_000
PICTURE_BYTES = 500_000
STREAMS = 50
SETTLE_S = 0.05  # between two requests of a session: what is noted after an answer is noted by then, as no client is faster
STAMP = re.compile(rb'"text": "(\d{10}\.\d{9})')


class Line:
    """A session's way to one address: a kept connection, and requests whose bodies grow by a prompt each."""

    def __init__(self, url: str, session: str, size: int) -> None:
        self.client = Client(url, session, small(size), print)
        self.address = urlsplit(url)
        self.connection = http.client.HTTPConnection(self.address.hostname or "", self.address.port, timeout=60)
        self.client.messages = [{"role": "user", "content": [text_block("please look at the figures")]}]
        self.tokens = 100

    def request(self, body: bytes, **wanted: float) -> http.client.HTTPResponse:
        """The open answer."""
        headers = {**self.client.headers(), "x-bench": json.dumps({"tokens": self.tokens, **wanted})}
        self.connection.request("POST", "/v1/messages?beta=true", body, headers)
        return self.connection.getresponse()

    def first_byte_ms(self, body: bytes) -> float:
        """Milliseconds from the request's first byte to the answer's; the answer is read to its end."""
        headers = {**self.client.headers(), "x-bench": json.dumps({"tokens": self.tokens})}
        began = time.perf_counter()
        self.connection.request("POST", "/v1/messages?beta=true", body, headers)
        self.connection.sock.recv(1, socket.MSG_PEEK)
        took = time.perf_counter() - began
        answer = self.connection.getresponse()
        assert b"message_stop" in answer.read(), answer.status
        return took * 1000

    def raw(self) -> bytes:
        """The body of the next request."""
        return json.dumps(self.client.body(), ensure_ascii=False, separators=(",", ":")).encode()

    def next(self) -> None:
        """The answer that came, and another prompt."""
        self.client.messages += [
            {"role": "assistant", "content": [text_block("0" * 20 + "x" * 20)]},
            {"role": "user", "content": [text_block("and the next one, please")]},
        ]

    def fill(self, size: int) -> None:
        """Puts turns into the middle until the body has that size."""
        author = sessions.Author(9)
        newest = self.client.messages.pop()
        room = size - len(self.raw_of([*self.client.messages, newest]))
        pictures = max(0, size - MOST_TEXT) // PICTURE_BYTES
        noise = random.Random(4)
        for _ in range(pictures):
            data = base64.b64encode(noise.randbytes(PICTURE_BYTES * 3 // 4)).decode()
            picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
            self.client.messages += [
                {"role": "user", "content": [picture, text_block("a picture")]},
                {"role": "assistant", "content": [text_block(author.prose(200))]},
            ]
            room -= len(data)
        self.tokens = room // 4 + pictures * 1600
        number = 0
        while room > 6000:
            turn = author.turn(f"f{number}", 2)
            messages = [{**m, "content": [text_block(m["content"])] if isinstance(m["content"], str) else m["content"]} for m in sessions.spoken(turn)]
            self.client.messages += messages
            room -= len(json.dumps(messages, ensure_ascii=False))
            number += 1
        self.client.messages += [
            {"role": "user", "content": [text_block(author.prose(max(20, room - 300)))]},
            {"role": "assistant", "content": [text_block("done")]},
            newest,
        ]

    def raw_of(self, messages: list[Block]) -> bytes:
        """These messages as they are printed."""
        return json.dumps({**self.client.body(), "messages": wire(messages)}, ensure_ascii=False).encode()

    def close(self) -> None:
        """Ends the connection."""
        self.connection.close()
        self.client.close()


def main() -> int:
    """Prints four blocks."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    past = [message for turn in sessions.history(5, "p", 60_000) for message in sessions.spoken(turn)]
    with tempfile.TemporaryDirectory() as home, upstream() as direct:
        running.remember(home, [past])
        with running.proxy(home, direct, proxy__max_context=750_000) as process:
            idle = process.resident_bytes()
            first_bytes(direct, process, pairs)
            streams(direct, process.url)
            many(direct, process.url)
        with running.proxy(home, direct, proxy__max_context=750_000) as process:
            memory(process, idle)
    return 0


def first_bytes(direct: str, process: running.Running, pairs: int) -> None:
    """The added time to the first byte."""
    print(f"time to the first byte, ms, medians of {pairs} pairs  direct    proxy    added   ratio   cpu, all in   first of the session")
    for number, (name, size) in enumerate(SIZES.items()):
        one, other = (Line(url, f"{number}0000000-1111-4111-8111-111111111111", size) for url in (direct, process.url))
        opening = other.first_byte_ms(other.raw())
        one.first_byte_ms(one.raw())
        plain: list[float] = []
        proxied: list[float] = []
        for line in (one, other):
            line.next()
            line.fill(size)
        used = 0.0
        for pair in range(pairs + 1):
            for line, times in ((one, plain), (other, proxied)) if pair % 2 else ((other, proxied), (one, plain)):
                time.sleep(SETTLE_S)
                took = line.first_byte_ms(line.raw())
                if pair:  # the first request with all of the body is the proxy's first look at it
                    times.append(took)
                elif line is other:
                    time.sleep(SETTLE_S * 10)
                    used = process.cpu_s()
                line.next()
        before, after = statistics.median(plain), statistics.median(proxied)
        used = (process.cpu_s() - used) * 1000 / pairs
        added = statistics.median(after - before for before, after in zip(plain, proxied))
        print(
            f"  {name:>7} body ({len(other.raw()):>10,} bytes)               {before:7.2f}  {after:7.2f}  {added:7.2f}  {after / before:6.2f}   {used:11.1f}   {opening:20.1f}"
        )
        one.close()
        other.close()


def streams(direct: str, through: str) -> None:
    """One stream as fast as it goes, and one that is paced."""
    rates: dict[str, list[float]] = {direct: [], through: []}
    late: dict[str, list[float]] = {direct: [], through: []}
    lines = {url: Line(url, "50000000-1111-4111-8111-111111111111", 10_000) for url in (direct, through)}
    for _ in range(5):
        for url, line in lines.items():
            began = time.perf_counter()
            size = sum(len(part) for part in parts(line.request(line.raw(), events=60_000)))
            rates[url].append(size / 1e6 / (time.perf_counter() - began))
            line.next()
    paced: dict[str, float] = {}
    for url, line in lines.items():
        began = time.perf_counter()
        for data in parts(line.request(line.raw(), events=1000, gap_s=0.002)):
            now = time.monotonic()
            late[url] += [now - float(stamp) for stamp in STAMP.findall(data)]
        paced[url] = time.perf_counter() - began
        line.close()
    one, other = statistics.median(rates[direct]), statistics.median(rates[through])
    print(f"a stream as fast as it goes: direct {one:.0f} MB/s, proxy {other:.0f} MB/s, ratio {other / one:.2f}")
    waits = [statistics.quantiles(late[url], n=100) for url in (direct, through)]
    print(
        f"500 events a second: took {paced[through] / paced[direct]:.3f} times as long as direct; on their way for {waits[0][49] * 1000:.2f} ms direct, {waits[1][49] * 1000:.2f} ms through the proxy "
        f"(99th percentile {waits[0][98] * 1000:.2f}, {waits[1][98] * 1000:.2f})"
    )


def many(direct: str, through: str) -> None:
    """Fifty sessions begun at once, and fifty streams at once."""
    for name, url in (("direct", direct), ("proxy", through)):
        lines = [Line(url, f"6{number:07d}-1111-4111-8111-111111111111", 10_000) for number in range(STREAMS)]
        opened: list[float] = []

        def begin(line: Line, opened: list[float] = opened) -> None:
            opened.append(line.first_byte_ms(line.raw()))

        together(lines, begin)
        time.sleep(SETTLE_S * 10)
        began: list[float] = []
        took: list[float] = []
        silent: list[float] = []

        def play(line: Line, began: list[float] = began, took: list[float] = took, silent: list[float] = silent) -> None:
            line.next()
            start = time.perf_counter()
            times = [time.perf_counter() - start for _ in parts(line.request(line.raw(), events=100, gap_s=0.02))]
            began.append(times[0])
            took.append(times[-1])
            silent.append(max(after - before for before, after in zip(times, times[1:])))

        together(lines, play)
        assert len(took) == STREAMS
        print(
            f"{STREAMS} streams at once, 2 s each, {name:>6}: median {statistics.median(took):.2f} s, slowest {max(took):.2f} s, "
            f"ratio {max(took) / statistics.median(took):.3f}; latest first byte {max(began) * 1000:.0f} ms, longest silence {max(silent) * 1000:.0f} ms; "
            f"{STREAMS} sessions begun at once, latest first byte {max(opened):.0f} ms"
        )
        for line in lines:
            line.close()


def together(lines: list[Line], play: Callable[[Line], None]) -> None:
    """Plays all lines at the same time, to their end."""
    threads = [threading.Thread(target=play, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def memory(process: running.Running, idle: int) -> None:
    """Resident memory before, with a 10 MB body on its way, and after."""
    line = Line(process.url, "70000000-1111-4111-8111-111111111111", 10_000_000)
    line.first_byte_ms(line.raw())
    line.next()
    line.fill(10_000_000)
    raw = line.raw()
    before, most, done = process.resident_bytes(), [0], threading.Event()

    def watch() -> None:
        while not done.is_set():
            most[0] = max(most[0], process.resident_bytes())
            time.sleep(0.002)

    watcher = threading.Thread(target=watch)
    watcher.start()
    line.request(raw, hold_s=0.5).read()
    time.sleep(0.5)  # what it notes after the answer counts too
    done.set()
    watcher.join()
    line.close()
    print(
        f"resident memory: {idle / 1e6:.0f} MB idle, {before / 1e6:.0f} MB after a request, {most[0] / 1e6:.0f} MB with {len(raw) / 1e6:.1f} MB on its way: "
        f"{(most[0] - before) / len(raw):.1f} times the body more"
    )


def parts(answer: http.client.HTTPResponse) -> Iterator[bytes]:
    """What arrives, as it arrives."""
    while data := answer.read1(1 << 16):
        yield data


def small(size: int) -> Setting:
    """The session's setting; for small bodies with a tool and a system text that leave room."""
    whole = sessions.setting()
    if size > 100_000:
        return whole
    whole.tools, whole.system, whole.context = whole.tools[:1], whole.system[-600:], []
    return whole


@contextmanager
def upstream() -> Iterator[str]:
    """The address of an upstream that lives as long as this."""
    process = subprocess.Popen([sys.executable, "-I", "-S", os.path.join(ROOT, "bench", "upstream.py")], stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
