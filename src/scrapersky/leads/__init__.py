"""Leads: one row per business, the table people work with."""
