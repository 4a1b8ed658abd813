"""Packets in the queues of ports: schedulers, and two engines that agree to the bit."""
