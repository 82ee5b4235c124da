"""Calls to the service. They block, are thread-safe, and are retried until the service answers."""

import json
import math
import random
import re
import socket
import threading
import time
import uuid
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Dict, List, Optional, Set
from urllib.parse import quote, urlsplit

#: Maximum size of an answer.
MOST_BYTES = 16 * 2**20
ATTEMPT_SECONDS = 10.0
FIRST_WAIT, MOST_WAIT = 0.05, 2.0
#: Time limit for a call during an outage. Within this time after one call, other calls fail immediately.
AWAY_SECONDS = 1.0
#: Time limit for a call when the crawl is closing.
CLOSE_SECONDS = 3.0
#: Statuses of temporary failures.
PASSING = frozenset({408, 429, 502, 503, 504})


class ServiceError(Exception):
    """The service refused the call: ``code`` and ``status`` of its problem document."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{code}: {detail}")
        self.status = status
        self.code = code


class ServiceUnavailable(Exception):
    """The service didn't answer in time or wasn't ready. ``sent``: it may have received and executed the call."""

    def __init__(self, text: str, sent: bool) -> None:
        super().__init__(text)
        self.sent = sent


class Service:
    def __init__(self, url: str, api_key: Optional[str], timeout: float) -> None:
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._address = (parts.hostname or "", parts.port or (443 if self._secure else 80))
        self._base = parts.path
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {api_key}"
        self._timeout = timeout
        #: The last call timed out. Until a call gets an answer, only one call a second is tried, with a shorter time
        #: limit.
        self._away = False
        self._why = ""
        self._next_try = 0.0
        self._answered_at = 0.0
        self._hurried = threading.Event()
        self._hurried_at = math.inf
        self._idle: List[HTTPConnection] = []
        self._used: Set[HTTPConnection] = set()
        self._lock = threading.Lock()

    def post(self, path: str, body: Optional[Dict[str, Any]] = None) -> Any:
        """Returns the answer's JSON. Retries use the same Idempotency-Key, so nothing is done twice."""
        data = b"" if body is None else json.dumps(body).encode()
        return self._call("POST", path, data, {**self._headers, "Idempotency-Key": uuid.uuid4().hex})

    def get(self, path: str) -> Any:
        return self._call("GET", path, None, self._headers)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def hurry(self) -> None:
        """Makes all calls end within CLOSE_SECONDS, for a crawl that is closing. No call follows a failed one."""
        with self._lock:
            if self._hurried.is_set():
                return
            self._hurried_at = time.monotonic()
            self._hurried.set()
            used = set(self._used)
        timer = threading.Timer(CLOSE_SECONDS, self._cut, (used,))
        timer.daemon = True
        timer.start()

    def _cut(self, used: Set[HTTPConnection]) -> None:
        with self._lock:
            used &= self._used
        for connection in used:
            try:
                # Bypasses the TLS layer, whose state belongs to the other thread.
                socket.socket.shutdown(connection.sock, socket.SHUT_RDWR)
            except (TypeError, OSError):
                # The connection has already ended.
                pass

    def _call(self, method: str, path: str, data: Optional[bytes], headers: Dict[str, str]) -> Any:
        seconds = self._admit(path)
        start = time.monotonic()
        wait = FIRST_WAIT
        sent = False
        while True:
            end = min(start + seconds, max(start, self._hurried_at) + CLOSE_SECONDS)
            try:
                connection = self._take(max(0.05, min(ATTEMPT_SECONDS, end - time.monotonic())))
                sent = True
                return self._attempt(connection, method, path, data, headers)
            except (OSError, HTTPException, _Passing) as error:
                pause = getattr(error, "retry_after", None) or random.uniform(0, wait)
                end = min(end, max(start, self._hurried_at) + CLOSE_SECONDS)
                if time.monotonic() + pause >= end:
                    self._failed(start, error)
                    raise ServiceUnavailable(f"{self._where(path)}: {error}", sent) from error
                if self._hurried.is_set():
                    time.sleep(pause)
                else:
                    self._hurried.wait(pause)
                wait = min(MOST_WAIT, 2 * wait)

    def _admit(self, path: str) -> float:
        """Returns the time limit for a call. Raises if the service was unavailable a moment ago."""
        with self._lock:
            if not self._away:
                return self._timeout
            now = time.monotonic()
            if now < self._next_try:
                raise ServiceUnavailable(f"{self._where(path)}: {self._why}", False)
            self._next_try = now + AWAY_SECONDS
        return min(AWAY_SECONDS, self._timeout)

    def _failed(self, start: float, error: Exception) -> None:
        with self._lock:
            # Another call may have got an answer since.
            if self._answered_at <= start:
                self._away = True
                self._why = str(error)
                self._next_try = math.inf if self._hurried.is_set() else time.monotonic() + AWAY_SECONDS

    def _where(self, path: str) -> str:
        return f"{self._address[0]}:{self._address[1]}{path}"

    def _attempt(
        self, connection: HTTPConnection, method: str, path: str, data: Optional[bytes], headers: Dict[str, str]
    ) -> Any:
        try:
            connection.request(method, self._base + path, data, headers)
            response = connection.getresponse()
            # http.client accepts truncated headers. The service always sends its answers' length.
            if response.length is None and not response.chunked:
                raise HTTPException("the answer is incomplete")
            text = response.read(MOST_BYTES + 1)
            if len(text) > MOST_BYTES:
                raise HTTPException(f"the answer has more than {MOST_BYTES} bytes")
            # A read with a limit doesn't raise an error for a truncated body.
            if response.length:
                raise HTTPException("the answer is incomplete")
        except BaseException:
            connection.close()
            raise
        finally:
            with self._lock:
                self._used.discard(connection)
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append(connection)
        try:
            answer = _answer(response.status, response.getheader("Retry-After"), text)
        except ServiceError:
            # A refusal also counts as an answer.
            self._answered()
            raise
        self._answered()
        return answer

    def _answered(self) -> None:
        with self._lock:
            self._away = False
            self._answered_at = time.monotonic()

    def _take(self, seconds: float) -> HTTPConnection:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            kind = HTTPSConnection if self._secure else HTTPConnection
            connection = kind(*self._address, timeout=seconds)
            connection.connect()
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sock.settimeout(seconds)
        with self._lock:
            self._used.add(connection)
        return connection


class _Passing(Exception):
    def __init__(self, text: str, retry_after: Optional[float]) -> None:
        super().__init__(text)
        self.retry_after = retry_after


def _answer(status: int, retry_after: Optional[str], text: bytes) -> Any:
    try:
        body = json.loads(text) if text else None
    # JSON that is nested too deeply isn't a valid answer either.
    except (ValueError, RecursionError):
        body = None
    if 200 <= status < 300 and (body is not None or not text):
        return body
    problem = body if isinstance(body, dict) else {}
    code, detail = str(problem.get("code", "")), str(problem.get("detail", ""))[:500]
    if status in PASSING and code != "STORE_DATA_LOST" or code == "FILTER_BUSY":
        seconds = float(retry_after) if retry_after and re.fullmatch(r"[0-9]{1,9}", retry_after) else None
        raise _Passing(f"{status} {code}", seconds)
    if not code:
        raise ServiceError(status, "NO_UNSEEN_SERVICE", f"the answer is not from an Unseen service (status {status})")
    raise ServiceError(status, code, detail)


def path_of(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)
