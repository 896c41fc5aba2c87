"""Drivers: they own a loop, a clock and the network."""
