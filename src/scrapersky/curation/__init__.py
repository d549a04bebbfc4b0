"""What people decided about many rows at once: seen, and taken back."""
