"""Megabytes each way by who is slow: what is not taken waits at its other end. Argument: how many."""
import hashlib
import http.client
import os
import select
import socket
import sys

size = int(sys.argv[1]) << 20
host = os.environ["MODEL_URL"].split("/")[2]
part = bytes(range(256)) * 256


def ask(path):
    connection = http.client.HTTPConnection(host, timeout=120)
    connection.request("POST", path, "")
    return connection.getresponse().read()


def begin(head):
    client = socket.create_connection((host, 80), timeout=120)
    client.sendall(f"{head}\r\nHost: {host}\r\n".encode())
    return client


# Nobody reads what we send: there is an end to what fits between us.
up = begin(f"POST /v1/taken HTTP/1.1\r\nX-Wait: yes\r\nContent-Length: {size}")
up.sendall(b"\r\n")
up.setblocking(False)
sent, digest = 0, hashlib.sha256()
while select.select([], [up], [], 2)[1] and sent < size:
    some = (part * 2)[sent % 65536:][:min(65536, size - sent)]
    some = some[:up.send(some)]
    digest.update(some)
    sent += len(some)
print("waited" if sent < size * 3 // 4 else f"{sent} bytes went nowhere")
ask("/v1/go")
up.settimeout(120)
while sent < size:
    some = (part * 2)[sent % 65536:][:min(65536, size - sent)]
    some = some[:up.send(some)]
    digest.update(some)
    sent += len(some)
said = b""
while more := up.recv(65536):
    said += more
print("same" if said.endswith(f"{size} {digest.hexdigest()}\n".encode()) else said[-200:])
# Nor do we read what is sent to us.
down = begin(f"GET /v1/source HTTP/1.1\r\nX-Size: {size}")
down.sendall(b"\r\n")
stopped = int(ask("/v1/stopped"))
print("waited" if 0 < stopped < size * 3 // 4 else f"{stopped} bytes went nowhere")
file = down.makefile("rb")
while file.readline() != b"\r\n":
    pass
got, same = 0, True
while more := file.read(65536):
    same = same and more == (part * 2)[got % 65536:][:len(more)]
    got += len(more)
print("same" if same and got == size else f"{got} bytes, {same}")
