"""The reports of experiments: tables, comparisons and pictures of each kind."""
