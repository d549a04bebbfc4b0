"""Decide whether two descriptions are of one business."""
