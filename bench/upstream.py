"""A Messages API that does nothing but answer fast, in a process of its own: `python3 -I -S bench/upstream.py` prints its port.

The header `x-bench` holds JSON with what is wanted: `events` text deltas of `size` characters, `gap_s` between two (or between two bursts
of `burst` each), `hold_s` before the first byte, `tokens` for the usage. Deltas without a gap are sent many at once, as fast as the client takes them. Every delta's text
begins with the time it was sent at (the clock is the machine's), so that whoever receives it can tell how long it was on its way.
"""

from __future__ import annotations

import json
import socket
import threading
import time

BATCH_BYTES = 16_384
STAMP = 20  # characters of a time


def main() -> None:
    """Serves until it is killed."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def serve(connection: socket.socket) -> None:
    """Answers the requests of one connection."""
    waiting = bytearray()
    with connection:
        try:
            while True:
                while (end := waiting.find(b"\r\n\r\n")) < 0:
                    data = connection.recv(65_536)
                    if not data:
                        return
                    waiting += data
                headers = dict(line.split(": ", 1) for line in waiting[:end].decode("latin-1").split("\r\n")[1:])
                headers = {name.lower(): value for name, value in headers.items()}
                left = int(headers.get("content-length", "0")) - (len(waiting) - end - 4)
                while left > 0:
                    data = connection.recv(min(left, 1 << 20))
                    if not data:
                        return
                    left -= len(data)
                waiting.clear()
                answer(connection, json.loads(headers.get("x-bench") or "{}"))
        except OSError:
            return  # the client has seen enough


def answer(connection: socket.socket, wanted: dict[str, float]) -> None:
    """Streams one message."""
    time.sleep(wanted.get("hold_s", 0))
    usage = {"input_tokens": int(wanted.get("tokens", 100)), "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "output_tokens": 1}
    message: dict[str, object] = {
        "id": "msg_bench",
        "type": "message",
        "role": "assistant",
        "model": "claude-opus-5-5",
        "content": [],
        "stop_reason": None,
        "usage": usage,
    }
    opening = event({"type": "message_start", "message": message})
    opening += event({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ntransfer-encoding: chunked\r\n\r\n" + chunk(opening))
    gap_s, size, burst = wanted.get("gap_s", 0), int(wanted.get("size", 40)), int(wanted.get("burst", 1))
    delta = {"type": "text_delta", "text": "@" * STAMP + "x" * (size - STAMP)}
    first, last = event({"type": "content_block_delta", "index": 0, "delta": delta}).split(b"@" * STAMP)
    batch = b""
    due = time.monotonic()
    for number in range(int(wanted.get("events", 1))):
        if gap_s and number % burst == 0:
            due += gap_s
            time.sleep(max(0.0, due - time.monotonic()))
        batch += first + b"%020.9f" % time.monotonic() + last
        if number % burst == burst - 1 if gap_s else len(batch) > BATCH_BYTES:
            connection.sendall(chunk(batch))
            batch = b""
    ending = event({"type": "content_block_stop", "index": 0})
    ending += event({"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": {"output_tokens": 10}})
    connection.sendall(chunk(batch + ending + event({"type": "message_stop"})) + b"0\r\n\r\n")


def event(value: dict[str, object]) -> bytes:
    """One event of the stream."""
    return f"event: {value['type']}\ndata: {json.dumps(value)}\n\n".encode()


def chunk(data: bytes) -> bytes:
    """One chunk of the body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


if __name__ == "__main__":
    main()
