"""Which path a new flow takes through a fat-tree (MERP, section 5)."""
