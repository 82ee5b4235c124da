"""Documents that list pages, and pages that redirect to themselves."""

import unittest
from typing import Any, Dict

from scrapy.settings import Settings
from tests.support import UNSEEN, Site, call, crawl, fresh_name

from scrapy_unseen.kept_keys import Key
from scrapy_unseen.options import options_of
from scrapy_unseen.visited import Visited

CRAWLED = {"UNSEEN_VISITED_WHEN": "crawled", "SPIDER_MIDDLEWARES": {"scrapy_unseen.VisitCrawled": 50}}
SCRAPYS = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "DUPEFILTER_CLASS": "scrapy_unseen.DupeFilter"}
WAYS: "tuple[Dict[str, Any], ...]" = ({}, {"UNSEEN_VISITED_WHEN": "scheduled"}, CRAWLED, SCRAPYS)
PROFILE = {"ignoreScheme": True, "stripTrailingSlash": True}


class DiscoveryTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site()
        self.addCleanup(self.site.close)

    def test_a_sitemap_spider_finds_the_new_pages_in_each_run(self) -> None:
        site = self.site
        site.moved["/sitemap.xml"] = "/index.xml"
        for way in WAYS:
            with self.subTest(**way):
                site.hits.clear()
                site.documents["/robots.txt"] = f"Sitemap: {site.url}/sitemap.xml\n"
                # An index that lists itself must not make the crawl endless.
                site.documents["/index.xml"] = _sitemap("sitemapindex", "sitemap", f"{site.url}/pages.xml", f"{site.url}/index.xml")
                settings = {"UNSEEN_SET": fresh_name(), **way}
                for pages, fetched in ((3, 3), (5, 2), (5, 0)):
                    site.documents["/pages.xml"] = _sitemap("urlset", "url", *(site.page(i) for i in range(pages)))
                    stats = crawl([f"{site.url}/robots.txt"], settings, sitemap=True)
                    self.assertEqual(stats.get("item_scraped_count", 0), fetched, stats["log"][-3000:])
                self.assertEqual([site.hits[f"/page/{i}"] for i in range(5)], [1] * 5)
                self.assertEqual([site.hits[path] for path in ("/robots.txt", "/sitemap.xml", "/pages.xml")], [3] * 3)
                # Reached by a redirect, and lists itself.
                self.assertLessEqual(site.hits["/index.xml"], 6)
                self.assertEqual(call("GET", f"/v1/visited-sets/{settings['UNSEEN_SET']}")["items"], 5)

    def test_a_request_can_mark_itself_as_a_list(self) -> None:
        listing, other = f"{self.site.url}/list/1", f"{self.site.url}/list/2"
        pages = {listing: [self.site.page(1), listing, other, self.site.page(2)]}
        for way in WAYS:
            with self.subTest(**way):
                self.site.hits.clear()
                settings = {"UNSEEN_SET": fresh_name(), **way}
                for _ in range(2):
                    # The meta of a list is passed on to its pages, which are not lists.
                    crawl([listing], settings, discovery=[listing], links=pages)
                self.assertEqual(self.site.hits, {"/list/1": 2, "/list/2": 1, "/page/1": 1, "/page/2": 1})

    def test_an_unfiltered_list_does_not_turn_its_pages_into_lists(self) -> None:
        listing = f"{self.site.url}/list/1"
        for way in (one for one in WAYS if one is not SCRAPYS):
            with self.subTest(**way):
                self.site.hits.clear()
                settings = {"UNSEEN_SET": fresh_name(), **way}
                for _ in range(2):
                    crawl([listing], settings, discovery=[listing], dont_filter=[listing], links={listing: [self.site.page(1)]})
                self.assertEqual(self.site.hits, {"/list/1": 2, "/page/1": 1})

    def test_a_page_that_redirects_to_itself_is_delivered_once(self) -> None:
        site = self.site
        site.moved.update({"/slash": "/slash/", "/order?b=1&a=2": "/order?a=2&b=1"})
        paths = ("/cookie/1", "/cookie/2", "/slash", "/order?b=1&a=2")
        for way in WAYS:
            with self.subTest(**way):
                site.hits.clear()
                settings = {"UNSEEN_SET": fresh_name(), **way}
                call("POST", "/v1/visited-sets", {"name": settings["UNSEEN_SET"], "capacity": 1_000, "urlProfile": PROFILE})
                urls = [site.url + path for path in paths]
                # A page that redirected to itself passes its meta on to its links, which lead back to it.
                links = {urls[0]: [urls[0], urls[1]], f"{site.url}/slash/": [f"{site.url}/slash/", urls[2], urls[0]]}
                first = crawl(urls, settings, links=links)
                self.assertEqual(first.get("item_scraped_count"), len(paths), first["log"][-3000:])
                second = crawl([*urls, f"{site.url}/slash/", f"{site.url}/slash"], settings, links=links)
                self.assertEqual(second.get("item_scraped_count", 0), 0)

    def test_a_set_says_whether_two_urls_are_one_page(self) -> None:
        name = fresh_name()
        call("POST", "/v1/visited-sets", {"name": name, "capacity": 1_000, "urlProfile": PROFILE})
        visited = Visited(options_of(Settings({"UNSEEN_URL": UNSEEN, "UNSEEN_SET": name}), "spider"), lambda request: b"")
        self.addCleanup(visited.close)
        page, other = Key(True, "https://example.org/a/"), Key(True, "https://example.org/b")
        self.assertTrue(visited.is_one_page(page, [other, Key(True, "http://example.org/a")]))
        self.assertFalse(visited.is_one_page(page, [other]))
        self.assertFalse(visited.is_one_page(page, [Key(False, "f" * 40)]))

    def test_a_redirect_to_another_seen_page_is_dropped(self) -> None:
        self.site.moved["/old"] = "/page/1"
        for way in WAYS:
            with self.subTest(**way):
                settings = {"UNSEEN_SET": fresh_name(), **way}
                crawl([self.site.page(1)], settings)
                stats = crawl([f"{self.site.url}/old"], settings)
                self.assertEqual((stats.get("item_scraped_count", 0), stats.get("dupefilter/filtered")), (0, 1))


def _sitemap(root: str, entry: str, *urls: str) -> str:
    entries = "".join(f"<{entry}><loc>{url}</loc></{entry}>" for url in urls)
    return f'<?xml version="1.0"?><{root} xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</{root}>'


if __name__ == "__main__":
    unittest.main()
