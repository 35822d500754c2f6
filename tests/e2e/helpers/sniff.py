"""sniff.py: what comes out of the links of Benches, taken at the host's end of each, from "ready" on to SIGTERM;
then a line PROTOCOL ADDRESS PORT for each destination. Neighbour discovery is no traffic."""
import os
import select
import signal
import socket
import struct
import sys

ETH_P_ALL = 3
ETH_P_IP, ETH_P_IPV6 = 0x800, 0x86DD
SOL_PACKET, PACKET_STATISTICS, SO_RCVBUFFORCE = 263, 6, 33
ND_FIRST = 130
NAMES = {socket.IPPROTO_TCP: "tcp", socket.IPPROTO_UDP: "udp"}


def destination(kind, packet):
    """None of what is no traffic."""
    if kind == ETH_P_IP:
        protocol, head, to = packet[9], (packet[0] & 15) * 4, packet[16:20]
        family = socket.AF_INET
    elif kind == ETH_P_IPV6:
        protocol, head, to = packet[6], 40, packet[24:40]
        family = socket.AF_INET6
        if protocol == socket.IPPROTO_ICMPV6 and packet[40] >= ND_FIRST:
            return None
    else:
        return None
    port = int.from_bytes(packet[head + 2:head + 4], "big") if protocol in NAMES else 0
    return f"{NAMES.get(protocol, protocol)} {socket.inet_ntop(family, to)} {port}"


def drain(sniffer, found):
    while True:
        try:
            packet, (name, kind, way, *_) = sniffer.recvfrom(65536)
        except BlockingIOError:
            return
        if name.startswith("bm") and way != socket.PACKET_OUTGOING:
            found.add(destination(kind, packet))


def main():
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGTERM, lambda *_: None)
    found = set()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as sniffer:
        sniffer.setblocking(False)
        sniffer.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
        print("ready", flush=True)
        while woken not in select.select([sniffer, woken], [], [])[0]:
            drain(sniffer, found)
        drain(sniffer, found)
        _, dropped = struct.unpack("II", sniffer.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    if dropped:
        print(f"{dropped} packets were not seen")
        sys.exit(1)
    print(*sorted(found - {None}), sep="\n")


main()
