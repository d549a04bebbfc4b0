"""The same site by scrapy's SitemapSpider, which reads the rows but requests no page.

The server plays the proxy here: scrapy cannot be told where a name leads otherwise.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from time import perf_counter, process_time
from typing import Any

from benchmarks.sitemaps_documents import SITE
from benchmarks.sitemaps_scan import peak_mb

counted = {"urls": 0}


def _rows_only(_: Any, entries: Any) -> Any:
    """Children are followed; the pages are taken as rows and not asked for."""
    if entries.type == "sitemapindex":
        yield from entries
        return
    for entry in entries:
        counted["urls"] += bool(entry["loc"] and entry.get("lastmod"))


def main(port: int) -> None:
    spiders = importlib.import_module("scrapy.spiders")
    crawler = importlib.import_module("scrapy.crawler")
    index = f"http://{SITE}/index.xml"
    attributes = {"name": "sitemaps", "sitemap_urls": [index], "sitemap_filter": _rows_only}
    spider = type("Sitemaps", (spiders.SitemapSpider,), attributes)
    process = crawler.CrawlerProcess(
        {
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            "ROBOTSTXT_OBEY": False,
            "DOWNLOAD_DELAY": 0,
        }
    )
    os.environ["http_proxy"] = f"http://127.0.0.1:{port}"
    started, cpu = perf_counter(), process_time()
    process.crawl(spider)
    process.start()
    print(
        json.dumps(
            {
                "urls": counted["urls"],
                "seconds": perf_counter() - started,
                "cpu_seconds": process_time() - cpu,
                "peak_mb": peak_mb(),
            }
        )
    )


if __name__ == "__main__":
    main(int(sys.argv[1]))
