"""Whether two descriptions are of one business."""

from scrapersky.scraper.matching.judging import compare
from scrapersky.scraper.matching.model import Described, Evidence, Judgement, Verdict
from scrapersky.scraper.matching.names import name_key

__all__ = ["Described", "Evidence", "Judgement", "Verdict", "compare", "name_key"]
