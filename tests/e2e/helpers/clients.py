"""clients.py CASE: many connections at once; an ordinary one among them notices nothing."""
import json
import os
import random
import resource
import socket
import sys
import time

from client import Client, check, daemon, opened, refused

BENCH = "e1"
CROWD = 200
# Of an ordinary request, while each of the crowd has one more waiting: in an emulated machine.
PROMPT_S = 5
MEMORY_KB = 16 << 10


def status_of(pid, key):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1])
    raise SystemExit(f"no {key}")


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def cpu(pid):
    """Seconds."""
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def soon(what, condition):
    """The daemon is asked in between: it has then come to what was sent before."""
    end = time.monotonic() + 120
    while not condition():
        check(time.monotonic() < end, f"never: {what}")
        with Client() as client:
            check(client.ask("version")["ok"], "not answered")


class Member(Client):
    """One of the crowd, that never waits."""

    def __init__(self, say):
        super().__init__()
        self.socket.setblocking(False)
        self.say = say
        self.sent = self.full = self.ended = 0

    def speak(self):
        data, fds = self.say()
        if data is None or self.ended:
            return
        try:
            self.send(data, fds)
            self.sent += 1
        except BlockingIOError:
            self.full += 1
        except (BrokenPipeError, ConnectionResetError):
            self.ended += 1


def kinds():
    """Each says what comes next: bytes and descriptors."""
    null = opened("/dev/null")
    listing = json.dumps({"v": 1, "op": "show", "bench": BENCH}).encode()

    def garbage():
        return random.choice([
            random.randbytes(random.choice([1, 50, 5000, 60000])), b"[" * 60000, b'{"v":1,"op":"ls"',
            b'{"v":1,"op":"ls","offset":-1}', b'{"v":2}', b'{"a":' * 10000, b"\0" * 65536,
            b'{"v":1,"op":"' + b"\xff" * 1000 + b'"}', b'{"v":1,"op":"x","y":[' + b"0," * 30000 + b"0]}",
        ]), []

    def followers():
        said = iter([b'{"v":1,"op":"events","follow":true}'])
        return lambda: (next(said, None), [])

    return {
        "silent": lambda: lambda: (None, []),
        "half": lambda: lambda: (b'{"v":1,"op":"sh', []),
        "slow": lambda: lambda: (listing, []),
        "garbage": lambda: garbage,
        "oversized": lambda: lambda: (b'{"v":1,"op":"ls"}'.ljust(100000), []),
        "descriptors": lambda: lambda: (b'{"v":1,"op":"ls"}', [null] * 253),
        "followers": followers,
        "deaf": lambda: lambda: (listing, []),
    }


def crowd():
    """200 that never read an answer; `ls` by another one in between, each time soon."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    random.seed(1)
    pid = daemon()
    memory, fds = status_of(pid, "VmRSS"), descriptors(pid)
    makers = list(kinds().items())
    members = []
    for number in range(CROWD):
        name, maker = makers[number % len(makers)]
        member = Member(maker())
        member.name = name
        # Three ask until there is no room for their answers; the others fill the daemon's day.
        member.times = 60 if name == "slow" and number < 3 * len(makers) else 1
        if name == "deaf":
            member.socket.shutdown(socket.SHUT_RD)
        members.append(member)
    worst, most = 0, memory
    for _ in range(20):
        for member in members:
            for _ in range(member.times):
                member.speak()
        before = time.monotonic()
        with Client() as client:
            reply = client.ask("ls")
        worst = max(worst, time.monotonic() - before)
        check(reply and reply["ok"], "an ordinary client is not served", reply)
        most = max(most, status_of(pid, "VmRSS"))
    # However long that takes here: each answer to others is a round of the daemon's.
    eager = [member for member in members if member.times > 1]
    end = time.monotonic() + 120
    while not any(member.ended for member in eager):
        check(time.monotonic() < end, "who never reads is kept", [member.sent for member in eager])
        for member in eager:
            for _ in range(member.times):
                member.speak()
        with Client() as client:
            check(client.ask("ls")["ok"], "an ordinary client is not served")
    check(worst < PROMPT_S, f"`ls` took {worst:.2f} s")
    check(most - memory < MEMORY_KB, f"memory has grown by {most - memory} KiB")
    by = {}
    for member in members:
        one = by.setdefault(member.name, [0, 0, 0])
        for index, value in enumerate((member.sent, member.full, member.ended)):
            one[index] += value
    # They have done what they are for: else nothing was tried.
    check(by["garbage"][0] > 100 and by["descriptors"][0] > 100, f"not said: {by}")
    check(by["slow"][2] > 0, f"who never reads is kept: {by}")
    check(by["silent"] == [0, 0, 0], f"the silent spoke: {by}")
    for member in members:
        member.socket.close()
    soon("their descriptors closed", lambda: descriptors(pid) <= fds)
    left = status_of(pid, "VmRSS") - memory
    check(left < MEMORY_KB, f"{left} KiB are left of them")
    check(daemon() == pid, "another daemon")
    print(f"{CROWD} clients: `ls` in {worst * 1000:.0f} ms at worst; memory +{most - memory} KiB, "
          f"afterwards +{left} KiB; sent, full, hung up on: {by}")


def hung_up(client, seconds):
    """After how many of these; None: it is still there."""
    before = time.monotonic()
    client.socket.settimeout(seconds)
    try:
        check(client.receive() is None, "it was told something")
    except TimeoutError:
        return None
    return time.monotonic() - before


def silent():
    """With 8 s for who says nothing, and 25 for who has a confirmation to give."""
    with Client() as mute, Client() as asking, Client() as shown, Client() as following:
        check(following.raw(b'{"v":1,"op":"events","follow":true}')["ok"], "no events")
        reply = shown.ask("grant", bench=BENCH, kind="net", destination="198.51.100.10:80")
        told = time.monotonic()
        check(hung_up(mute, 2) is None, "hung up on who has hardly come")
        for _ in range(6):
            check(hung_up(asking, 2) is None, "hung up on who asks")
            check(asking.ask("ls")["ok"], "not answered")
        check(hung_up(mute, 60) is not None, "who is silent stays")
        check(hung_up(shown, 0.1) is None, "who is to confirm has no time for it")
        check(hung_up(shown, 60) is not None, "a confirmation is awaited for ever")
        check(time.monotonic() - told > 25, f"hung up after {time.monotonic() - told} s")
        # Unasked it has told nothing, and is still there.
        following.socket.settimeout(0.1)
        try:
            while True:
                check(following.receive() is not None, "who follows was hung up on")
        except TimeoutError:
            pass
        with Client() as other:
            refused(other.ask("confirm", token=reply["confirm"]["token"], how="yes"), "confirmation")


def served(client):
    try:
        reply = client.ask("ls")
    except OSError:
        return False
    return bool(reply and reply["ok"])


def shares():
    """Of 64 connections 20 are each user's and 16 root's alone."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    pipes, stay = os.pipe(), os.pipe()
    for uid, wanted in ((65533, 20), (65532, 20), (65531, 8)):
        if os.fork() == 0:
            os.setgroups([65534])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            clients = [Client() for _ in range(30)]
            good = sum(served(client) for client in clients)
            os.write(pipes[1], f"{good} of {wanted}\n".encode())
            # Until nobody holds the other end any more.
            os.close(stay[1])
            os.read(stay[0], 1)
            os._exit(0)
        said = os.read(pipes[0], 100).decode().strip()
        check(said == f"{wanted} of {wanted}", f"uid {uid} has {said}")
    with Client() as client:
        check(served(client), "root is locked out")
        refused_in_log()
    clients = [Client() for _ in range(20)]
    good = sum(served(client) for client in clients)
    check(good == 16, f"root has {good} of 16")
    os.close(stay[1])
    for _ in range(3):
        os.wait()


def refused_in_log():
    """Told once, however many there were."""
    with open(f"{os.environ['E2E_RUN']}/service.log", encoding="utf-8") as file:
        lines = [line for line in file if "too many connections" in line]
    check(0 < len(lines) < 10, f"{len(lines)} lines")


def no_descriptors():
    """Started with 160. With few left who comes is hung up on, with none it waits."""
    pid = daemon()
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    check(before == (160, 160), f"its limit is {before}")
    with Client() as there:
        check(served(there), "not served")
        many = [Client() for _ in range(60)]
        good = sum(served(client) for client in many)
        check(0 < good < 60, f"{good} of 60 are served")
        left = before[0] - descriptors(pid)
        check(50 < left < 80, f"{left} descriptors are left")
        check(served(there) and served(many[0]), "who is there is not served any more")
        for client in many:
            client.socket.close()
        check(served(there), "not served when they have gone")
        # None is left below it: what stays open above was opened while there were more.
        taken = {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}
        free = min(set(range(len(taken) + 1)) - taken)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, before[1]))
        try:
            waiting = [Client() for _ in range(3)]
            for client in waiting:
                client.send(b'{"v":1,"op":"ls"}')
            used = cpu(pid)
            check(hung_up(waiting[0], 5) is None, "not left waiting")
            used = cpu(pid) - used
            check(used < 1, f"it has used {used} s of 5 for nothing")
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
        for client in waiting:
            client.socket.settimeout(60)
            check(client.receive()["ok"], "who has waited is not served")
            client.socket.close()


globals()[sys.argv[1]]()
