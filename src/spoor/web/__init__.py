"""What a URL and a document are: pure functions, no I/O."""
