"""Pages: how they are fetched, and what they link to."""

import re
import socket
import threading
import time
from dataclasses import dataclass
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPSConnection
from typing import Callable, List, Optional, Tuple
from urllib.parse import quote, urldefrag, urljoin, urlsplit


#: Longest time of a Retry-After that is believed.
MOST_RETRY_AFTER_SECONDS = 3600


@dataclass(frozen=True)
class Page:
    """What goes on of a page."""

    status: int
    links: List[str]
    #: Its one link is where it redirects to.
    redirect: bool = False
    #: It was longer than what was read of it.
    cut: bool = False


class SiteBusy(Exception):
    """The site cannot answer now: it is to be asked again, at the soonest after so many seconds."""

    def __init__(self, status: int, retry_after: int) -> None:
        super().__init__(f"HTTP {status}")
        self.retry_after = retry_after


def fetch_page(url: str, user_agent: str, timeout: float, max_bytes: int) -> Page:
    """One that is gone, or that is no HTML, is a page without links. Raises SiteBusy."""

    def wanted(status: int, headers: HTTPMessage) -> int:
        is_html = headers.get_content_type() in ("text/html", "application/xhtml+xml")
        return max_bytes if 200 <= status < 300 and is_html else 0

    answer = get(url, user_agent, timeout, wanted)
    if answer.status in (408, 429) or answer.status >= 500:
        asked = answer.headers.get("Retry-After", "")
        seconds = int(asked) if re.fullmatch(r"[0-9]{1,9}", asked) else 0
        raise SiteBusy(answer.status, min(MOST_RETRY_AFTER_SECONDS, seconds))
    location = answer.headers.get("Location") if 300 <= answer.status < 400 else None
    if location is not None:
        # What a redirect leads to is a URL like others: it has a host and rules of its own, and may have been fetched.
        to = resolve(location, url)
        return Page(answer.status, [] if to is None else [to], redirect=True)
    return Page(answer.status, links_of(answer.text, url), cut=answer.cut)


@dataclass(frozen=True)
class Answer:
    status: int
    headers: HTTPMessage
    text: str
    #: The page was longer than what was read of it.
    cut: bool


def host_of(url: str) -> str:
    """``host``, or ``host:port`` if the port is not that of the scheme. Raises ValueError."""
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
            if 0 < most and len(data) <= most and response.length:
                raise HTTPException("the answer was cut off")
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
