"""The keys and the lease of a request. It carries them along: into a JOBDIR, through retries and redirects."""

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from scrapy.http import Request

MARKED = "unseen_marked"

Lease = Tuple[str, int]


class Key(NamedTuple):
    """What a request is known by: a URL in the visited set, or a fingerprint in the filter beside it."""

    is_url: bool
    text: str


def keep(request: Request, keys: Sequence[Key], run: str, lease: Optional[Lease] = None) -> None:
    kept = {"url": request.url, "keys": [list(key) for key in keys], "run": run, "hops": len(_redirect_urls(request))}
    request.meta[MARKED] = {**kept, "lease": list(lease)} if lease else kept


def lease_of(request: Request) -> Optional[Lease]:
    """The lease that a request has come of, and which attempt that is."""
    kept = request.meta.get(MARKED)
    if kept is None or "lease" not in kept or kept["url"] != request.url and not is_redirected(request):
        return None
    lease, attempt = kept["lease"]
    return str(lease), int(attempt)


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
    kept = request.meta.get(MARKED)
    # A page that was redirected to itself passes on both to what it leads to: the number of redirects tells these apart.
    return kept is not None and _redirect_urls(request)[kept.get("hops", 0) :][:1] == [kept["url"]]


def leads_back(request: Request, fingerprint: Callable[[Request], bytes]) -> bool:
    """Whether a redirected request is for a page of its own chain, as the fingerprints of a run tell pages apart."""
    own = fingerprint(request)
    return any(fingerprint(request.replace(url=url)) == own for url in _redirect_urls(request))


def is_of_run(request: Request, run: str) -> bool:
    return MARKED not in request.meta or request.meta[MARKED]["run"] == run


def _redirect_urls(request: Request) -> List[str]:
    return list(request.meta.get("redirect_urls", ()))
