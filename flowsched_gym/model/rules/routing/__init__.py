"""Choice of paths."""
