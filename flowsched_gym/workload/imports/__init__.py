"""Readers of what others recorded or simulate: nfdump's and Zeek's records, packet captures, flows of simulators."""
