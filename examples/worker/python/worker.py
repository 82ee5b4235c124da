#!/usr/bin/env python3
"""A worker on a visited set's queue. It fetches pages and discovers their links.

It does the same as the worker in ``src``, and both can share one queue. It needs Python 3.9 or later and no other package.
"""

import argparse
import json
import math
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Dict, FrozenSet, List, Optional

from options import read_options
from pages import Page, SiteBusy, fetch_page, host_of
from robots import Robots, Rules
from service import Refused, Service, Unreachable

MOST_REDIRECTS = 10
MOST_DELAY_SECONDS = 3600


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Task:
    """A leased URL."""

    id: str
    url: str
    attempt: int
    depth: int
    redirects: int


class Later(Exception):
    """The URL returns to the queue. ``host``: its whole host waits for so many seconds, not only the URL."""

    def __init__(self, why: str, seconds: float, host: bool = False) -> None:
        super().__init__(why)
        self.seconds = math.ceil(max(0, seconds))
        self.host = host


class Worker:
    """
    Leases URLs, fetches their pages, discovers the links, and acknowledges the URLs. The set paces each host,
    and gives each host to one worker at a time.
    """

    WAIT_SECONDS = 1
    #: Delays follow the service's clock, which may be adjusted during a delay.
    CLOCK_GRACE_SECONDS = 1.0
    POLL_SECONDS = 0.5
    #: How long a URL that was given up is delayed at least. Without this, the queue would return the URL before it
    #: looks empty.
    GIVEN_UP_SECONDS = 60
    LONGEST_DELAY_SECONDS = 86400
    #: How long the worker waits for URLs whose delays it doesn't know.
    UNKNOWN_DELAY_SECONDS = 60

    def __init__(self, service: Service, options: argparse.Namespace, description: Dict[str, Any]) -> None:
        self._service = service
        self._options = options
        self._max_attempts = description.get("maxAttempts", math.inf)
        #: Leased URLs that no thread has begun.
        self._leased: "SimpleQueue[Optional[Task]]" = SimpleQueue()
        self._robots = Robots(options.user_agent, options.timeout, options.retry)
        #: No lock, because a signal handler sets this and must not wait for a lock.
        self._stopping = False
        self._over = threading.Event()
        #: Notified when a URL is settled, because a place is free then.
        self._settled = threading.Condition()
        self._held: Dict[str, Task] = {}
        self._begun = time.monotonic()
        #: The worker waits for delayed URLs until then. Each worker waits only for its own retries, because the
        #: queue's counts don't separate other workers' retries from URLs that these have given up.
        self._awaits_until = 0.0
        if description["queue"]["delayed"] > 0:
            self._await(self.UNKNOWN_DELAY_SECONDS)
        self._output = threading.Lock()
        self.counts = {"fetched": 0, "disallowed": 0, "failed": 0}

    def run(self) -> None:
        """Works until ``stop``. Without ``--forever``, also ends when no URL is left."""
        fetchers = [threading.Thread(target=self._fetch_all) for _ in range(self._options.concurrency)]
        extender = threading.Thread(target=self._extend_all)
        for thread in [extender, *fetchers]:
            thread.start()
        try:
            self._lease_all()
        finally:
            self._stopping = True
            self._give_back(self._take_leased())
            for _ in fetchers:
                self._leased.put(None)
            for thread in fetchers:
                thread.join()
            self._over.set()
            extender.join()

    def stop(self) -> None:
        """Leases no more URLs. Finishes fetches in progress and releases the rest."""
        self._stopping = True

    def _lease_all(self) -> None:
        while not self._stopping:
            with self._settled:
                free = self._options.concurrency - len(self._held)
                if free == 0:
                    self._settled.wait(self.POLL_SECONDS)
            if free == 0:
                continue
            try:
                if self._lease(free) > 0 or self._options.forever:
                    continue
                if not self._held and self._is_empty():
                    return
            except Unreachable as error:
                log(str(error))

    def _lease(self, most: int) -> int:
        leased = self._service.lease(most, self._options.lease, self.WAIT_SECONDS)
        tasks = [self._task(one) for one in leased]
        with self._settled:
            self._held.update((task.id, task) for task in tasks)
        for task in tasks:
            self._leased.put(task)
        return len(tasks)

    def _take_leased(self) -> List[Task]:
        taken: List[Task] = []
        try:
            while True:
                task = self._leased.get_nowait()
                if task is not None:
                    taken.append(task)
        except Empty:
            return taken

    def _task(self, leased: Dict[str, Any]) -> Task:
        try:
            payload = json.loads(leased.get("payload", ""))
        except ValueError:
            # Another program queued the URL with a different payload, or with none.
            payload = None
        place = payload if isinstance(payload, dict) else {}
        depth, redirects = (n if type(n) is int and n >= 0 else 0 for n in map(place.get, ("depth", "redirects")))
        return Task(leased["id"], leased["url"], leased["attempt"], depth, redirects)

    def _is_empty(self) -> bool:
        with self._settled:
            over = time.monotonic() >= self._awaits_until
        queue = self._service.describe()["queue"]
        return queue["waiting"] + queue["leased"] == 0 and (over or queue["delayed"] == 0)

    def _await(self, seconds: float) -> None:
        with self._settled:
            self._awaits_until = max(self._awaits_until, time.monotonic() + seconds + self.CLOCK_GRACE_SECONDS)

    def _extend_all(self) -> None:
        while not self._over.wait(self._options.lease / 3):
            with self._settled:
                ids = list(self._held)
            try:
                if ids:
                    self._service.extend(ids, self._options.lease)
            except (Refused, Unreachable) as error:
                log(str(error))

    def _fetch_all(self) -> None:
        while True:
            task = self._leased.get()
            if task is None:
                return
            if self._stopping:
                self._give_back([task])
                continue
            try:
                self._crawl(task)
            except Later as later:
                self._release(task, later)
            except Exception as error:  # One page's error must not stop the others.
                self._release(task, Later(str(error) or type(error).__name__, self._delay(task)))

    def _crawl(self, task: Task) -> None:
        rules = self._robots.rules_of(task.url) or self._robots.load(task.url)
        if rules.unknown is not None:
            raise Later(rules.unknown, max(rules.until - time.monotonic(), self._delay(task)), host=True)
        if self._robots.allows(rules, task.url):
            try:
                self._follow(task, self._fetch(task))
            finally:
                self._pause(rules)
        else:
            self._count("disallowed")
            self._print({"url": task.url, "depth": task.depth, "disallowed": True})
        # The links are in the queue now. If the worker is killed before this call, the page is fetched again and no
        # link is lost.
        self._service.ack([task.id])
        self._drop(task)

    def _fetch(self, task: Task) -> Page:
        try:
            return fetch_page(task.url, self._options.user_agent, self._options.timeout, self._options.max_bytes)
        except SiteBusy as error:
            # With Retry-After, the whole host waits, for all workers.
            seconds = max(error.retry_after, self._delay(task))
            raise Later(str(error), seconds, host=error.retry_after > 0) from error

    def _pause(self, rules: Rules) -> None:
        """Holds the host longer if robots.txt asks for a longer pause than the set leaves. The lease is extended."""
        end = time.monotonic() + rules.delay - self._options.delay
        while not self._stopping and time.monotonic() < end:
            time.sleep(min(self.POLL_SECONDS, max(0, end - time.monotonic())))

    def _follow(self, task: Task, page: Page) -> None:
        depth = task.depth if page.redirect else task.depth + 1
        redirects = task.redirects + 1 if page.redirect else 0
        hosts: Optional[FrozenSet[str]] = self._options.hosts
        links = [link for link in page.links if hosts is None or host_of(link) in hosts]
        if depth > self._options.max_depth or redirects > MOST_REDIRECTS:
            links = []
        payload = json.dumps({"depth": depth, "redirects": redirects})
        results = self._service.discover([{"url": link, "payload": payload} for link in links])
        self._count("fetched")
        visit = {"url": task.url, "depth": task.depth, "status": page.status}
        visit.update(links=len(links), new=results.count("new"), **({"cut": True} if page.cut else {}))
        self._print(visit)

    def _delay(self, task: Task) -> float:
        """Delay before the next attempt, doubled each time."""
        return min(MOST_DELAY_SECONDS, self._options.retry * 2 ** min(task.attempt - 1, 30))

    def _release(self, task: Task, later: Later) -> None:
        self._count("failed")
        log(f"{task.url}: {later}, attempt {task.attempt}")
        # After the last attempt that the set allows, the URL is a dead letter.
        given_up = not self._options.forever and self._options.attempts <= task.attempt < self._max_attempts
        seconds = 0 if later.host else later.seconds
        if given_up:
            # The delay grows with the running time. Otherwise, URLs that were given up would keep returning before the
            # others are done.
            ran = math.ceil(time.monotonic() - self._begun)
            seconds = min(self.LONGEST_DELAY_SECONDS, max(self.GIVEN_UP_SECONDS, ran, seconds))
        try:
            self._service.release([task.id], str(later), seconds, later.seconds if later.host else 0)
        except (Refused, Unreachable) as error:
            log(str(error))
        if not given_up:
            # Even after a failed call, because the service may have executed it.
            self._await(seconds)
        self._drop(task)

    def _give_back(self, tasks: List[Task]) -> None:
        if not tasks:
            return
        try:
            self._service.release([task.id for task in tasks], "the worker was stopped", count_attempt=False)
        except (Refused, Unreachable) as error:
            log(str(error))
        for task in tasks:
            self._drop(task)

    def _drop(self, task: Task) -> None:
        with self._settled:
            self._held.pop(task.id, None)
            self._settled.notify()

    def _count(self, what: str) -> None:
        with self._output:
            self.counts[what] += 1

    def _print(self, visit: Dict[str, Any]) -> None:
        with self._output:
            print(json.dumps(visit), flush=True)


def prepare(service: Service, options: argparse.Namespace) -> Dict[str, Any]:
    """
    Creates the set. If it exists and gives each host to one worker at a time, uses it as it is. Returns its description.
    """
    try:
        service.create(options.attempts, options.delay)
    except Refused as error:
        if error.code != "FILTER_EXISTS":
            raise
        if service.describe().get("perHost", {}).get("maxLeased") != 1:
            raise ValueError(
                f"{options.set} exists, but its perHost.maxLeased is not 1, so workers could send parallel requests to a host"
            ) from error
        log(f"{options.set} exists and is used as it is")
    service.discover([{"url": url, "payload": '{"depth":0}'} for url in options.starts])
    return service.describe()


def main() -> int:
    options = read_options()
    try:
        service = Service(options.service, options.set, os.environ.get("UNSEEN_API_KEY"), log)
        worker = Worker(service, options, prepare(service, options))
    except (Refused, Unreachable, ValueError) as error:
        log(str(error))
        return 1

    def stop(number: int, _: Any) -> None:
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, lambda number, _: os._exit(128 + number))
        # Not `print`, because the signal may have interrupted it.
        name = signal.Signals(number).name
        os.write(2, f"{name}: finishing the fetches in progress; signal again to end immediately\n".encode())
        worker.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    try:
        worker.run()
    except Refused as error:
        log(str(error))
        return 1
    finally:
        log(", ".join(f"{count} {what}" for what, count in worker.counts.items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
