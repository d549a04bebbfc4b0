"""Contacts: list, look, correct, add; whom not to write to; and erasing a person."""
