"""Pages for those who keep it running: stages, workers, hosts, alerts, settings."""
