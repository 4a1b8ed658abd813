"""Networks and policies of the learning agents."""
