"""What the proxy adds: time to the first byte, to a stream, to fifty at once, and what it holds in memory.

    python3 bench/proxy.py [PAIRS]

The upstream is a process of its own (bench/upstream.py) that answers at once; every figure stands beside the same thing done without the
proxy, in pairs that follow each other, the order changing. A real API takes half a second and more to its first byte: what is added in
milliseconds is what a user has, the ratio is against an upstream that takes no time. The requests are those of a session of Claude Code
whose past sessions (60,000 tokens) stand in front of it, so all of them are rewritten. «a quarter under» is what the undisturbed quarter of
the pairs had added; «of a json.loads» holds the added time against that of decoding the same body once, which a busy machine slows down as
much; «cpu, all in» is the proxy's processor time a request, what it notes after the answer included. Up to 2 MB a body is
text; of 10 MB, 8 are pictures, as more text than the model's window holds would not be sent.

Streams: a model streams some 10 to 100 KB of events a second, a fast one some hundred. «saturated» is no model but the most that gets
through, as long as the longest answer and thirty times as long.
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
EVENT_BYTES = 137  # on the wire, of a delta of 40 characters
BURST_S = 0.01
RATES = {"64 KB/s": 64_000, "512 KB/s": 512_000, "4 MB/s": 4_000_000}
SATURATED = {"300 KB": (300_000, 11), "9 MB": (9_000_000, 3)}  # bytes, pairs
PACED_S = 0.6
STREAM_PAIRS = 3
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
    """Prints four blocks, and what they come to."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 21
    if hasattr(os, "getloadavg"):
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
    past = [message for turn in sessions.history(5, "p", 60_000) for message in sessions.spoken(turn)]
    with tempfile.TemporaryDirectory() as home, upstream() as direct:
        running.remember(home, [past])
        with running.proxy(home, direct, proxy__max_context=750_000) as process:
            idle = process.resident_bytes()
            added = first_bytes(direct, process, pairs)
            slower = streams(direct, process.url)
            parallel = many(direct, process.url)
        with running.proxy(home, direct, proxy__max_context=750_000) as process:
            times = memory(process, idle)
    print(
        f"added to the first byte: {', '.join(f'{ms:.1f} ms at {size}' for size, ms in added.items())}; a stream takes {min(slower):.3f} to {max(slower):.3f} times as long; "
        f"{STREAMS} at once {parallel:.3f}; memory {times:.1f} times the body"
    )
    return 0


def first_bytes(direct: str, process: running.Running, pairs: int) -> dict[str, float]:
    """The added milliseconds to the first byte."""
    print(
        f"time to the first byte, ms, medians of {pairs} pairs  direct    proxy    added  a quarter under   ratio   of a json.loads   cpu, all in   first of the session"
    )
    found: dict[str, float] = {}
    for number, (name, size) in enumerate(SIZES.items()):
        lines = [Line(url, f"{number}0000000-1111-4111-8111-111111111111", size) for url in (direct, process.url)]
        opening = [line.first_byte_ms(line.raw()) for line in lines][1]
        for line in lines:
            line.next()
            line.fill(size)
            line.first_byte_ms(line.raw())  # the first request with all of the body is the proxy's first look at it
            line.next()
        times: dict[Line, list[float]] = {line: [] for line in lines}
        decoding: list[float] = []
        time.sleep(SETTLE_S * 10)
        used = process.cpu_s()
        for pair in range(pairs):
            for line in lines if pair % 2 else reversed(lines):
                raw = line.raw()
                began = time.perf_counter()
                json.loads(raw)
                decoding.append((time.perf_counter() - began) * 1000)
                time.sleep(SETTLE_S)
                times[line].append(line.first_byte_ms(raw))
                line.next()
        time.sleep(SETTLE_S)
        used = (process.cpu_s() - used) * 1000 / pairs
        before, after = (statistics.median(taken) for taken in times.values())
        added = [other - one for one, other in zip(*times.values())]
        found[name] = statistics.median(added)
        print(
            f"  {name:>7} body ({len(lines[1].raw()):>10,} bytes)               {before:7.2f}  {after:7.2f}  {found[name]:7.2f}  {statistics.quantiles(added)[0]:15.2f}  "
            f"{after / before:6.2f}   {found[name] / statistics.median(decoding):15.1f}   {used:11.1f}   {opening:20.1f}"
        )
        for line in lines:
            line.close()
    return found


def streams(direct: str, through: str) -> list[float]:
    """How many times as long the paced streams take: medians of pairs."""
    lines = [Line(url, "50000000-1111-4111-8111-111111111111", 10_000) for url in (direct, through)]
    print(
        f"one stream, medians of {STREAM_PAIRS} pairs       direct      proxy   takes longer   an event is on its way, ms, median (99th): direct         proxy"
    )
    slower: list[float] = []
    for name, rate in RATES.items():
        burst = max(1, round(rate * BURST_S / EVENT_BYTES))
        taken, late = streamed(lines, STREAM_PAIRS, events=round(PACED_S / BURST_S) * burst, gap_s=BURST_S, burst=burst)
        slower.append(taken[1] / taken[0])
        ways = " ".join(f"{cut[49] * 1000:9.2f} ({cut[98] * 1000:5.1f})" for cut in (statistics.quantiles(of, n=100) for of in late))
        print(f"  {f'{name}, {rate // EVENT_BYTES:,} events/s':27}{taken[0]:9.3f} s {taken[1]:8.3f} s {slower[-1]:13.3f}  {'':37}{ways}")
    for name, (size, pairs) in SATURATED.items():
        taken, _ = streamed(lines, pairs, events=size // EVENT_BYTES)
        speeds = ", ".join(f"{size / 1e6 / seconds:.0f} MB/s" for seconds in taken)
        print(f"  {'saturated, ' + name:27}{taken[0]:9.3f} s {taken[1]:8.3f} s {taken[1] / taken[0]:13.3f}  {speeds}, from the request to the end")
    for line in lines:
        line.close()
    return slower


def streamed(lines: list[Line], pairs: int, **wanted: float) -> tuple[list[float], list[list[float]]]:
    """Median seconds of the stream on each line, and how long each of its events was on its way."""
    taken: list[list[float]] = [[] for _ in lines]
    late: list[list[float]] = [[] for _ in lines]
    for pair in range(pairs):
        for number in (0, 1) if pair % 2 else (1, 0):
            raw = lines[number].raw()
            time.sleep(SETTLE_S)
            came: list[tuple[float, bytes]] = []
            began = time.perf_counter()
            for data in parts(lines[number].request(raw, **wanted)):
                came.append((time.monotonic(), data))
            taken[number].append(time.perf_counter() - began)
            late[number] += [now - float(stamp) for now, data in came for stamp in STAMP.findall(data)]
            lines[number].next()
    return [statistics.median(times) for times in taken], late


def many(direct: str, through: str) -> float:
    """The slowest of fifty streams at once over the median of fifty without the proxy; fifty sessions begun at once before."""
    medians: list[float] = []
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
        medians.append(statistics.median(took))
        print(
            f"{STREAMS} streams at once, 2 s each, {name:>6}: median {statistics.median(took):.2f} s, slowest {max(took):.2f} s, "
            f"ratio {max(took) / statistics.median(took):.3f}; latest first byte {max(began) * 1000:.0f} ms, longest silence {max(silent) * 1000:.0f} ms; "
            f"{STREAMS} sessions begun at once, latest first byte {max(opened):.0f} ms"
        )
        for line in lines:
            line.close()
    return max(took) / medians[0]


def together(lines: list[Line], play: Callable[[Line], None]) -> None:
    """Plays all lines at the same time, to their end."""
    threads = [threading.Thread(target=play, args=(line,)) for line in lines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def memory(process: running.Running, idle: int) -> float:
    """What a 10 MB body on its way adds to the resident memory, in bodies."""
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
    return (most[0] - before) / len(raw)


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
