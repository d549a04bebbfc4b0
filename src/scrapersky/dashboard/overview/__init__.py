"""The front page: what is done, what is wrong, what came of it, and the box to start."""
