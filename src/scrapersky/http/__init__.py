"""Shared HTTP layer: authentication, sessions, middleware, problem responses and health checks."""
