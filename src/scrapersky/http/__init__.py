"""What all routes share: who asks, sessions, errors, pages, health."""
