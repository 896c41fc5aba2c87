"""The forms in which the pages of a run leave it: one file a form, each with `write`."""
