"""Frontiers: the known links, and the clocks of their hosts."""
