"""Calls the service over plain HTTP."""

import json
import random
import re
import socket
import threading
import time
import uuid
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import quote, urlsplit


#: A new set's capacity. The set grows when it is full.
CAPACITY = 1_000_000


class Refused(Exception):
    """The service refused the call and did not execute it."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{code or status}: {detail}")
        self.code = code


class Unreachable(Exception):
    """The service didn't answer in time. It may have executed the call."""


class _Passing(Exception):
    """A temporary failure. ``seconds`` is the pause that the service requests before a retry."""

    def __init__(self, text: str, seconds: Optional[float]) -> None:
        super().__init__(text)
        self.seconds = seconds


def _visible(api_key: str) -> str:
    """An API key that a header can contain. For other keys, the library would raise an error that shows the key."""
    key = api_key.strip()
    if not re.fullmatch("[\x21-\x7e]+", key):
        raise ValueError("UNSEEN_API_KEY must be visible ASCII characters, in one line")
    return key


class Service:
    """Calls for one visited set. Retries a call under the same Idempotency-Key, so nothing is done twice."""

    ATTEMPT_SECONDS = 30.0
    REPEAT_SECONDS = 60.0
    FIRST_WAIT, MOST_WAIT = 0.1, 5.0
    PASSING = frozenset({408, 429, 502, 503, 504})
    #: A call that fails for this long is logged.
    QUIET_SECONDS = 2.0

    def __init__(self, url: str, name: str, api_key: Optional[str], tell: Callable[[str], None]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"SERVICE must be an http or https URL, not {re.sub('[^/]*@', '***@', url)!r}")
        self._connect = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._address = (parts.hostname, parts.port)
        self._base = parts.path.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if api_key:
            self._headers["Authorization"] = f"Bearer {_visible(api_key)}"
        self._name = name
        self._of_thread = threading.local()
        self._tell = tell
        #: Whether an outage was logged since the last answer.
        self._told = False
        self._telling = threading.Lock()

    def create(self, max_attempts: int, delay_seconds: int) -> None:
        """Creates a set that gives each host to one worker at a time."""
        per_host = {"maxLeased": 1, **({"delaySeconds": delay_seconds} if delay_seconds else {})}
        spec = {"name": self._name, "capacity": CAPACITY, "maxAttempts": max_attempts, "perHost": per_host}
        self._send("POST", "/v1/visited-sets", spec)

    def describe(self) -> Dict[str, Any]:
        return self._send("GET", self._path(""))

    def discover(self, urls: List[Dict[str, str]]) -> List[str]:
        """Visits and queues URLs in one step. Returns ``new``, ``seen``, ``limited`` or ``invalid`` for each."""
        results: List[str] = []
        for start in range(0, len(urls), 1000):
            results += self._send("POST", self._path("/urls/discover"), {"urls": urls[start : start + 1000]})["results"]
        return results

    def lease(self, most: int, lease_seconds: int, wait_seconds: int) -> List[Dict[str, Any]]:
        body = {"max": most, "leaseSeconds": lease_seconds, "waitSeconds": wait_seconds}
        return self._send("POST", self._path("/queue/lease"), body)["urls"]

    def ack(self, ids: List[str]) -> List[str]:
        return self._send("POST", self._path("/queue/ack"), {"ids": ids})["results"]

    def release(
        self, ids: List[str], reason: str, delay_seconds: int = 0, host_delay_seconds: int = 0, count_attempt: bool = True
    ) -> List[str]:
        """``host_delay_seconds`` is how long no worker gets a URL from the same host."""
        # At most 256 bytes. Drops a character that would be cut in two.
        short = reason.encode("utf-8", "replace")[:256].decode("utf-8", "ignore")
        body = {"ids": ids, "reason": short, "delaySeconds": delay_seconds, "countAttempt": count_attempt}
        body["hostDelaySeconds"] = host_delay_seconds
        return self._send("POST", self._path("/queue/release"), body)["results"]

    def extend(self, ids: List[str], lease_seconds: int) -> List[str]:
        return self._send("POST", self._path("/queue/extend"), {"ids": ids, "leaseSeconds": lease_seconds})["results"]

    def _path(self, rest: str) -> str:
        return f"/v1/visited-sets/{quote(self._name, safe='')}{rest}"

    def _send(self, method: str, path: str, body: Optional[Dict[str, Any]] = None) -> Any:
        begun = time.monotonic()
        end = begun + self.REPEAT_SECONDS
        headers = {**self._headers, "Idempotency-Key": uuid.uuid4().hex}
        data = None if body is None else json.dumps(body).encode()
        wait = self.FIRST_WAIT
        while True:
            try:
                answer = self._attempt(method, path, data, headers)
                self._told = False
                return answer
            except (OSError, HTTPException, _Passing) as error:
                asked = error.seconds if isinstance(error, _Passing) else None
                pause = random.uniform(0, wait) if asked is None else asked + random.uniform(0, 0.25)
                if time.monotonic() + pause >= end:
                    raise Unreachable(f"{method} {path}: {error or type(error).__name__}") from error
                quiet = max(0, min(pause, begun + self.QUIET_SECONDS - time.monotonic()))
                time.sleep(quiet)
                if quiet < pause:
                    self._say_retrying(error)
                time.sleep(pause - quiet)
                wait = min(self.MOST_WAIT, 2 * wait)

    def _say_retrying(self, error: Exception) -> None:
        """Logs once until a call gets an answer."""
        with self._telling:
            if self._told:
                return
            self._told = True
        host = self._address[0] if self._address[1] is None else f"{self._address[0]}:{self._address[1]}"
        refused = isinstance(error, ConnectionRefusedError)
        why = f"connection refused by {host}" if refused else f"{host}: {error or type(error).__name__}"
        self._tell(f"retrying, {why}")

    def _attempt(self, method: str, path: str, data: Optional[bytes], headers: Dict[str, str]) -> Any:
        # One connection for each thread. http.client reopens it if it was closed.
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
            # http.client accepts truncated headers. The service always sends its answers' length.
            if response.length is None and not response.chunked:
                raise HTTPException("the answer was cut off")
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
        code, detail = str(problem.get("code", "")), str(problem.get("detail", "the answer is not from an Unseen service"))
        if (response.status in self.PASSING and code != "STORE_DATA_LOST") or code == "FILTER_BUSY":
            seconds = response.getheader("Retry-After", "")
            raise _Passing(f"{response.status} {code}", float(seconds) if re.fullmatch(r"[0-9]{1,9}", seconds) else None)
        raise Refused(response.status, code, detail)
