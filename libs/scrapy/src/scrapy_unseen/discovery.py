"""Requests for documents that list pages. Every run fetches them, because otherwise it would find no new pages."""

from typing import Optional

from scrapy import Spider
from scrapy.http import Request
from scrapy.spiders import SitemapSpider

#: A key in a request's meta: True for a document that lists pages, False for a page.
DISCOVERY = "unseen_discovery"


def is_discovery(request: Request, spider: Optional[Spider]) -> bool:
    told = request.meta.get(DISCOVERY)
    if isinstance(told, (list, tuple)):
        # Spiders copy a response's meta to its links, which don't list pages themselves.
        url, hops = told
        return request.url == url or request.meta.get("redirect_urls", [])[hops : hops + 1] == [url]
    if told is not None:
        return bool(told)
    # SitemapSpider uses this callback only for robots.txt and sitemaps.
    return isinstance(spider, SitemapSpider) and request.callback == spider._parse_sitemap


def keep_discovery(request: Request) -> None:
    """Ties the value to this request and its redirects."""
    if request.meta.get(DISCOVERY):
        request.meta[DISCOVERY] = [request.url, len(request.meta.get("redirect_urls", []))]
