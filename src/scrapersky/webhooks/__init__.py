"""Signed webhooks: endpoints and deliveries."""
