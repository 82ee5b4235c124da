"""The examples in docs/guides/scrapy.md work as shown."""

import re
import unittest
from pathlib import Path
from typing import Any, Dict, List

from tests.support import ROOT, Site, crawl, fresh_name

GUIDE = (ROOT.parent.parent / "docs" / "guides" / "scrapy.md").read_text()
OPTIONS = (ROOT / "src" / "scrapy_unseen" / "options.py").read_text()


def blocks() -> List[Dict[str, Any]]:
    """The settings in each Python block that has any."""
    found = []
    for block in re.findall(r"^```python\n(.*?)^```$", GUIDE, re.DOTALL | re.MULTILINE):
        settings: Dict[str, Any] = {}
        if not re.search(r"self\.|^def ", block, re.MULTILINE):
            exec(block, {}, settings)
            found.append(settings)
    return found


class GuideTest(unittest.TestCase):
    def test_documents_each_setting(self) -> None:
        settings = set(re.findall(r'"((?:UNSEEN|BLOOMFILTER)_\w+)"', OPTIONS))
        self.assertGreater(len(settings), 10)
        self.assertEqual({name for name in settings if f"`{name}`" not in GUIDE}, set())
        self.assertEqual({name for name in re.findall(r"`(UNSEEN_[A-Z_]+)`", GUIDE) if name not in settings}, set())

    def test_with_its_settings_a_second_run_drops_pages_that_the_first_has_seen(self) -> None:
        site = Site()
        self.addCleanup(site.close)
        pages = [site.page(i) for i in range(10)]
        first, crawled = blocks()
        for settings in (first, {**first, **crawled}):
            with self.subTest(**settings):
                # Replace the service and the set in the example with those of this test.
                there = {name: value for name, value in settings.items() if name != "UNSEEN_URL"}
                spider = fresh_name("guide")
                runs = [crawl(pages, there, name=spider) for _ in range(2)]
                self.assertEqual([run.get("response_received_count", 0) for run in runs], [10, 0], runs[1]["log"])
                self.assertEqual(runs[1].get("bloomfilter/filtered"), 10)


if __name__ == "__main__":
    unittest.main()
