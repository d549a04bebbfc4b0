"""The reference pages, one module a page."""
