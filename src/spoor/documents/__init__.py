"""Documents of any kind: what bytes become for a reader and for a judge."""
