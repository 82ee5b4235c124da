"""Controls which URL is fetched next."""

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
    #: The lease holds at least until this time, on the local clock.
    until: float
    host: str


@dataclass(eq=False)
class _Line:
    """The tasks that wait for one host."""

    waiting: Deque[Task] = field(default_factory=deque)
    #: When the next request to the host may start; infinite during a request.
    ready: float = 0
    #: When the last turn began.
    begun: float = field(default_factory=time.monotonic)
    #: Average duration of a turn, including the pause after it.
    pace: float = 0
    #: End of the return times that were already assigned.
    booked: float = 0


class Turns:
    """Controls requests: one at a time for each host, with a pause after it."""

    def __init__(self) -> None:
        self._lines: Dict[str, _Line] = {}
        self._changed = threading.Condition()
        #: May be set without the lock, for example by a signal handler.
        self.stopped = False

    def wait(self, task: Task) -> None:
        """Adds a task to the line of its host."""
        with self._changed:
            self._lines.setdefault(task.host, _Line()).waiting.append(task)
            self._changed.notify()

    def put_off(self, keep: float) -> List[Tuple[Task, float]]:
        """
        Shortens slow lines to ``keep`` tasks, from their ends. Returns the removed tasks, each with its own delay: when
        the line will have advanced that far, so that they do not all return at once.
        """
        away: List[Tuple[Task, float]] = []
        with self._changed:
            now = time.monotonic()
            for line in self._lines.values():
                # If a host has not answered yet, its turn has taken at least this long.
                pace = max(line.pace, now - line.begun)
                if len(line.waiting) <= keep or len(line.waiting) * pace < 1:
                    continue
                for task in [task for place, task in enumerate(line.waiting) if place >= keep]:
                    line.waiting.remove(task)
                    line.booked = max(line.booked, now + keep * pace) + pace
                    away.append((task, min(MOST_SECONDS, line.booked - now)))
        return away

    def next(self) -> Optional[Task]:
        """Waits for the turn of a task and returns the task. None after ``stop``."""
        with self._changed:
            while not self.stopped:
                now = time.monotonic()
                # Removes lines of hosts without tasks.
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
        """Ends a turn. The next turn of the host starts after the pause."""
        with self._changed:
            line = self._lines[host]
            line.ready = time.monotonic() + pause
            line.pace = (line.pace + line.ready - line.begun) / 2
            self._changed.notify()

    def stop(self) -> List[Task]:
        """Starts no more turns and returns the waiting tasks. Turns in progress continue."""
        with self._changed:
            self.stopped = True
            self._changed.notify_all()
            left = [task for line in self._lines.values() for task in line.waiting]
            for line in self._lines.values():
                line.waiting.clear()
            return left
