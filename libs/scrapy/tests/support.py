"""A site on loopback, and crawls of it. Each runs in its own process, because a reactor runs only once."""

import json
import multiprocessing
import os
import tempfile
import threading
import time
import urllib.request
import uuid
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, Optional

UNSEEN = os.environ["UNSEEN_TEST_URL"]
ROOT = Path(__file__).parent.parent
LONGEST = 120
#: Each crawl is forked from a process that has imported Scrapy, because the import takes as long as the rest of a small
#: crawl.
CRAWLS = multiprocessing.get_context("forkserver")
CRAWLS.set_forkserver_preload(["tests.support", "tests.crawl", "tests.parts"])


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: Any) -> None:
        """Ignores errors, because a killed crawl breaks its connections."""


class Site:
    """
    Pages that count their fetches. ``/broken/N`` fails while ``broken`` is set, ``/gone/N`` does not exist, and
    ``/moved/page/N`` redirects to ``/page/N``.
    """

    def __init__(self) -> None:
        self.hits: "Counter[str]" = Counter()
        self.broken = True
        self.on_hit: Optional[Callable[[str], None]] = None
        #: The links on a page, by path.
        self.links: Callable[[str], Iterable[str]] = lambda path: ()
        #: Targets of redirects, by path.
        self.moved: Dict[str, str] = {}
        #: A page under this path redirects to itself until the client sends its cookie.
        self.cookie = "/cookie/"
        #: Paths that answer 503 once, each with this ``Retry-After``.
        self.busy: Dict[str, str] = {}
        #: Bodies of documents that aren't pages, by path.
        self.documents: Dict[str, str] = {}
        lock = threading.Lock()
        site = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with lock:
                    site.hits[self.path] += 1
                    wait = site.busy.pop(self.path, None)
                if site.on_hit:
                    site.on_hit(self.path)
                to = self.path[len("/moved") :] if self.path.startswith("/moved/") else site.moved.get(self.path)
                wants_cookie = self.path.startswith(site.cookie) and not self.headers["Cookie"]
                if wants_cookie:
                    to = self.path
                gone = self.path.startswith("/gone/")
                broken = self.path.startswith("/broken/") and site.broken
                status = 302 if to else 404 if gone else 503 if broken or wait else 200
                links = "".join(f'<a href="{link}">x</a>' for link in site.links(self.path))
                body = site.documents.get(self.path, f"<html>{links}</html>").encode()
                self.send_response(status)
                if to:
                    self.send_header("Location", to)
                if wait:
                    self.send_header("Retry-After", wait)
                if wants_cookie:
                    self.send_header("Set-Cookie", f"seen=1; Path={self.path}")
                self.send_header("Content-Type", "text/xml" if self.path.endswith(".xml") else "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *args: Any) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def page(self, number: int) -> str:
        return f"{self.url}/page/{number}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def fresh_name(prefix: str = "Team:Scrapy") -> str:
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


class Crawling:
    """A crawl in progress: a call to ``run`` in its own process."""

    def __init__(self, run: Callable[..., None], *given: Any) -> None:
        self._said = tempfile.TemporaryDirectory(prefix="unseen-crawl-")
        self._out, self._log = (Path(self._said.name, name) for name in ("stdout", "stderr"))
        self._process = CRAWLS.Process(target=_into_files, args=(self._out, self._log, run, *given), daemon=True)
        self._process.start()

    def signal(self, number: int) -> None:
        os.kill(self._process.pid or 0, number)

    def log(self) -> str:
        """Its output on stderr so far."""
        return self._log.read_text() if self._log.exists() else ""

    def ended(self) -> Dict[str, Any]:
        self._process.join(LONGEST)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        with self._said:
            lines = [line for line in self._out.read_text().splitlines() if line.startswith("{")]
            stats = json.loads(lines[-1]) if lines else {}
            return {**stats, "log": self._log.read_text(), "exit": self._process.exitcode}


def _into_files(out: Path, log: Path, run: Callable[..., None], *given: Any) -> None:
    for descriptor, path in ((1, out), (2, log)):
        with path.open("wb") as file:
            os.dup2(file.fileno(), descriptor)
    run(*given)


def _crawl(*given: Any) -> None:
    from tests.crawl import run

    run(*given)


def _scrapy(words: List[str]) -> None:
    from scrapy.cmdline import execute

    execute(["scrapy", *words])


def start_crawl(urls: List[str], settings: Dict[str, Any], **spider: Any) -> Crawling:
    return Crawling(_crawl, urls, {"UNSEEN_URL": UNSEEN, **settings}, spider)


def start_scrapy(words: List[str]) -> Crawling:
    """Starts the program ``scrapy`` with these arguments."""
    return Crawling(_scrapy, words)


def crawl(urls: List[str], settings: Dict[str, Any], **spider: Any) -> Dict[str, Any]:
    """Runs a crawl to its end. Returns its stats, with its stderr as ``log``."""
    return ended(start_crawl(urls, settings, **spider))


def ended(crawling: Crawling) -> Dict[str, Any]:
    return crawling.ended()


def call(method: str, path: str, body: Any = None) -> Any:
    """Calls the service's API."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(UNSEEN + path, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=LONGEST) as response:
        text = response.read()
    return json.loads(text) if text else None


def until(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONGEST
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"timed out waiting until {what}")
        time.sleep(0.01)
