"""The demo town's sites."""
