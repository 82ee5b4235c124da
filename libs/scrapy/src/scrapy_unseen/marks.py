"""Under which keys a request was asked about. It carries them along: into a JOBDIR, through retries and redirects."""

from typing import List, NamedTuple, Optional, Sequence

from scrapy.http import Request

MARKED = "unseen_marked"


class Key(NamedTuple):
    """What a request is known by: a URL in the visited set, or a fingerprint in the filter beside it."""

    is_url: bool
    text: str


def keep(request: Request, keys: Sequence[Key], run: str) -> None:
    request.meta[MARKED] = {"url": request.url, "keys": [list(key) for key in keys], "run": run}


def kept_keys(request: Optional[Request]) -> List[Key]:
    """The request's own keys, and those of the requests that were redirected to it."""
    if request is None or MARKED not in request.meta:
        return []
    kept = request.meta[MARKED]
    # Spiders pass on the meta of a response. What is another page's says nothing of this one.
    if kept["url"] != request.url and not is_redirected(request):
        return []
    return [Key(bool(is_url), str(text)) for is_url, text in kept["keys"]]


def is_redirected(request: Request) -> bool:
    """Whether its keys are those of a request that was redirected to it."""
    return MARKED in request.meta and request.meta[MARKED]["url"] in request.meta.get("redirect_urls", ())


def is_of_run(request: Request, run: str) -> bool:
    return MARKED not in request.meta or request.meta[MARKED]["run"] == run
