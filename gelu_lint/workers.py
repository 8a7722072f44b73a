"""Work spread over processes: forked where the system can, so that nothing is imported or sent anew.

The parent only hands out numbers and gathers results; a process that dies costs what it was at, and no more.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # the name is enough for type checkers, and importing typing takes 1.5 ms
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Work = Callable[[Any], Any]

_CHUNKS = 1_000  # numbers of chunks wait in a pipe, four bytes each, which holds more than that everywhere
_HEAD = 4


def cores() -> int:
    """The processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(
    work: Work,
    items: Sequence[Any],
    jobs: int,
    modest: bool = False,
    meanwhile: Callable[[], object] | None = None,
) -> Iterator[tuple[int, Any]]:
    """(index, work(item)) for each item, as they are done, from ``jobs`` processes.

    ``modest`` ones leave the cores to their parent where it has work of its own; ``meanwhile`` is called once, as soon
    as they are at work, or not at all. Some items are missing where a process
    died: the one it died at, and at most a few beside. Results must pickle, and where the system cannot fork so must
    ``work`` and the items.
    """
    if _can_fork():
        yield from _forked(lambda at: work(items[at]), len(items), jobs, modest, meanwhile)
        return
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    with ProcessPoolExecutor(min(jobs, len(items)), initializer=_die_silently) as pool:
        try:
            yield from enumerate(pool.map(work, items, chunksize=4))
        except BrokenProcessPool:
            return
        except KeyboardInterrupt:
            from multiprocessing import active_children

            for child in active_children():  # else leaving the pool waits for all that was handed to it
                child.terminate()
            raise


def alone(work: Work, item: Any) -> Iterator[tuple[int, Any]]:
    """The same for one item in a process of its own: nothing if that dies."""
    return spread(work, [item], 1)


def _can_fork() -> bool:
    """Whether to fork: not on macOS, whose libraries do not stand it, nor beside threads, whose locks it would copy."""
    threads = sys.modules.get("threading")
    return hasattr(os, "fork") and sys.platform != "darwin" and (threads is None or threads.active_count() == 1)


def _die_silently() -> None:
    """Ctrl-C reaches every process of the terminal; only the main one has something to say. What a shell started in the
    background ignores it, and so do we."""
    import signal

    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _forked(
    work: Callable[[int], Any], count: int, jobs: int, modest: bool, meanwhile: Callable[[], object] | None
) -> Iterator[tuple[int, Any]]:
    """``spread`` for the numbers below ``count``."""
    import pickle
    import select
    import signal

    size = max(1, min(count // (jobs * 32), 16), -(-count // _CHUNKS))
    take, give = os.pipe()
    os.write(give, b"".join(at.to_bytes(_HEAD, "big") for at in range(0, count, size)))
    os.close(give)
    pipes: dict[int, bytearray] = {}
    children: list[int] = []
    try:
        for _ in range(min(jobs, -(-count // size))):
            inlet, outlet = os.pipe()
            try:
                child = os.fork()
            except OSError:  # no more processes: those that there are do the work, or we
                os.close(inlet)
                os.close(outlet)
                break
            if not child:
                code = 1
                try:
                    _die_silently()
                    if modest:
                        os.nice(5)
                    for pipe in (inlet, *pipes):
                        os.close(pipe)
                    while head := os.read(take, _HEAD):
                        start = int.from_bytes(head, "big")
                        done = [(at, work(at)) for at in range(start, min(start + size, count))]
                        data = pickle.dumps(done, pickle.HIGHEST_PROTOCOL)
                        _send(outlet, len(data).to_bytes(_HEAD, "big") + data)
                    code = 0
                finally:
                    os._exit(code)  # what waits in buffers is the parent's to write
            children.append(child)
            os.close(outlet)
            pipes[inlet] = bytearray()
        if meanwhile is not None:
            meanwhile()
        if not children:
            yield from ((at, work(at)) for at in range(count))
        while pipes:
            for inlet in select.select([*pipes], [], [])[0]:
                data = os.read(inlet, 1 << 20)
                pipes[inlet] += data
                yield from (pair for whole in _messages(pipes[inlet]) for pair in pickle.loads(whole))
                if not data:
                    del pipes[inlet]
                    os.close(inlet)
    finally:
        os.close(take)
        for inlet in pipes:
            os.close(inlet)
        for child in children:
            if pipes:  # left early: nobody waits for what they do
                os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)


def _send(pipe: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(pipe, view) :]


def _messages(buffer: bytearray) -> Iterator[bytes]:
    """The whole messages at the start of a buffer, which they are taken out of."""
    while len(buffer) >= _HEAD:
        end = _HEAD + int.from_bytes(buffer[:_HEAD], "big")
        if len(buffer) < end:
            return
        yield bytes(buffer[_HEAD:end])
        del buffer[:end]
