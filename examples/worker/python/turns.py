"""Whose turn it is."""

import math
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Deque, Dict, List, Optional, Tuple

MOST_SECONDS = 3600


@dataclass(eq=False)
class Task:
    """A leased URL."""

    id: str
    url: str
    attempt: int
    depth: int
    redirects: int
    #: Up to then the lease surely holds, by our clock.
    until: float
    host: str


@dataclass(eq=False)
class _Line:
    """Those who wait for one host."""

    waiting: Deque[Task] = field(default_factory=deque)
    #: When the host may be asked again; infinite while it is asked.
    ready: float = 0
    #: When the last turn began.
    begun: float = field(default_factory=time.monotonic)
    #: How long turns take, with the pauses after them.
    pace: float = 0
    #: Up to when the times to come back are given away.
    booked: float = 0


class Turns:
    """Who may ask which host when: one request at a time for each host, and a pause after it."""

    def __init__(self) -> None:
        self._lines: Dict[str, _Line] = {}
        self._changed = threading.Condition()
        #: Set by whoever must not wait for a lock, too.
        self.stopped = False

    def wait(self, task: Task) -> None:
        """Puts a task into the line of its host."""
        with self._changed:
            self._lines.setdefault(task.host, _Line()).waiting.append(task)
            self._changed.notify()

    def put_off(self, keep: float) -> List[Tuple[Task, float]]:
        """Shortens lines that go slowly to ``keep``, from their ends. Answers who is sent away, and for how many seconds: until
        the line will have come so far, so that they do not all come back at once."""
        away: List[Tuple[Task, float]] = []
        with self._changed:
            now = time.monotonic()
            for line in self._lines.values():
                # Of a host that has not answered yet it is known how long it has not.
                pace = max(line.pace, now - line.begun)
                if len(line.waiting) <= keep or len(line.waiting) * pace < 1:
                    continue
                for task in [task for place, task in enumerate(line.waiting) if place >= keep]:
                    line.waiting.remove(task)
                    line.booked = max(line.booked, now + keep * pace) + pace
                    away.append((task, min(MOST_SECONDS, line.booked - now)))
        return away

    def next(self) -> Optional[Task]:
        """A task whose turn it is, when there is one. None when there are no more turns."""
        with self._changed:
            while not self.stopped:
                now = time.monotonic()
                # A host that nobody asks for is forgotten.
                for host in [h for h, line in self._lines.items() if not line.waiting and line.ready <= now]:
                    del self._lines[host]
                line = min((l for l in self._lines.values() if l.waiting), key=lambda l: l.ready, default=None)
                if line is not None and line.ready <= now:
                    line.ready, line.begun = math.inf, now
                    return line.waiting.popleft()
                ready = math.inf if line is None else line.ready
                self._changed.wait(None if ready == math.inf else ready - now)
            return None

    def leave(self, host: str, pause: float) -> None:
        """Ends a turn: the host is left alone for so long."""
        with self._changed:
            line = self._lines[host]
            line.ready = time.monotonic() + pause
            line.pace = (line.pace + line.ready - line.begun) / 2
            self._changed.notify()

    def stop(self) -> List[Task]:
        """Gives no more turns, and gives back those who wait. Turns that have begun go on."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()
            left = [task for line in self._lines.values() for task in line.waiting]
            for line in self._lines.values():
                line.waiting.clear()
            return left
