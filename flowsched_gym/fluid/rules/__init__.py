"""Arithmetic and scheduling decisions as pure functions on arrays, compiled by Numba and called by every engine.

Arguments of these names mean the same in all rules, and are described here alone:

- ``now``: time in s; ``n``: number of the network; ``row``: row of a flow.
- ``active``, ``count``: rows of the active flows in the first ``count`` entries, and their number.
- ``served``, ``num_served``: rows of the active flows that have a rate in the first entries, and their number.
- ``state``, ``controls``, ``network``, ``routes``: the flows, their controls, the links and paths, and between which
  paths each flow may choose; a link that has failed has capacity 0.
- ``record``: what a discipline keeps; ``senders``: what is kept of senders that lose packets, in all networks.
- ``flow_id``, ``source``, ``destination``, ``size``, ``volume``, ``attained``, ``remaining``, ``rate``, ``rate_cap``,
  ``review_at``: of each flow, (num_flows,): identifier, hosts, original bytes, bytes on the wire, those sent and left,
  rate and largest rate in B/s, attained bytes at which it needs attention.
- ``arrival`` or ``arrival_time``, ``completion_time``: absolute times in s of each flow, (num_flows,); ``ideal_fct``:
  its completion time in s alone on the empty network.
- ``path``: row of each flow in the path table, (num_flows,); ``capacity``, ``path_start``, ``path_links``: fields
  of ``Network``.
"""

__all__: list[str] = []
