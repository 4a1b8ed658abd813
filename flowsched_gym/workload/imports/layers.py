"""Finds the flow of a captured packet, by dpkt: tags and tunnels are followed to the innermost packet of TCP or UDP.

These are VLAN, MPLS, PPP, PPPoE, GRE, and IP in IP. What is not followed is named.
"""

import ipaddress
import struct
from typing import Any, Final, NamedTuple

from flowsched_gym.core.errors import MissingDependencyError

TAGS: Final = (0x8100, 0x88A8, 0x9100, 0x8847, 0x8848)
"""Types of Ethernet for VLANs and MPLS, which dpkt follows behind an Ethernet header alone."""
MPLS: Final = b"\x88\x47"
NO_ADDRESSES: Final = bytes(12)
"""What an Ethernet header begins with."""
ADDRESS_FAMILIES: Final = (2, 24, 28, 30)
"""IPv4, and the three numbers that systems have for IPv6, as a loopback device writes them."""
LINK_MPLS, LINK_RAW, LINK_IPV4, LINK_IPV6, LINK_SLL2 = 219, 101, 228, 229, 276
UDP_HEADER: Final = 8
CUT_HEADERS: Final = "packets whose headers are cut or damaged"
FRAGMENTS: Final = "fragments after the first, which have no ports"


class Flow(NamedTuple):
    """What the packets of a flow have in common."""

    source: str
    destination: str
    protocol: str
    source_port: int
    destination_port: int


class Layers:
    """What dpkt knows of packets.

    Raises:
        MissingDependencyError: It is not installed.
    """

    def __init__(self) -> None:
        try:
            import dpkt  # noqa: PLC0415 - optional
        except ImportError:
            raise MissingDependencyError("dpkt", extra="pcap", purpose="read packet captures") from None
        self._ip, self._ip6, self._ethernet = dpkt.ip.IP, dpkt.ip6.IP6, dpkt.ethernet.Ethernet
        self._tcp, self._udp, self._loopback = dpkt.tcp.TCP, dpkt.udp.UDP, dpkt.loopback.Loopback
        self._ppp_framed, self._ppp_bare = dpkt.ppp.PPP, dpkt.pppoe.PPP
        self._link_names = {value: name[4:] for name, value in vars(dpkt.pcap).items() if name.startswith("DLT_")}
        self._links = {
            dpkt.pcap.DLT_NULL: self._loopback,
            dpkt.pcap.DLT_LOOP: self._loopback,
            dpkt.pcap.DLT_EN10MB: self._ethernet,
            dpkt.pcap.DLT_PPP: self._ppp,
            dpkt.pcap.DLT_PPP_SERIAL: self._ppp,
            dpkt.pcap.DLT_PPP_ETHER: dpkt.pppoe.PPPoE,
            dpkt.pcap.DLT_C_HDLC: lambda data: self._ethernet(NO_ADDRESSES + data[2:]),
            dpkt.pcap.DLT_LINUX_SLL: dpkt.sll.SLL,
            LINK_SLL2: dpkt.sll2.SLL2,
            LINK_MPLS: lambda data: self._ethernet(NO_ADDRESSES + MPLS + data),
            **dict.fromkeys((dpkt.pcap.DLT_RAW, LINK_RAW, LINK_IPV4, LINK_IPV6), self._raw),
        }
        # Layers that are followed, each with the field for what is inside, what knows its numbers, and their name.
        get_type, get_protocol = self._ethernet.get_type, self._ip.get_proto
        self._inside: dict[type, tuple[str, Any, str]] = {
            self._ethernet: ("_next_type", get_type, "Ethernet type"),
            dpkt.sll.SLL: ("ethtype", get_type, "Ethernet type"),
            dpkt.sll2.SLL2: ("ethtype", get_type, "Ethernet type"),
            dpkt.gre.GRE: ("p", get_type, "GRE protocol"),
            dpkt.llc.LLC: ("type", get_type, "LLC type"),
            self._ppp_framed: ("p", self._ppp_framed.get_p, "PPP protocol"),
            self._ppp_bare: ("p", self._ppp_framed.get_p, "PPP protocol"),
            dpkt.pppoe.PPPoE: ("code", {0: None}.__getitem__, "PPPoE code"),
            self._loopback: ("family", {}.__getitem__, "loopback family"),
            self._ip: ("p", get_protocol, "IP protocol"),
            self._ip6: ("p", get_protocol, "IP protocol"),
        }

    def flow_of(self, data: bytes, link: int, length: int) -> tuple[Flow, int] | str:
        """Returns the flow of a packet, and its bytes of payload by its headers; or why it is left out.

        Args:
            data: What was captured of it.
            link: Number of its link type.
            length: Its bytes on the wire.
        """
        if link not in self._links:
            return f"packets of link type {link} ({self._link_names.get(link, 'unknown')}), which is not read"
        try:
            return self._follow(self._links[link](data), max(length - len(data), 0))
        except Exception:  # noqa: BLE001 - of damaged packets dpkt raises its own errors, IndexError, struct.error and more
            return CUT_HEADERS

    def _follow(self, layer: Any, lost: int) -> tuple[Flow, int] | str:
        """Goes from layer to layer; so many bytes of the packet were not captured."""
        while True:
            inner = layer.data
            field, known, name = self._inside[type(layer)]
            kind = getattr(layer, field, 0) or 0
            if isinstance(layer, (self._ip, self._ip6)):
                if self._is_later_fragment(layer):
                    return FRAGMENTS
                if isinstance(inner, (self._tcp, self._udp)):
                    return self._transported(layer, inner, lost)
            if isinstance(layer, self._loopback) and kind not in ADDRESS_FAMILIES:
                inner = b""  # dpkt takes it for Ethernet
            if type(inner) in self._inside:
                layer = inner
            elif not isinstance(inner, bytes):
                return f"packets of {type(inner).__name__}"
            elif isinstance(layer, self._ip6) and not hasattr(layer, "p"):
                return "packets of ESP"  # whose content, and so its protocol, is encrypted
            elif kind in TAGS and not isinstance(layer, self._ethernet):
                layer = self._ethernet(NO_ADDRESSES + struct.pack("!H", kind) + inner)
            else:
                try:
                    known(kind)
                except KeyError:
                    return f"packets of {name} {kind:#x}, which is not read"
                return CUT_HEADERS

    def _is_later_fragment(self, packet: Any) -> bool:
        if isinstance(packet, self._ip):
            return bool(packet.offset)
        return any(getattr(each, "frag_off", 0) for each in packet.all_extension_headers)

    def _transported(self, packet: Any, inner: Any, lost: int) -> tuple[Flow, int]:
        """Returns the flow and the payload of a packet; a length of 0 was left to the network card."""
        if isinstance(packet, self._ip):
            length = packet.len - 4 * packet.hl if packet.len else len(inner) + lost
        else:
            length = packet.plen or len(inner) + lost
            for extension in packet.all_extension_headers if packet.plen else ():
                length -= extension.length
        size = (inner.ulen or length) - UDP_HEADER if isinstance(inner, self._udp) else length - 4 * inner.off
        source, destination = (str(ipaddress.ip_address(each)) for each in (packet.src, packet.dst))
        return Flow(source, destination, type(inner).__name__, inner.sport, inner.dport), max(size, 0)

    def _raw(self, data: bytes) -> Any:
        return (self._ip6 if data[0] >> 4 == 6 else self._ip)(data)

    def _ppp(self, data: bytes) -> Any:
        """Reads PPP with or without the address and control of HDLC, or Cisco's HDLC in its place."""
        if data.startswith((b"\x0f\x00", b"\x8f\x00")):
            return self._ethernet(NO_ADDRESSES + data[2:])
        return (self._ppp_framed if data.startswith(b"\xff\x03") else self._ppp_bare)(data)
