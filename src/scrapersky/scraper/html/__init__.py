"""HTML documents: character sets, facts, links, forms, and parsing in child processes."""
