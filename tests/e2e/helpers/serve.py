"""serve.py ADDRESS PORT...: greets whoever connects; prints "ready" when it can."""
import selectors
import socket
import sys

selector = selectors.DefaultSelector()
family = socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET
for port in sys.argv[2:]:
    listener = socket.create_server((sys.argv[1], int(port)), family=family)
    selector.register(listener, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in selector.select():
        connection, _ = key.fileobj.accept()
        with connection:
            connection.sendall(b"hello from %d\n" % key.fileobj.getsockname()[1])
