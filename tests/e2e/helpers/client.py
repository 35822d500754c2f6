"""What speaks to gatekeeperd without benchmon: one Client is one connection."""
import array
import json
import os
import socket

PATH = "/run/benchmon/gatekeeperd.sock"


class Client:
    def __init__(self):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.connect(PATH)
        self.socket.settimeout(60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data, fds=()):
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        self.socket.sendmsg([data], rights)

    def receive(self):
        """The next message; None where the daemon has hung up."""
        data = self.socket.recv(1 << 17)
        return json.loads(data) if data else None

    def raw(self, data, fds=()):
        self.send(data, fds)
        return self.receive()

    def ask(self, op, fds=(), **keys):
        return self.raw(json.dumps({"v": 1, "op": op, **keys}).encode(), fds)


def opened(path, flags=os.O_RDONLY):
    return os.open(path, flags | os.O_CLOEXEC)


def daemon():
    """The pid of gatekeeperd, by the listener's credentials."""
    with Client() as client:
        packed = client.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(packed[:4], "little")


def check(condition, what, reply=None):
    if not condition:
        raise SystemExit(f"{what}\nreply: {json.dumps(reply)}")


def refused(reply, rule, *words):
    """An error of that rule (None: of no rule) with the words in its message or remedy."""
    check(reply is not None, "the daemon hung up")
    check(reply.get("ok") is False, "not refused", reply)
    error = reply["error"]
    check(error.get("rule") == rule, f"not by the rule {rule}", reply)
    text = f'{error["message"]}; {error.get("remedy", "")}'
    for word in words:
        check(word in text, f"not in the refusal: {word}", reply)
    check(isinstance(error["errno"], int) and error["errno"] > 0, "no errno", reply)
