"""The demo: a small town of sites on loopback, from their names to their contacts, offline."""
