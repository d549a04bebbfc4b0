"""The overview page: pipeline, alerts, results and the start box."""
