"""The kinds of experiments: for each, what its cells are and how one runs."""
