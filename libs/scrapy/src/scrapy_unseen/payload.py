"""Stores a request as the payload of its URL in the queue: JSON of its differences from a plain request."""

import inspect
import json
from typing import Any, Dict, Optional

from scrapy import Spider
from scrapy.http import Request

from .kept_keys import KEPT

#: The limit of the service.
MOST_BYTES = 1_024
OURS = "scrapy"
KEPT = ("callback", "errback", "meta", "cookies", "encoding", "priority", "dont_filter", "flags", "cb_kwargs")
PLAIN = Request("data:,").to_dict()


class OtherSpider(Exception):
    """A spider with a different name created the payload."""


def payload_of(request: Request, spider: Spider) -> Optional[str]:
    """Returns a request's payload, or None if a payload can't store the request."""
    try:
        told = request.to_dict(spider=spider)
    except Exception:
        # The callback isn't one of the spider's methods. To find it, Scrapy searches all of the spider's properties,
        # and one may raise an error.
        return None
    if "_class" in told or told["body"]:
        return None
    told["meta"] = {name: value for name, value in told["meta"].items() if name != KEPT}
    kept = {name: told[name] for name in KEPT if told[name] != PLAIN[name]}
    headers = {_text(name): [_text(value) for value in values] for name, values in told["headers"].items()}
    if headers:
        kept["headers"] = headers
    try:
        text = json.dumps({OURS: spider.name, **kept}, separators=(",", ":"), ensure_ascii=False)
        # For example, a tuple would come back as a list.
        same = json.loads(text) == {OURS: spider.name, **kept}
        return text if same and len(text.encode()) <= MOST_BYTES else None
    except (RecursionError, TypeError, ValueError):
        return None


def request_of(url: str, payload: Optional[str], spider: Spider) -> Request:
    """
    Returns the request of an entry in the queue. An entry that another program queued goes to ``parse``, with its
    payload in the meta as ``unseen_payload``. Raises OtherSpider, or ValueError for a payload that this version of the
    spider cannot read.
    """
    told = _read(payload)
    if told is None:
        return Request(url, meta={} if payload is None else {"unseen_payload": payload})
    name = told.pop(OURS)
    if name != spider.name:
        raise OtherSpider(name)
    unknown = sorted(set(told) - {*KEPT, "headers"})
    if unknown:
        raise ValueError(f"its payload has unknown members: {', '.join(unknown)}")
    for member in ("callback", "errback"):
        if member in told:
            method = getattr(spider, str(told[member]), None)
            if not inspect.ismethod(method):
                raise ValueError(f"spider {spider.name!r} has no method {told[member]!r}")
            told[member] = method
    try:
        headers = {name.encode("latin-1"): [one.encode("latin-1") for one in values] for name, values in told.pop("headers", {}).items()}
        return Request(url, headers=headers, **told)
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"its payload is not a valid request: {error}") from error


def _read(payload: Optional[str]) -> Optional[Dict[str, Any]]:
    try:
        told = json.loads(payload or "")
    # Another program may have queued JSON that is nested too deeply.
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and isinstance(told.get(OURS), str) else None


def _text(value: bytes) -> str:
    return value.decode("latin-1")
