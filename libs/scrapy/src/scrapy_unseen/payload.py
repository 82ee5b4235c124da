"""A request as the payload of its URL in the queue of a set: JSON of what differs from a plain request."""

import inspect
import json
from typing import Any, Dict, Optional

from scrapy import Spider
from scrapy.http import Request

from .marks import MARKED

#: What the service takes.
MOST_BYTES = 1_024
OURS = "scrapy"
KEPT = ("callback", "errback", "meta", "cookies", "encoding", "priority", "dont_filter", "flags", "cb_kwargs")
PLAIN = Request("data:,").to_dict()


class OtherSpider(Exception):
    """The payload was made by a spider of another name."""


def payload_of(request: Request, spider: Spider) -> Optional[str]:
    """None for a request that a payload cannot hold."""
    try:
        told = request.to_dict(spider=spider)
    except Exception:
        # Its callback is no method of the spider. To find that out, Scrapy reads all properties of the spider, and
        # one may fail.
        return None
    if "_class" in told or told["body"]:
        return None
    told["meta"] = {name: value for name, value in told["meta"].items() if name != MARKED}
    kept = {name: told[name] for name in KEPT if told[name] != PLAIN[name]}
    headers = {_text(name): [_text(value) for value in values] for name, values in told["headers"].items()}
    if headers:
        kept["headers"] = headers
    try:
        text = json.dumps({OURS: spider.name, **kept}, separators=(",", ":"), ensure_ascii=False)
        # Such as a tuple, which comes back as a list.
        same = json.loads(text) == {OURS: spider.name, **kept}
        return text if same and len(text.encode()) <= MOST_BYTES else None
    except (RecursionError, TypeError, ValueError):
        return None


def request_of(url: str, payload: Optional[str], spider: Spider) -> Request:
    """
    The request of an entry in the queue. An entry of others goes to ``parse``, with its payload in the meta under
    ``unseen_payload``. Raises OtherSpider, and ValueError for a payload that this version of the spider cannot read.
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
        raise ValueError(f"its payload makes no request: {error}") from error


def _read(payload: Optional[str]) -> Optional[Dict[str, Any]]:
    try:
        told = json.loads(payload or "")
    # Others may have queued JSON that is nested too deeply.
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and isinstance(told.get(OURS), str) else None


def _text(value: bytes) -> str:
    return value.decode("latin-1")
