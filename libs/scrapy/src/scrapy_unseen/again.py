"""Pages that come back. The queue hands them out again some time after they were crawled."""

import logging

from scrapy.http import Request

from .options import SettingError, again_after

logger = logging.getLogger(__name__)

#: A key in a request's meta, with the same meaning as the setting UNSEEN_AGAIN_AFTER. 0, False and None: the page
#: doesn't come back.
AGAIN_AFTER = "unseen_again_after"


def again_after_of(request: Request, default: int) -> int:
    """After how many seconds the page comes back. 0: never."""
    if AGAIN_AFTER not in request.meta:
        return default
    value = request.meta[AGAIN_AFTER]
    try:
        return again_after(f"meta[{AGAIN_AFTER!r}]", value) if value else 0
    except SettingError as error:
        logger.error("UNSEEN_AGAIN_AFTER applies to %s instead: %s", request, error)
        return default
