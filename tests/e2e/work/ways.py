"""ways.py PROTOCOL ADDRESS PORT...: tries each; a line PROTOCOL ADDRESS PORT and what came of it."""
import errno
import socket
import sys

for protocol, address, port in zip(*[iter(sys.argv[1:])] * 3):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    kind = socket.SOCK_STREAM if protocol == "tcp" else socket.SOCK_DGRAM
    with socket.socket(family, kind) as way:
        way.settimeout(10)
        try:
            if protocol == "tcp":
                way.connect((address, int(port)))
            else:
                way.sendto(b"out", (address, int(port)))
            said = "open"
        except OSError as err:
            said = errno.errorcode.get(err.errno, str(err))
    print(protocol, address, port, said)
