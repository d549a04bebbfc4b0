"""Jobs: requested work that clients can poll, watch, cancel and retry."""
