"""Sites of the demo town."""
