#!/usr/bin/env python3
"""A worker on the queue of a visited set, as the one in ``src``, with nothing but Python's standard library.

Both can work on one queue at once. Python 3.9 or later.
"""

import argparse
import json
import math
import os
import random
import re
import signal
import socket
import sys
import threading
import time
import uuid
from collections import deque
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from typing import Any, Callable, Deque, Dict, FrozenSet, List, Optional, Set, Tuple
from urllib.parse import quote, urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

#: Of a set that is made: it grows when there are more URLs.
CAPACITY = 1_000_000
MOST_REDIRECTS = 10
MOST_DELAY_SECONDS = 3600


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


# The service


class Refused(Exception):
    """The service answered that it did not do what was asked."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{code or status}: {detail}")
        self.code = code


class Unreachable(Exception):
    """Nobody answered in time who could do what was asked. It may have been done."""


class _Passing(Exception):
    """To be asked again, at the soonest after so many seconds if the service says so."""

    def __init__(self, text: str, seconds: Optional[float]) -> None:
        super().__init__(text)
        self.seconds = seconds


class Service:
    """Calls about one visited set. A call is repeated under one Idempotency-Key, so nothing is done twice."""

    ATTEMPT_SECONDS = 30.0
    REPEAT_SECONDS = 60.0
    FIRST_WAIT, MOST_WAIT = 0.1, 5.0
    PASSING = frozenset({408, 429, 502, 503, 504})

    def __init__(self, url: str, name: str, api_key: Optional[str]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"SERVICE must be an http or https URL, not {url!r}")
        self._connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._address = (parts.hostname, parts.port)
        self._base = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._name = name
        self._of_thread = threading.local()

    def create(self, max_attempts: int) -> None:
        self._send("POST", "/v1/visited-sets", {"name": self._name, "capacity": CAPACITY, "maxAttempts": max_attempts})

    def describe(self) -> Dict[str, Any]:
        return self._send("GET", self._path(""))

    def discover(self, urls: List[Dict[str, str]]) -> List[str]:
        """``new``, ``seen`` or ``invalid`` for each: marked and queued in one step."""
        results: List[str] = []
        for start in range(0, len(urls), 1000):
            results += self._send("POST", self._path("/urls/discover"), {"urls": urls[start : start + 1000]})["results"]
        return results

    def lease(self, most: int, lease_seconds: int, wait_seconds: int) -> List[Dict[str, Any]]:
        body = {"max": most, "leaseSeconds": lease_seconds, "waitSeconds": wait_seconds}
        return self._send("POST", self._path("/queue/lease"), body)["urls"]

    def ack(self, ids: List[str]) -> List[str]:
        return self._send("POST", self._path("/queue/ack"), {"ids": ids})["results"]

    def release(self, ids: List[str], reason: str, delay_seconds: int) -> List[str]:
        # At most 256 bytes. A character that is cut in two is left out.
        short = reason.encode("utf-8", "replace")[:256].decode("utf-8", "ignore")
        body = {"ids": ids, "delaySeconds": delay_seconds, "reason": short}
        return self._send("POST", self._path("/queue/release"), body)["results"]

    def extend(self, ids: List[str], lease_seconds: int) -> List[str]:
        return self._send("POST", self._path("/queue/extend"), {"ids": ids, "leaseSeconds": lease_seconds})["results"]

    def _path(self, rest: str) -> str:
        return f"/v1/visited-sets/{quote(self._name, safe='')}{rest}"

    def _send(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Any:
        end = time.monotonic() + self.REPEAT_SECONDS
        headers = {**self._headers, "Idempotency-Key": uuid.uuid4().hex}
        data = None if body is None else json.dumps(body).encode()
        wait = self.FIRST_WAIT
        while True:
            try:
                return self._attempt(method, path, data, headers)
            except (OSError, HTTPException, _Passing) as error:
                asked = error.seconds if isinstance(error, _Passing) else None
                pause = random.uniform(0, wait) if asked is None else asked + random.uniform(0, 0.25)
                if time.monotonic() + pause >= end:
                    raise Unreachable(f"{method} {path}: {error or type(error).__name__}") from error
                time.sleep(pause)
                wait = min(self.MOST_WAIT, 2 * wait)

    def _attempt(self, method: str, path: str, data: Optional[bytes], headers: Dict[str, str]) -> Any:
        # A connection for each thread. http.client opens it again when it was closed.
        connection: Optional[HTTPConnection] = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._connect(*self._address, timeout=self.ATTEMPT_SECONDS)
            self._of_thread.connection = connection
        try:
            if connection.sock is None:
                connection.connect()
                connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.request(method, self._base + path, data, headers)
            response = connection.getresponse()
            text = response.read()
        except BaseException:
            connection.close()
            raise
        try:
            answer = json.loads(text) if text else None
        except ValueError:
            answer = None
        if 200 <= response.status < 300 and answer is not None:
            return answer
        problem = answer if isinstance(answer, dict) else {}
        code, detail = str(problem.get("code", "")), str(problem.get("detail", "no Unseen service answered"))
        if (response.status in self.PASSING and code != "STORE_DATA_LOST") or code == "FILTER_BUSY":
            seconds = response.getheader("Retry-After", "")
            raise _Passing(f"{response.status} {code}", float(seconds) if seconds.isdigit() else None)
        raise Refused(response.status, code, detail)


# Pages


@dataclass(frozen=True)
class Answer:
    status: int
    headers: HTTPMessage
    text: str
    #: The page was longer than what was read of it.
    cut: bool


def host_of(url: str) -> str:
    """``host``, or ``host:port`` if the port is not that of the scheme. Throws ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no http or https URL")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    return host if parts.port in (None, 443 if parts.scheme == "https" else 80) else f"{host}:{parts.port}"


def site_of(url: str) -> str:
    return f"{urlsplit(url).scheme}://{host_of(url)}"


def get(url: str, user_agent: str, timeout: float, wanted: Callable[[int, HTTPMessage], int]) -> Answer:
    """Asks for a page, and follows no redirect. ``timeout`` is for all of it; ``wanted``: how many bytes are read."""
    parts = urlsplit(url)
    kept = "%:@!$&'()*+,;=/?"
    target = quote(parts.path or "/", safe=kept) + (f"?{quote(parts.query, safe=kept)}" if parts.query else "")
    host = urlsplit(site_of(url)).hostname
    kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
    connection = kind(host, parts.port, timeout=timeout)
    late = threading.Event()
    begun = time.monotonic()
    try:
        connection.connect()
        # The timeout of a socket is that of each of its reads.
        timer = threading.Timer(begun + timeout - time.monotonic(), _hang_up, (connection.sock, late))
        timer.start()
        try:
            headers = {"User-Agent": user_agent, "Accept": "text/html,application/xhtml+xml,*/*;q=0.5"}
            connection.request("GET", target, headers={**headers, "Accept-Encoding": "identity"})
            response = connection.getresponse()
            most = wanted(response.status, response.headers)
            data = response.read(most + 1) if most > 0 else b""
        finally:
            timer.cancel()
    except (OSError, HTTPException, ValueError) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            raise TimeoutError(f"no whole answer within {timeout:g} s") from error
        raise
    finally:
        connection.close()
    if late.is_set():
        raise TimeoutError(f"no whole answer within {timeout:g} s")
    charset = response.headers.get_content_charset() or "utf-8"
    try:
        text = data[:most].decode(charset, "replace")
    except LookupError:
        text = data[:most].decode("utf-8", "replace")
    return Answer(response.status, response.headers, text, len(data) > most > 0)


def _hang_up(sock: socket.socket, late: threading.Event) -> None:
    late.set()
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.hrefs: List[str] = []
        self.base: Optional[str] = None
        self.follow = True

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        values = dict(attrs)
        href = values.get("href")
        if tag == "base" and href is not None and self.base is None:
            self.base = href
        elif tag in ("a", "area") and href is not None:
            self.hrefs.append(href)
        elif tag == "meta" and (values.get("name") or "").lower() == "robots":
            if re.search(r"\b(nofollow|none)\b", values.get("content") or "", re.IGNORECASE):
                self.follow = False


def links_of(html: str, page: str) -> List[str]:
    """Where a page leads to, each once, without fragments. Nowhere if the page asks robots not to follow."""
    parser = _Links()
    parser.feed(html)
    parser.close()
    if not parser.follow:
        return []
    base = resolve(parser.base or "", page) or page
    links = (resolve(href, base) for href in parser.hrefs)
    return list(dict.fromkeys(link for link in links if link is not None))


def resolve(href: str, base: str) -> Optional[str]:
    """None for what is no http or https URL."""
    try:
        url = urldefrag(urljoin(base, href.strip())).url
        host_of(url)
        return url
    except ValueError:
        return None


# Manners


class Later(Exception):
    """The URL is to come back after so many seconds. A failure: it could not be fetched, rather than was not tried."""

    def __init__(self, why: str, seconds: float, failure: bool) -> None:
        super().__init__(why)
        self.seconds = math.ceil(max(0, seconds))
        self.failure = failure


@dataclass(frozen=True)
class Rules:
    """What the robots.txt of a site says. ``unknown``: why nobody knows."""

    parser: RobotFileParser
    delay: float
    until: float
    unknown: Optional[str] = None


class Robots:
    """The robots.txt of each site, asked for once a day (RFC 9309)."""

    KEPT_SECONDS = 86_400
    MOST_DELAY = 3600
    MOST_SITES = 10_000
    MOST_BYTES = 512 * 1024
    MOST_REDIRECTS = 5

    def __init__(self, user_agent: str, timeout: float, retry: float) -> None:
        self._user_agent = user_agent
        self._timeout = timeout
        self._retry = retry
        self._kept: Dict[str, Rules] = {}
        self._lock = threading.Lock()

    def rules_of(self, url: str) -> Optional[Rules]:
        """None if the site is to be asked."""
        with self._lock:
            rules = self._kept.get(site_of(url))
        return rules if rules is not None and time.monotonic() < rules.until else None

    def load(self, url: str) -> Rules:
        """Asks the site. One that does not answer is asked again later, and allows nothing until then."""
        try:
            rules = self._ask(f"{site_of(url)}/robots.txt")
        except (OSError, HTTPException, ValueError) as error:
            rules = self._unknown(str(error) or type(error).__name__)
        with self._lock:
            self._kept.pop(site_of(url), None)
            self._kept[site_of(url)] = rules
            if len(self._kept) > self.MOST_SITES:
                del self._kept[next(iter(self._kept))]
        return rules

    def allows(self, rules: Rules, url: str) -> bool:
        return rules.unknown is None and rules.parser.can_fetch(self._user_agent, url)

    def _ask(self, url: str) -> Rules:
        for _ in range(self.MOST_REDIRECTS + 1):
            answer = get(url, self._user_agent, self._timeout, lambda status, _: self.MOST_BYTES if status == 200 else 0)
            location = answer.headers.get("Location") if 300 <= answer.status < 400 else None
            if location is None:
                break
            url = resolve(location, url) or url
        else:
            return self._unknown("too many redirects")
        if answer.status == 429 or answer.status >= 500:
            return self._unknown(f"HTTP {answer.status}")
        parser = RobotFileParser()
        parser.parse(answer.text.splitlines() if answer.status == 200 else [])
        delay = float(parser.crawl_delay(self._user_agent) or 0)
        return Rules(parser, min(self.MOST_DELAY, delay), time.monotonic() + self.KEPT_SECONDS)

    def _unknown(self, why: str) -> Rules:
        return Rules(RobotFileParser(), 0, time.monotonic() + self._retry, f"robots.txt: {why}")


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
    begun: float = 0
    #: How long the last turn took, with the pause after it.
    pace: float = 1
    #: Up to when the times to come back are given away.
    booked: float = 0


class Turns:
    """Who may ask which host when: one request at a time for each host, and a pause after it."""

    def __init__(self) -> None:
        self._lines: Dict[str, _Line] = {}
        self._changed = threading.Condition()
        self._stopped = False

    def wait(self, task: Task) -> bool:
        """Puts a task into the line of its host. False: there are no more turns."""
        with self._changed:
            if not self._stopped:
                self._lines.setdefault(task.host, _Line()).waiting.append(task)
                self._changed.notify()
            return not self._stopped

    def waiting(self, host: str) -> int:
        with self._changed:
            return len(self._lines[host].waiting) if host in self._lines else 0

    def book(self, host: str) -> float:
        """In how many seconds one that finds the line too long should come back: each at another time."""
        with self._changed:
            line, now = self._lines.get(host, _Line()), time.monotonic()
            line.booked = max(line.booked, now + len(line.waiting) * line.pace) + line.pace
            return min(MOST_DELAY_SECONDS, line.booked - now)

    def next(self) -> Optional[Task]:
        """A task whose turn it is, when there is one. None when there are no more turns."""
        with self._changed:
            while not self._stopped:
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
            line.pace = line.ready - line.begun
            self._changed.notify()

    def stop(self) -> List[Task]:
        """Gives no more turns, and gives back those who wait. Turns that have begun go on."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
            left = [task for line in self._lines.values() for task in line.waiting]
            for line in self._lines.values():
                line.waiting.clear()
            return left


# The worker


@dataclass(frozen=True)
class Page:
    status: int
    links: List[str]
    redirect: bool = False
    cut: bool = False


class Worker:
    """Leases URLs, fetches them, discovers what they lead to, and acknowledges them."""

    WAIT_SECONDS = 1
    POLL_SECONDS = 0.5

    def __init__(self, service: Service, options: argparse.Namespace, max_attempts: float) -> None:
        self._service = service
        self._options = options
        self._max_attempts = max_attempts
        self._turns = Turns()
        self._robots = Robots(options.user_agent, options.timeout, options.retry)
        self._stopping = threading.Event()
        self._over = threading.Event()
        #: Whoever settles a URL makes room for another.
        self._settled = threading.Condition()
        self._held: Dict[str, Task] = {}
        self._output = threading.Lock()
        self.counts = {"fetched": 0, "disallowed": 0, "failed": 0, "given back": 0}

    def run(self) -> None:
        """Works until it is stopped or, unless it is to go on for ever, until there is nothing left."""
        fetchers = [threading.Thread(target=self._fetch_all) for _ in range(self._options.concurrency)]
        extender = threading.Thread(target=self._extend_all)
        for thread in [extender, *fetchers]:
            thread.start()
        try:
            self._lease_all()
        finally:
            self._give_back(self._turns.stop())
            for thread in fetchers:
                thread.join()
            self._over.set()
            extender.join()

    def stop(self) -> None:
        """Takes nothing more. What is being fetched is fetched to its end, the rest is given back."""
        self._stopping.set()

    def _lease_all(self) -> None:
        while not self._stopping.is_set():
            with self._settled:
                free = self._options.held - len(self._held)
                if free == 0:
                    self._settled.wait(self.POLL_SECONDS)
                    continue
            try:
                if self._lease(free) > 0 or self._options.forever:
                    continue
                if not self._held and self._is_empty():
                    return
            except Unreachable as error:
                log(str(error))
            self._stopping.wait(self.POLL_SECONDS)

    def _lease(self, most: int) -> int:
        # By the time it was asked for, a lease ends no sooner than we think.
        until = time.monotonic() + self._options.lease
        leased = self._service.lease(most, self._options.lease, self.WAIT_SECONDS)
        tasks = [self._task(one, until) for one in leased]
        with self._settled:
            self._held.update((task.id, task) for task in tasks)
        if self._stopping.is_set():
            self._give_back(tasks)
            return 0
        for task in tasks:
            # An attempt is a lease, whether the page was asked for or not. So only in the first half of its attempts is a URL
            # put off, and the other half is left for failures. After that it waits here.
            too_many = self._turns.waiting(task.host) >= self._options.per_host
            if too_many and 2 * task.attempt < self._max_attempts:
                self._release(task, Later("its host is busy", self._turns.book(task.host), failure=False))
            else:
                self._turns.wait(task)
        return len(tasks)

    def _task(self, leased: Dict[str, Any], until: float) -> Task:
        try:
            payload = json.loads(leased.get("payload", ""))
        except ValueError:
            # Whoever put the URL into the queue gave it something else to carry, or nothing.
            payload = None
        place = payload if isinstance(payload, dict) else {}
        depth, redirects = (n if type(n) is int and n >= 0 else 0 for n in map(place.get, ("depth", "redirects")))
        try:
            host = host_of(leased["url"])
        except ValueError:
            host = ""
        return Task(leased["id"], leased["url"], leased["attempt"], depth, redirects, until, host)

    def _is_empty(self) -> bool:
        queue = self._service.describe()["queue"]
        return queue["waiting"] + queue["leased"] + queue["delayed"] == 0

    def _extend_all(self) -> None:
        while not self._over.wait(self._options.lease / 3):
            with self._settled:
                tasks = list(self._held.values())
            try:
                if tasks:
                    self._extend(tasks)
            except (Refused, Unreachable) as error:
                log(str(error))

    def _extend(self, tasks: List[Task]) -> None:
        until = time.monotonic() + self._options.lease
        words = self._service.extend([task.id for task in tasks], self._options.lease)
        for task, word in zip(tasks, words):
            task.until = until if word == "extended" else -math.inf

    def _fetch_all(self) -> None:
        while True:
            task = self._turns.next()
            if task is None:
                return
            try:
                self._crawl(task)
            except Later as later:
                self._release(task, later)
            except (OSError, HTTPException, ValueError, Refused, Unreachable) as error:
                why = str(error) or type(error).__name__
                self._release(task, Later(why, self._delay(task), failure=True))

    def _crawl(self, task: Task) -> None:
        page = self._fetch_in_turn(task)
        if page is not None:
            self._follow(task, page)
        # After its links are in the queue: a worker that dies in between loses none, the page is fetched again.
        self._service.ack([task.id])
        self._drop(task)

    def _fetch_in_turn(self, task: Task) -> Optional[Page]:
        """None if robots are not to fetch it."""
        asked = False
        try:
            self._hold(task)
            rules = self._robots.rules_of(task.url)
            if rules is None:
                asked = True
                rules = self._robots.load(task.url)
            if rules.unknown is not None:
                raise Later(rules.unknown, max(rules.until - time.monotonic(), self._delay(task)), failure=True)
            if not self._robots.allows(rules, task.url):
                self._count("disallowed")
                self._print({"url": task.url, "depth": task.depth, "disallowed": True})
                return None
            asked = True
            return self._fetch(task)
        finally:
            known = self._robots.rules_of(task.url) if asked else None
            self._turns.leave(task.host, max(self._options.delay, known.delay if known else 0) if asked else 0)

    def _hold(self, task: Task) -> None:
        """Makes sure that the URL is still ours: while the service was away its lease may have ended."""
        if time.monotonic() >= task.until:
            self._extend([task])
            if time.monotonic() >= task.until:
                raise Later("the lease is over", 0, failure=False)

    def _fetch(self, task: Task) -> Page:
        options = self._options

        def wanted(status: int, headers: HTTPMessage) -> int:
            is_html = headers.get_content_type() in ("text/html", "application/xhtml+xml")
            return options.max_bytes if 200 <= status < 300 and is_html else 0

        answer = get(task.url, options.user_agent, options.timeout, wanted)
        if answer.status in (408, 429) or answer.status >= 500:
            asked = answer.headers.get("Retry-After", "")
            seconds = min(MOST_DELAY_SECONDS, int(asked)) if re.fullmatch(r"[0-9]{1,9}", asked) else 0
            raise Later(f"HTTP {answer.status}", max(seconds, self._delay(task)), failure=True)
        location = answer.headers.get("Location") if 300 <= answer.status < 400 else None
        if location is not None:
            # What a redirect leads to is a URL like others: it has a host and rules of its own, and may have been fetched.
            to = resolve(location, task.url)
            return Page(answer.status, [] if to is None else [to], redirect=True)
        return Page(answer.status, links_of(answer.text, task.url), cut=answer.cut)

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
        """Twice as long each time."""
        return min(MOST_DELAY_SECONDS, self._options.retry * 2 ** min(task.attempt - 1, 30))

    def _release(self, task: Task, later: Later) -> None:
        self._count("failed" if later.failure else "given back")
        if later.failure:
            log(f"{task.url}: {later}, attempt {task.attempt}")
        try:
            self._service.release([task.id], str(later), later.seconds)
        except (Refused, Unreachable) as error:
            log(str(error))
        self._drop(task)

    def _give_back(self, tasks: List[Task]) -> None:
        if not tasks:
            return
        try:
            self._service.release([task.id for task in tasks], "the worker was stopped", 0)
        except (Refused, Unreachable) as error:
            log(str(error))
        for task in tasks:
            self._count("given back")
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


# The command line


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, not {text!r}")
        return int(text)

    return read


def seconds(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or not least <= float(text) <= most:
            raise argparse.ArgumentTypeError(f"must be seconds from {least:g} to {most:g}, not {text!r}")
        return float(text)

    return read


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A worker on the queue of a visited set.")
    add = parser.add_argument
    add("service", metavar="SERVICE", help="such as http://127.0.0.1:3000 (its key: UNSEEN_API_KEY)")
    add("set", metavar="SET", help="the visited set; workers of one set share its queue")
    add("starts", metavar="START", nargs="+", help="where the crawl begins")
    add("--concurrency", type=whole(1, 250), default=8, help="pages fetched at once (8)")
    add("--held", type=whole(1, 1000), help="URLs leased at once, most of which wait for their host (4 x concurrency)")
    add("--delay", type=seconds(0, 3600), default=1.0, help="seconds between two requests to a host (1)")
    add("--user-agent", default="unseen-worker/1.0", help='the part before "/" is looked up in robots.txt')
    add("--host", action="append", default=[], help="follow links to this host, too (the hosts of START)")
    add("--any-host", action="store_true", help="follow links to whatever host")
    add("--max-depth", type=whole(0, 1_000_000), default=math.inf, help="follow links so many steps")
    add("--max-bytes", type=whole(1, 100_000_000), default=2_000_000, help="read so much of a page (2000000)")
    add("--timeout", type=seconds(0.1, 3600), default=30.0, help="seconds of a fetch (30)")
    add("--lease", type=whole(3, 86_400), default=60, help="seconds the URLs of a worker that dies are away (60)")
    add("--attempts", type=whole(1, 1_000_000), default=8, help="how often a URL is handed out, of a set that is made (8)")
    add("--retry", type=seconds(0, 3600), default=10.0, help="seconds a URL that failed is away, doubled each time (10)")
    add("--forever", action="store_true", help="wait for more when the queue is empty")
    options = parser.parse_args()
    try:
        hosts: Set[str] = {*map(host_of, options.starts), *(host_of(f"http://{host}") for host in options.host)}
    except ValueError as error:
        parser.error(str(error))
    if options.held is None:
        options.held = 4 * options.concurrency
    elif options.held < options.concurrency:
        parser.error(f"--held must be at least --concurrency, {options.concurrency}, not {options.held}")
    # Where there is one host only, no other is to be kept from its turn.
    options.per_host = math.inf if len(hosts) == 1 and not options.any_host else math.ceil(options.held / 4)
    options.hosts = None if options.any_host else frozenset(hosts)
    return options


def prepare(service: Service, options: argparse.Namespace) -> float:
    """Makes the set, unless it is there; then it is used as it is. Answers how often it hands out a URL."""
    try:
        service.create(options.attempts)
    except Refused as error:
        if error.code != "FILTER_EXISTS":
            raise
        log(f"{options.set} is there already, and is used as it is")
    service.discover([{"url": url, "payload": '{"depth":0}'} for url in options.starts])
    return service.describe().get("maxAttempts", math.inf)


def main() -> int:
    options = read_options()
    try:
        service = Service(options.service, options.set, os.environ.get("UNSEEN_API_KEY"))
        worker = Worker(service, options, prepare(service, options))
    except (Refused, Unreachable, ValueError) as error:
        log(str(error))
        return 1

    def stop(number: int, _: Any) -> None:
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, lambda number, _: os._exit(128 + number))
        log(f"{signal.Signals(number).name}: what has begun is brought to its end; again: ends at once")
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
