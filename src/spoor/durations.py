"""Seconds of an hour and of a day."""

HOUR = 3_600.0
DAY = 24 * HOUR
