"""upstream.py DIRECTORY ADDRESS TOKEN: an upstream with TLS for NAME of tests/broker/lab.py. It makes its certificates in
DIRECTORY and writes there, to `asked`, what it was asked; prints "ready" when it can answer. The port says which
certificate it shows."""
import base64
import hashlib
import json
import os
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../broker"))

# pylint: disable=wrong-import-position
import clients
import lab

PORTS = {443: "model", 444: "other", 445: "stranger", 446: "expired"}
PART = bytes(range(256)) * 256
WAIT = 120
directory, address, token = sys.argv[1:]
go = threading.Semaphore(0)
stopped, pace = threading.Event(), threading.Event()  # pace: that nobody sets
sent = [0]


def stream(handler):
    """Goes on when somebody has said that they heard the last word (/v1/go)."""
    handler.body()
    handler.begin(content_type="text/event-stream; charset=utf-8")
    for i in range(3):
        data = json.dumps({"delta": {"text": f"word {i}"}}).encode()
        handler.chunk(b"event: content_block_delta\ndata: " + data + b"\n\n")
        go.acquire(timeout=WAIT)
    handler.chunk(b"event: message_stop\ndata: {}\n\n")
    handler.chunk(b"")


def heard(handler):
    handler.body()
    go.release()
    handler.answer(b"{}")


def endless(handler):
    """Until the other end has had enough."""
    handler.begin(content_type="text/event-stream")
    while True:
        handler.chunk(b"data: more\n\n")
        pace.wait(0.05)


def source(handler):
    """As many bytes as are asked for; /v1/stopped is answered when nobody has taken any for a second."""
    left = int(handler.headers["X-Size"])
    sent[0] = 0
    stopped.clear()
    handler.begin(length=left)
    handler.connection.settimeout(1)
    while left:
        try:
            size = handler.connection.send(PART[sent[0] % 256:][:min(left, 32768)])
        except TimeoutError:
            stopped.set()
            handler.connection.settimeout(None)
            continue
        sent[0] += size
        left -= size


def source_stopped(handler):
    handler.answer(str(sent[0] if stopped.wait(WAIT) else -1).encode())


def taken(handler):
    """What a body is, which is never whole in memory; not read until somebody says so, if it is to wait."""
    if handler.headers["X-Wait"]:
        go.acquire(timeout=WAIT)
    total, digest = 0, hashlib.sha256()
    for part in handler.body_parts():
        total += len(part)
        digest.update(part)
    handler.answer(f"{total} {digest.hexdigest()}\n".encode())


def echo(handler):
    """The credential, in a header and in the body, as an upstream that is careless would."""
    secret = handler.headers["Authorization"].partition(" ")[2]
    encoded = base64.b64encode(secret.encode()).decode()
    handler.answer(f"you are {secret}, {encoded}\n".encode(), x_you_are=secret)


def hang(handler):
    go.acquire(timeout=WAIT)
    handler.answer(b"late\n")


SERVE = {
    "/v1/messages": stream, "/v1/go": heard, "/v1/endless": endless, "/v1/source": source, "/v1/stopped": source_stopped,
    "/v1/taken": taken, "/v1/echo": echo, "/v1/hang": hang,
    "/v1/fail": lambda handler: handler.answer(b"it broke\n", 500),
    "/v1/away": lambda handler: handler.answer(b"", 302, location="https://other.test/"),
    "/v1/here": lambda handler: handler.answer(b"", 302, location="/v1/plain"),
}


class Asked(list):
    """What it was asked, in a file that the test reads."""

    def append(self, item):
        with open(directory + "/asked", "a", encoding="utf-8") as file:
            file.write(json.dumps(item) + "\n")


lab.certificates(directory)
for port, certificate in PORTS.items():
    upstream = lab.Upstream(directory, certificate, (address, port))
    upstream.asked = Asked()
    upstream.serve.update(SERVE)
    for path in ("info/refs", "git-upload-pack", "git-receive-pack"):
        upstream.serve["/org/tool.git/" + path] = clients.backend(directory, token)
print("ready", flush=True)
threading.Event().wait()
