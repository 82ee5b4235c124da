"""Fingerprints from other packages, for crawls that copy their sets."""

import hashlib
import json
from typing import Any

from scrapy.http import Request
from w3lib.url import canonicalize_url


class ScrapyRedisFingerprinter:
    """
    ``REQUEST_FINGERPRINTER_CLASS = "scrapy_unseen.ScrapyRedisFingerprinter"``: computes the fingerprints that
    scrapy-redis 0.7 and later stores in its set, the SHA-1 of the request as JSON. They differ from Scrapy's own
    fingerprints.
    """

    @classmethod
    def from_crawler(cls, crawler: Any) -> "ScrapyRedisFingerprinter":
        return cls()

    def fingerprint(self, request: Request) -> bytes:
        told = {"method": request.method, "url": canonicalize_url(request.url), "body": (request.body or b"").hex()}
        return hashlib.sha1(json.dumps(told, sort_keys=True).encode()).digest()
