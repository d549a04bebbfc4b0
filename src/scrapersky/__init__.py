"""From a search, a list of domains or one site to every sitemap, URL, page and contact."""

__version__ = "0.1.0"
