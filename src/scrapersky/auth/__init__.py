"""Users, API keys, sessions, sign-in, tenants and the audit log."""
