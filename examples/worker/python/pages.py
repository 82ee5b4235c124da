"""Fetches pages and finds their links."""

import math
import re
import socket
import threading
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from typing import Callable, List, Optional, Tuple
from urllib.parse import quote, urldefrag, urljoin, urlsplit


#: A longer Retry-After is cut to this.
MOST_RETRY_AFTER_SECONDS = 3600


@dataclass(frozen=True)
class Page:
    """The parts of a page that the worker uses."""

    status: int
    links: List[str]
    #: Its only link is the redirect's target.
    redirect: bool = False
    #: The page was longer than ``max_bytes``.
    cut: bool = False


class SiteBusy(Exception):
    """The site can't answer now. Retry after this many seconds at the earliest."""

    def __init__(self, status: int, retry_after: int) -> None:
        super().__init__(f"HTTP {status}")
        self.retry_after = retry_after


def _retry_after(header: str) -> int:
    """The seconds in ``Retry-After``, even if it is a date. 0 if there is none."""
    if re.fullmatch(r"[0-9]{1,9}", header):
        return int(header)
    try:
        return max(0, math.ceil(parsedate_to_datetime(header).timestamp() - time.time()))
    except (IndexError, OverflowError, TypeError, ValueError):
        return 0


def fetch_page(url: str, user_agent: str, timeout: float, max_bytes: int) -> Page:
    """Fetches a page. A page that is gone or isn't HTML has no links. Raises SiteBusy."""

    def wanted(status: int, headers: HTTPMessage) -> int:
        is_html = headers.get_content_type() in ("text/html", "application/xhtml+xml")
        return max_bytes if 200 <= status < 300 and is_html else 0

    answer = get(url, user_agent, timeout, wanted)
    if answer.status in (408, 429) or answer.status >= 500:
        seconds = _retry_after(answer.headers.get("Retry-After", ""))
        raise SiteBusy(answer.status, min(MOST_RETRY_AFTER_SECONDS, seconds))
    location = answer.headers.get("Location") if 300 <= answer.status < 400 else None
    if location is not None:
        # A redirect's target is a separate URL, because it has its own host and rules, and may have been fetched
        # already.
        to = resolve(location, url)
        return Page(answer.status, [] if to is None else [to], redirect=True)
    return Page(answer.status, links_of(answer.text, url), cut=answer.cut)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: HTTPMessage
    text: str
    #: The page was longer than the limit.
    cut: bool


def host_of(url: str) -> str:
    """``host``, or ``host:port`` if the port isn't the scheme's default. Raises ValueError."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not an http or https URL")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
    host = f"[{host}]" if ":" in host else host
    return host if parts.port in (None, 443 if parts.scheme == "https" else 80) else f"{host}:{parts.port}"


def site_of(url: str) -> str:
    return f"{urlsplit(url).scheme}://{host_of(url)}"


def get(url: str, user_agent: str, timeout: float, wanted: Callable[[int, HTTPMessage], int]) -> Answer:
    """
    Requests a page without following redirects. ``timeout`` covers all of it. ``wanted`` returns the number of bytes to
    read.
    """
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
        # A socket's timeout applies to each read.
        timer = threading.Timer(begun + timeout - time.monotonic(), _hang_up, (connection.sock, late))
        timer.start()
        try:
            headers = {"User-Agent": user_agent, "Accept": "text/html,application/xhtml+xml,*/*;q=0.5"}
            connection.request("GET", target, headers={**headers, "Accept-Encoding": "identity"})
            response = connection.getresponse()
            most = wanted(response.status, response.headers)
            data = response.read(most + 1) if most > 0 else b""
            if 0 < most and len(data) <= most and response.length:
                raise HTTPException("the answer was cut off")
        finally:
            timer.cancel()
    except (OSError, HTTPException, ValueError) as error:
        if late.is_set() or isinstance(error, TimeoutError):
            raise TimeoutError(f"no complete answer within {timeout:g} s") from error
        raise
    finally:
        connection.close()
    if late.is_set():
        raise TimeoutError(f"no complete answer within {timeout:g} s")
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
    """The URLs that a page links to, without duplicates and fragments. None if the page has ``nofollow``."""
    parser = _Links()
    parser.feed(html)
    parser.close()
    if not parser.follow:
        return []
    base = resolve(parser.base or "", page) or page
    links = (resolve(href, base) for href in parser.hrefs)
    return list(dict.fromkeys(link for link in links if link is not None))


def resolve(href: str, base: str) -> Optional[str]:
    """None if it isn't an http or https URL."""
    try:
        url = urldefrag(urljoin(base, href.strip())).url
        host_of(url)
        return url
    except ValueError:
        return None
