"""Server-rendered dashboard over the same services as the API."""
