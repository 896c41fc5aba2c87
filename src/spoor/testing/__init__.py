"""Checks that anyone can run on a plug-in of theirs."""
