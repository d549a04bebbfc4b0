"""HTTP client: SSRF guard, limits, robots.txt, rate limits, webhooks."""
