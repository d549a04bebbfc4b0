"""The demo: a small town of sites on loopback, scanned through the real queue, offline."""
