"""
Connects Scrapy to Unseen, which stores the URLs that crawls have seen, across runs and machines, and can forget them.
"""

from .dupefilter import DupeFilter
from .fingerprints import ScrapyRedisFingerprinter
from .middlewares import ForgetFailed, VisitCrawled
from .options import SettingError
from .scheduler import Scheduler

__all__ = ["DupeFilter", "ForgetFailed", "VisitCrawled", "Scheduler", "ScrapyRedisFingerprinter", "SettingError"]
