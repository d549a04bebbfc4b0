"""Places: area searches at place providers, place details, and their cost."""
