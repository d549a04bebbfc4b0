"""The documents and the site that the sitemap benchmarks read; the same in every run."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator

SITE = "www.example.com"
CHILDREN = 20
URLS_PER_CHILD = 50_000
BOMB_BYTES = 1024 * 1024 * 1024

_SITEMAPS = "http://www.sitemaps.org/schemas/sitemap/0.9"
_GOOGLE = "http://www.google.com/schemas/sitemap"
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    f'<urlset xmlns="{_SITEMAPS}" xmlns:xhtml="http://www.w3.org/1999/xhtml" '
    f'xmlns:image="{_GOOGLE}-image/1.1" xmlns:video="{_GOOGLE}-video/1.1" '
    f'xmlns:news="{_GOOGLE}-news/0.9">\n'
)
_CHANGEFREQS = ("daily", "weekly", "monthly")


def urlset(records: Iterator[str]) -> bytes:
    return (_HEAD + "".join(records) + "</urlset>\n").encode()


def plain(count: int = 50_000, *, first: int = 0, broken: bool = False) -> bytes:
    """Four fields each, about 200 bytes; broken means a bare `&` in one loc of a hundred."""
    return urlset(
        f"  <url>\n    <loc>{page(n, broken=broken)}</loc>\n{_fields(n)}  </url>\n"
        for n in range(first, first + count)
    )


def page(n: int, *, broken: bool = False) -> str:
    query = f"?id={n}&ref=map" if broken and n % 100 == 0 else ""
    return f"http://{SITE}/category-{n % 97}/some-product-name-{n}/{query}"


def _fields(n: int) -> str:
    moment = f"2024-{n % 12 + 1:02}-{n % 28 + 1:02}T{n % 24:02}:{n % 60:02}:{n * 7 % 60:02}+00:00"
    return (
        f"    <lastmod>{moment}</lastmod>\n"
        f"    <changefreq>{_CHANGEFREQS[n % 3]}</changefreq>\n"
        f"    <priority>0.{n % 9 + 1}</priority>\n"
    )


def extended(count: int = 20_000) -> bytes:
    """With languages and images, every fourth with a video and every fifth with news."""
    return urlset(_extended_record(n) for n in range(count))


def _extended_record(n: int) -> str:
    parts = [f"  <url>\n    <loc>{page(n)}</loc>\n{_fields(n)}"]
    parts += (
        f'    <xhtml:link rel="alternate" hreflang="{language}" '
        f'href="http://{SITE}/{language}/some-product-name-{n}/"/>\n'
        for language in ("de", "fr", "x-default")
    )
    parts += (
        f"    <image:image>\n      <image:loc>http://cdn.example.com/{n}-{k}.jpg</image:loc>\n"
        f"      <image:title>Picture {k} of product {n}</image:title>\n    </image:image>\n"
        for k in range(n % 3 + 1)
    )
    parts += [_video(n)] if n % 4 == 0 else []
    parts += [_news(n)] if n % 5 == 0 else []
    return "".join((*parts, "  </url>\n"))


def _video(n: int) -> str:
    return (
        "    <video:video>\n"
        f"      <video:thumbnail_loc>http://cdn.example.com/t/{n}.jpg</video:thumbnail_loc>\n"
        f"      <video:title>Video {n}</video:title>\n"
        f"      <video:description>All about product {n} &amp; more</video:description>\n"
        f"      <video:content_loc>http://cdn.example.com/v/{n}.mp4</video:content_loc>\n"
        f"      <video:duration>{n % 600 + 1}</video:duration>\n    </video:video>\n"
    )


def _news(n: int) -> str:
    return (
        "    <news:news>\n      <news:publication>\n"
        "        <news:name>The Example Times</news:name>\n"
        "        <news:language>en</news:language>\n      </news:publication>\n"
        f"      <news:publication_date>2024-02-{n % 28 + 1:02}</news:publication_date>\n"
        f"      <news:title>Headline {n}</news:title>\n    </news:news>\n"
    )


def site(children: int = CHILDREN, urls: int = URLS_PER_CHILD) -> dict[str, bytes]:
    """What the server answers by path: an index of compressed children, and robots.txt."""
    names = [f"/child-{number}.xml.gz" for number in range(children)]
    rows = "".join(f"<sitemap><loc>http://{SITE}{name}</loc></sitemap>\n" for name in names)
    answers = {
        "/robots.txt": f"Sitemap: http://{SITE}/index.xml\n".encode(),
        "/index.xml": f'<sitemapindex xmlns="{_SITEMAPS}">\n{rows}</sitemapindex>'.encode(),
    }
    for number, name in enumerate(names):
        answers[name] = gzip.compress(plain(urls, first=number * urls), 6)
    return answers


def large() -> dict[str, bytes]:
    """One document just below 50 MB, not compressed."""
    return {"/robots.txt": _robots("/large.xml"), "/large.xml": plain(225_000)}


def bomb() -> dict[str, bytes]:
    """A gibibyte of blanks behind one record; the server sends it either way."""
    packer = zlib.compressobj(9, wbits=31)
    parts = [packer.compress(plain(1).removesuffix(b"</urlset>\n"))]
    blanks = b" " * (1024 * 1024)
    parts += (packer.compress(blanks) for _ in range(BOMB_BYTES // len(blanks)))
    body = b"".join((*parts, packer.flush()))
    return {"/robots.txt": _robots("/bomb.xml"), "/bomb.xml": body}


def laughs() -> dict[str, bytes]:
    """Entities that would grow to a billion laughs, in a sitemap of one page."""
    lines = [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)]
    dtd = "\n".join(['<!DOCTYPE urlset [<!ENTITY a0 "ha">', *lines, "]>"])
    record = f"<url><loc>http://{SITE}/&a9;</loc></url>"
    body = f"<?xml version='1.0'?>{dtd}<urlset>{record}</urlset>".encode()
    return {"/robots.txt": _robots("/laughs.xml"), "/laughs.xml": body}


def _robots(path: str) -> bytes:
    return f"Sitemap: http://{SITE}{path}\n".encode()


SITES: dict[str, Callable[[], dict[str, bytes]]] = {
    "site": site,
    "large": large,
    "bomb in a file": bomb,
    "bomb on the way": bomb,
    "laughs": laughs,
}
