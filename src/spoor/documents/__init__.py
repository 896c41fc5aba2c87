"""Documents of any kind, from bytes to text for a reader and a judge."""
