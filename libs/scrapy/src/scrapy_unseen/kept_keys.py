"""A request's keys and lease. The request carries them into a JOBDIR and through retries and redirects."""

from typing import Callable, List, NamedTuple, Optional, Sequence, Tuple

from scrapy.http import Request

KEPT = "unseen_kept"

Lease = Tuple[str, int]


class Key(NamedTuple):
    """A request's key: a URL in the visited set, or a fingerprint in the filter that accompanies it."""

    is_url: bool
    text: str


def keep(request: Request, keys: Sequence[Key], run: str, lease: Optional[Lease] = None) -> None:
    kept = {"url": request.url, "keys": [list(key) for key in keys], "run": run, "hops": len(_redirect_urls(request))}
    request.meta[KEPT] = {**kept, "lease": list(lease)} if lease else kept


def lease_of(request: Request) -> Optional[Lease]:
    """A request's lease and the number of its attempt."""
    kept = request.meta.get(KEPT)
    if kept is None or "lease" not in kept or kept["url"] != request.url and not is_redirected(request):
        return None
    lease, attempt = kept["lease"]
    return str(lease), int(attempt)


def kept_keys(request: Optional[Request]) -> List[Key]:
    """The keys of the request and of those that were redirected to it."""
    if request is None or KEPT not in request.meta:
        return []
    kept = request.meta[KEPT]
    # Spiders copy a response's meta to its links, so ignore keys that belong to another page.
    if kept["url"] != request.url and not is_redirected(request):
        return []
    return [Key(bool(is_url), str(text)) for is_url, text in kept["keys"]]


def is_redirected(request: Request) -> bool:
    """True if the keys belong to a request that was redirected to this one."""
    kept = request.meta.get(KEPT)
    # A page that was redirected to itself copies both to its links. They differ in the number of redirects.
    return kept is not None and _redirect_urls(request)[kept.get("hops", 0) :][:1] == [kept["url"]]


def leads_back(request: Request, fingerprint: Callable[[Request], bytes]) -> bool:
    """True if a redirected request leads back to a page in its own chain, compared by fingerprints."""
    own = fingerprint(request)
    return any(fingerprint(request.replace(url=url)) == own for url in _redirect_urls(request))


def is_of_run(request: Request, run: str) -> bool:
    return KEPT not in request.meta or request.meta[KEPT]["run"] == run


def _redirect_urls(request: Request) -> List[str]:
    return list(request.meta.get("redirect_urls", ()))
