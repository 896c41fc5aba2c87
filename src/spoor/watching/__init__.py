"""What a watch knows of the pages of its sites, what it makes of each download."""
