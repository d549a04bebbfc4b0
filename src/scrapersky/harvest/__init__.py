"""What pages yield: their facts, the contacts on them, and the leads that these make."""
