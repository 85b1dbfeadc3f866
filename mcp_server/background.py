"""What the server does besides answering: a thread for upkeep, which embeds what is not embedded yet too. Its faults are noted and cost no answer."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_S = 2.0  # the client's first requests come first
LAST_S = 0.5


def started(first_s: float = FIRST_S) -> Callable[[], None]:
    """Starts the thread, and returns what ends it: at once while it waits, else after what it is at, or with the process."""
    from threading import Event, Thread

    ended = Event()

    def work() -> None:
        if ended.wait(first_s):
            return
        from tenon.base import faults
        from tenon.world import backlog, upkeep

        said = {"embedding": "", "upkeep": ""}
        while True:
            for name, once in (("upkeep", upkeep.once), ("embedding", backlog.once)):
                try:
                    once(ended.is_set)
                except Exception as error:  # noqa: BLE001 - the door: whatever happens here, the server answers on
                    if said[name] != str(error):  # once, and not every minute
                        faults.note(name, error)
                    said[name] = str(error)
            if ended.wait(backlog.POLL_S):
                return

    thread = Thread(target=work, name="embedding", daemon=True)
    thread.start()

    def end() -> None:
        ended.set()
        thread.join(LAST_S)

    return end
