"""Windows of senders whose packets are lost when a buffer overflows, advanced in rounds of one window each.

A port is the last link of a path, with the buffer of the switch in front of it. Between two events all rates are
constant: a sender has ``window`` less its ``holes`` packets on their way and delivers them once in each round of its
port, which lasts a round trip, or as long as the link needs for what all have on their way. Windows grow by what is
delivered. When more is on its way than link and buffer hold, the excess is lost, and falls on few flows. A round later
these notice: mostly they cut their window and repair one hole a round (NewReno without SACK, RFC 6582), or, some of
those that have nothing new to send, they wait for their retransmission timeout.

Nothing is drawn: what is random is hashed from the episode, the flow and the busy period of the port.
"""
