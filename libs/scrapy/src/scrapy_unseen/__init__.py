"""
Connects Scrapy to Unseen, which stores the URLs that crawls have seen, across runs and machines, and can forget them.
"""

from .dupefilter import DupeFilter
from .fingerprints import ScrapyRedisFingerprinter
from .middlewares import ForgetFailed, RetryAfter, VisitCrawled
from .options import SettingError
from .scheduler import Scheduler

__all__ = ["DupeFilter", "ForgetFailed", "RetryAfter", "VisitCrawled", "Scheduler", "ScrapyRedisFingerprinter", "SettingError"]
