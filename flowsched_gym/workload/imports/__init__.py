"""Readers of what others recorded, one for each format: nfdump's records, Zeek's connections, packet captures."""
