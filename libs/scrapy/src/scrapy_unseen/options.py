"""Reads a crawl's Unseen settings."""

import math
import re
from dataclasses import dataclass
from typing import Any, Dict, Optional

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

DEFAULT_URL = "http://127.0.0.1:3000"
#: The service's limit for names, minus the suffix for the fingerprint filter.
REQUESTS = ".requests"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
LONGEST_NAME = 64 - len(REQUESTS)
#: The default error rate. `BLOOMFILTER_HASH_NUMBER` can only lower it, because a higher rate would make the crawl miss
#: more pages.
MOST_ERROR_RATE = 1e-4
UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


class SettingError(NotConfigured):
    """A setting is invalid. The message names the value and the allowed values."""


@dataclass(frozen=True)
class Options:
    url: str
    api_key: Optional[str]
    #: Name of the visited set.
    set_name: str
    #: Options for the set if it doesn't exist.
    spec: Dict[str, Any]
    batch_size: int
    #: How long a request waits for others to join its batch, in seconds.
    batch_delay: float
    #: What to do if the service doesn't answer: treat requests as ``new`` or ``seen``, or ``close`` the spider.
    on_error: str
    #: Time limit for a call with all its retries, in seconds.
    timeout: float
    clear_on_start: bool
    #: ``url``: GET requests by URL. ``fingerprint``: all requests by fingerprint.
    key: str
    #: When a page becomes visited. ``scheduled``: when its request is scheduled. ``crawled``: when its callback has
    #: succeeded. ``queued``: when it enters the queue of the set.
    visited_when: str
    #: How long a killed crawl keeps its leases, in seconds.
    lease_seconds: int
    #: How long a run remembers that a URL was seen, in seconds.
    cache_seconds: float
    #: Seconds after which crawled pages come back to the queue. 0: never.
    again_after: int


def options_of(settings: BaseSettings, spider_name: str) -> Options:
    """Reads the settings. Raises SettingError."""
    return Options(
        url=_url(settings.get("UNSEEN_URL") or DEFAULT_URL),
        api_key=_api_key(settings.get("UNSEEN_API_KEY")),
        set_name=_set_name(settings.get("UNSEEN_SET") or "%(spider)s", spider_name),
        spec=_spec(settings),
        batch_size=_whole(settings, "UNSEEN_BATCH_SIZE", 200, 1, 1_000),
        batch_delay=_number(settings, "UNSEEN_BATCH_DELAY", 0.02, 0, 10),
        on_error=_one_of(settings, "UNSEEN_ON_ERROR", "new", "seen", "close"),
        timeout=_number(settings, "UNSEEN_TIMEOUT", 30, 0.1, 3_600),
        clear_on_start=settings.getbool("UNSEEN_CLEAR_ON_START", False),
        key=_one_of(settings, "UNSEEN_KEY", "url", "fingerprint"),
        visited_when=_visited_when(settings),
        lease_seconds=_whole(settings, "UNSEEN_LEASE_SECONDS", 60, 1, 86_400),
        cache_seconds=_number(settings, "UNSEEN_CACHE_SECONDS", 60, 0, 86_400),
        again_after=_again_after(settings),
    )


def _url(url: str) -> str:
    found = re.fullmatch(r"https?://(?:\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]]+)(?::(\d{1,5}))?(?:/[!-~]*)?", url)
    if found and int(found[1] or 1) < 2**16 and not {"?", "#"} & set(url):
        return url.rstrip("/")
    raise SettingError(f"UNSEEN_URL must be an http or https URL such as {DEFAULT_URL}, not {url!r}")


def _api_key(key: Optional[str]) -> Optional[str]:
    # A key from a file often ends with a line break.
    stripped = (key or "").strip()
    if re.fullmatch(r"[!-~]*", stripped):
        return stripped or None
    raise SettingError("UNSEEN_API_KEY must contain only visible ASCII characters")


def _set_name(pattern: str, spider_name: str) -> str:
    try:
        name = pattern % {"spider": spider_name}
    except (KeyError, TypeError, ValueError) as error:
        raise SettingError(f"UNSEEN_SET {pattern!r} may contain only the placeholder %(spider)s: {error}") from error
    if NAME.fullmatch(name) and len(name) <= LONGEST_NAME:
        return name
    suggestion = re.sub(r"[^A-Za-z0-9._:-]+", "-", name).strip("-._:")[:LONGEST_NAME] or "crawl"
    raise SettingError(
        f'UNSEEN_SET is {name!r}, but a set name has 1 to {LONGEST_NAME} of A-Z, a-z, 0-9, ".", "_", ":" and "-". '
        f"Set UNSEEN_SET = {suggestion!r}, for example"
    )


def _spec(settings: BaseSettings) -> Dict[str, Any]:
    spec: Dict[str, Any] = {"capacity": _whole(settings, "UNSEEN_CAPACITY", 1_000_000, 1, 2**50)}
    if settings.get("UNSEEN_ERROR_RATE") is not None:
        spec["errorRate"] = _number(settings, "UNSEEN_ERROR_RATE", MOST_ERROR_RATE, 1e-9, 0.5)
    if settings.get("UNSEEN_MAX_AGE") is not None:
        spec["maxAgeSeconds"] = _seconds("UNSEEN_MAX_AGE", settings.get("UNSEEN_MAX_AGE"), 10, 315_576_000)
    if settings.get("UNSEEN_PER_HOST") is not None:
        spec["perHost"] = _object(settings, "UNSEEN_PER_HOST")
    if settings.get("BLOOMFILTER_BIT") is not None and settings.get("UNSEEN_CAPACITY") is None:
        hashes = _whole(settings, "BLOOMFILTER_HASH_NUMBER", 6, 1, 64)
        bits = 2 ** _whole(settings, "BLOOMFILTER_BIT", 30, 1, 60)
        # The best number of items for a Bloom filter with these bits and hashes.
        spec["capacity"] = max(1, math.floor(bits * math.log(2) / hashes))
        spec.setdefault("errorRate", max(1e-9, min(MOST_ERROR_RATE, 0.5**hashes)))
    return spec


def _again_after(settings: BaseSettings) -> int:
    value = settings.get("UNSEEN_AGAIN_AFTER")
    if value is None:
        return 0
    if settings.get("UNSEEN_MAX_AGE") is not None:
        raise SettingError("UNSEEN_AGAIN_AFTER does not work with UNSEEN_MAX_AGE: pages of a set that ages come back when a crawl finds them")
    if _visited_when(settings) != "queued":
        raise SettingError('UNSEEN_AGAIN_AFTER needs UNSEEN_VISITED_WHEN = "queued", because the set\'s queue hands out the pages')
    return again_after("UNSEEN_AGAIN_AFTER", value)


def again_after(name: str, value: Any) -> int:
    """Reads a time after which a page comes back. Raises SettingError."""
    return _seconds(name, value, 1, 315_360_000)


def _visited_when(settings: BaseSettings) -> str:
    # A JOBDIR keeps pending requests itself, and fingerprints can't go into the queue.
    kept_elsewhere = settings.get("JOBDIR") or settings.get("UNSEEN_KEY") == "fingerprint"
    if kept_elsewhere and not settings.get("UNSEEN_VISITED_WHEN"):
        return "scheduled"
    return _one_of(settings, "UNSEEN_VISITED_WHEN", "queued", "scheduled", "crawled")


def _one_of(settings: BaseSettings, name: str, *allowed: str) -> str:
    value = settings.get(name) or allowed[0]
    if value in allowed:
        return str(value)
    raise SettingError(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def _whole(settings: BaseSettings, name: str, default: int, least: int, most: int) -> int:
    value = _number(settings, name, default, least, most)
    if value == int(value):
        return int(value)
    raise SettingError(f"{name} must be a whole number from {least} to {most}, not {value!r}")


def _number(settings: BaseSettings, name: str, default: float, least: float, most: float) -> float:
    value = settings.get(name, default)
    try:
        number = float(default if value is None else value)
    except (TypeError, ValueError):
        number = math.nan
    if least <= number <= most:
        return number
    raise SettingError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}")


def _object(settings: BaseSettings, name: str) -> Dict[str, Any]:
    """A dict, or JSON on the command line. The service checks its members."""
    try:
        return dict(settings.getdict(name))
    except (TypeError, ValueError):
        raise SettingError(f'{name} must be a dict such as {{"delaySeconds": 2}}, not {settings.get(name)!r}') from None


def _seconds(name: str, value: Any, least: int, most: int) -> int:
    found = re.fullmatch(r"(\d{1,9})([smhd]?)", str(value))
    seconds = int(found[1]) * UNITS[found[2]] if found else 0
    if least <= seconds <= most:
        return seconds
    raise SettingError(f"{name} must be a time from {least} second{'s' * (least > 1)} to 10 years, such as 3600, '12h' or '30d', not {value!r}")
