"""Requests for documents that list pages. They pass in every run, else a later run would find no new page."""

from typing import Optional

from scrapy import Spider
from scrapy.http import Request
from scrapy.spiders import SitemapSpider

#: Set in the meta of a request: True for a document that lists pages, False for a page.
DISCOVERY = "unseen_discovery"


def is_discovery(request: Request, spider: Optional[Spider]) -> bool:
    told = request.meta.get(DISCOVERY)
    if isinstance(told, (list, tuple)):
        # Spiders pass on the meta of a response, and the pages of a list are no lists themselves.
        url, hops = told
        return request.url == url or request.meta.get("redirect_urls", [])[hops : hops + 1] == [url]
    if told is not None:
        return bool(told)
    # It asks for robots.txt and for sitemaps by this callback only.
    return isinstance(spider, SitemapSpider) and request.callback == spider._parse_sitemap


def keep_discovery(request: Request) -> None:
    """Ties what the spider said to this request and its redirects."""
    if request.meta.get(DISCOVERY):
        request.meta[DISCOVERY] = [request.url, len(request.meta.get("redirect_urls", []))]
