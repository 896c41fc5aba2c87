"""Renders pages in a browser where that pays."""
