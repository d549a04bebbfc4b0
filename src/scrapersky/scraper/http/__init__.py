"""Fetching over HTTP: guard, limits, robots.txt, rate limits, webhooks."""
