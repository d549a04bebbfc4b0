"""The dashboard: pages for people, rendered here, over the same services as the API."""
