"""The rules of sites for robots."""

import threading
import time
from dataclasses import dataclass
from http.client import HTTPException
from typing import Dict, Optional
from urllib.robotparser import RobotFileParser

from pages import get, resolve, site_of


@dataclass(frozen=True)
class Rules:
    """The rules in a site's robots.txt. ``unknown`` is why they couldn't be read."""

    parser: RobotFileParser
    delay: float
    until: float
    unknown: Optional[str] = None


class Robots:
    """Each site's robots.txt, requested once a day (RFC 9309)."""

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
        """None if robots.txt must be requested."""
        with self._lock:
            rules = self._kept.get(site_of(url))
        return rules if rules is not None and time.monotonic() < rules.until else None

    def load(self, url: str) -> Rules:
        """Requests robots.txt. If the site doesn't answer, allows nothing until the next attempt."""
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


