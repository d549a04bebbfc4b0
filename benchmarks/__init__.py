"""Measurements beside other people's tools. Not part of the program."""
