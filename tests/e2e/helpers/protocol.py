"""protocol.py CASE [ARGUMENT...]: misuses the socket; afterwards the daemon is as it was."""
import fcntl
import json
import os
import resource
import signal
import socket
import sys
import termios

from client import Client, check, daemon, opened, refused

BENCH = "e1"
MAX = 65536
SO_SNDBUFFORCE = 32  # which Python does not name


def version(client):
    reply = client.ask("version")
    check(reply and reply["ok"] and reply["version"], "the connection is no good any more", reply)


def each(cases, rule, fds=()):
    """One connection for all: a refused message is dropped, the connection stays good."""
    with Client() as client:
        for message, words in cases:
            if isinstance(message, dict):
                message = json.dumps({"v": 1, **message}).encode()
            reply = client.raw(message, fds)
            try:
                refused(reply, rule, words)
            except SystemExit as error:
                raise SystemExit(f"{error}\nrequest: {message[:200]!r}") from None
        version(client)


def size():
    with Client() as client:
        client.socket.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 23)
        fits = b'{"v":1,"op":"version"}'.ljust(MAX)
        check(client.raw(fits)["ok"], "64 KiB are refused")
        for length in (MAX + 1, 1 << 17, 1 << 21):
            refused(client.raw(fits.ljust(length)), "message-size", "more than 65536 bytes")
            fd = opened("/dev/null")
            refused(client.raw(fits.ljust(length), [fd, fd]), "message-size")
        version(client)
        # What is right but for its size in the answer, or in the record of it.
        for length in (60000, 30000):
            reply = client.ask("show", bench="x" * length)
            refused(reply, None, "there is no Bench")
        reply = client.ask("x" * 60000)
        refused(reply, "protocol", "unknown request")
        version(client)


def malformed():
    each(
        [
            (b"{", "JSON ends too early"),
            (b" ", "JSON ends too early"),
            (b"\xff", "JSON"),
            (b"null", "JSON"),
            (b"[]", "not a JSON object"),
            (b'"x"', "not a JSON object"),
            (b"17", "JSON"),
            (b"{}{}", "JSON"),
            (b'{"v":1,"op":"ls"} x', "JSON"),
            (b'{"v":1,"op":"ls",}', "JSON"),
            (b"{'v':1,'op':'ls'}", "JSON"),
            (b'{"v":1,"op":"ls" /* x */}', "JSON"),
            (b'{"v":1,"op":"ls","offset":NaN}', "JSON"),
            (b'{"v":1,"op":"l\ns"}', "JSON"),
            (b'{"v":1,"op":"\xc0\xaf"}', "JSON"),
            (b'{"v":1,"op":"\xed\xa0\x80"}', "JSON"),
            (b"[" * 60000, "JSON"),
            (b'{"v":1,"op":' + b'{"a":' * 5000, "JSON"),
            (b'{"v":1,"op":"ls"}\0', "NUL byte in JSON"),
            (b"\0", "NUL byte in JSON"),
            (b'{"v":1,"op":"ls\0"}', "NUL byte in JSON"),
            (b'{"v":1,"op":"ls\\u0000x"}', "not strict JSON"),
            (b'{"v":1,"op":"ls","op":"version"}', "a key is given twice"),
            (b'{"v":1,"op":"version","v":1}', "a key is given twice"),
            (b'{"v":1,"op":"create","limits":{"pids":1,"pids":2}}', "a key is given twice"),
        ],
        "json",
    )


def requests():
    each(
        [
            ({}, 'no "op"'),
            ({"op": 3}, 'no "op"'),
            ({"op": ["ls"]}, 'no "op"'),
            ({"op": "bogus"}, 'unknown request "bogus"'),
            ({"op": ""}, 'unknown request ""'),
            ({"op": "LS"}, 'unknown request "LS"'),
            ({"op": "\x1b[2Jls"}, 'unknown request "\\x1b[2Jls"'),
            ({"op": "ls", "offset": -1}, '"offset" is no number from 0 up'),
            ({"op": "ls", "offset": "1"}, '"offset" is of the wrong type'),
            ({"op": "show"}, "names no Bench"),
            ({"op": "show", "bench": 1}, 'show: "bench" is of the wrong type'),
            ({"op": "destroy"}, "names no Bench"),
            ({"op": "detach", "bench": None}, '"bench" is of the wrong type'),
            ({"op": "create"}, "no root file system was passed"),
            ({"op": "attach", "bench": "x1"}, 'needs "bench" and "container"'),
            ({"op": "attach", "bench": "x1", "container": "c"}, "is of the wrong type"),
            ({"op": "attach", "bench": "x1", "exec": True}, '"exec" is of the wrong type'),
            (
                {"op": "attach", "bench": "x1", "container": {"pid": 1}, "exec": "\x1b[2J"},
                '"\\x1b[2J" is no mode of execution',
            ),
            ({"op": "attach", "bench": "x1", "container": {}}, "not exactly one container"),
            (
                {"op": "attach", "bench": "x1", "container": {"id": "a", "pid": 1}},
                "not exactly one container",
            ),
            ({"op": "attach", "bench": "x1", "container": {"pid": -1}}, "no container is named"),
            ({"op": "attach", "bench": "x1", "container": {"pid": "1"}}, "no container is named"),
            (
                {"op": "attach", "bench": "x1", "container": {"pid": 1 << 40}},
                "no container is named",
            ),
            ({"op": "attach", "bench": "x1", "container": {"id": 5}}, "no container is named"),
            ({"op": "revoke"}, "no grant is named"),
            ({"op": "revoke", "bench": BENCH}, "name a grant, or a Bench with --all"),
            ({"op": "revoke", "all": True}, "names no Bench"),
            ({"op": "events", "since": -1, "bench": BENCH}, '"since" is no number from 0 up'),
            ({"op": "events", "since": "x", "bench": BENCH}, '"since" is of the wrong type'),
            ({"op": "events", "follow": 1}, '"follow" is of the wrong type'),
            ({"op": "revoke", "bench": BENCH, "all": 1}, '"all" is of the wrong type'),
            ({"op": "revoke", "bench": BENCH, "all": "true"}, '"all" is of the wrong type'),
            ({"op": "exec", "bench": BENCH, "argv": "true"}, '"argv" is of the wrong type'),
            ({"op": "exec", "bench": BENCH, "argv": {}}, '"argv" is of the wrong type'),
            ({"op": "confirm", "token": 5, "how": "yes"}, '"token" is of the wrong type'),
            ({"op": "confirm", "token": "1", "how": True}, '"how" is of the wrong type'),
            ({"op": "grant", "bench": BENCH, "kind": "x"}, "unknown kind"),
            ({"op": "grant", "bench": BENCH}, "unknown kind"),
            ({"op": "grant", "bench": BENCH, "kind": "net"},
             'needs one of "destination" and "profile"'),
            ({"op": "grant", "bench": BENCH, "kind": "net", "profile": 5},
             '"profile" is of the wrong type'),
            (
                {"op": "grant", "bench": BENCH, "kind": "net", "destination": 5},
                '"destination" is of the wrong type',
            ),
            (
                {"op": "grant", "bench": BENCH, "kind": "file", "source": "/x", "rights": "ro"},
                "the object was not passed",
            ),
            ({"op": "exec", "bench": BENCH, "argv": ["true"]}, "a command and three fds"),
        ],
        "protocol",
    )
    each([({"op": "show", "bench": "e2"}, 'there is no Bench "e2"; see `benchmon ls`')], None)
    each([({"op": "revoke", "grant": "e1/0"}, 'is no grant id such as b1/3')], "grant-id")
    each([({"op": "events", "bench": "B"}, "no name of a Bench")], "bench-name")
    each([({"op": "events", "since": 3}, "name one with --bench")], "events")
    each([({"op": "attach", "bench": "B", "container": {"id": "x"}}, "is no name")], "bench-name")


def versions():
    """A refusal that a client of any version understands: it says which one is spoken here."""
    spoken = "gatekeeperd speaks version 1"
    both = [(v, f"the request is of version {v} of the protocol; {spoken}")
            for v in (0, 2, -1, 1 << 40)]
    none = [(v, f"names no version of the protocol; {spoken}")
            for v in ("1", None, 1.0, True, [1])]
    with Client() as client:
        for v, words in both + none:
            for op in ("version", "ls", "from the future"):
                reply = client.ask(op, **{"v": v, "new": {}})
                refused(reply, "protocol-version", words,
                        "use benchmon and gatekeeperd of one version")
                check(reply["v"] == 1, "it does not say its version to a program", reply)
        refused(client.raw(b'{"op":"ls"}'), "protocol-version", "names no version")
        reply = client.ask("version")
        check(reply["ok"] and reply["protocol"] == 1, "no version of the protocol", reply)


def unknown_keys():
    fd = opened(os.environ["BENCHMON_ROOTFS"])
    with Client() as client:
        for op in ("version", "create", "attach", "detach", "destroy", "grant", "confirm",
                   "revoke", "ls", "show", "events", "exec"):
            reply = client.ask(op, bogus=1)
            check(reply["ok"] is False and "bogus" in reply["error"]["message"],
                  f"{op}: an unknown key is no error", reply)
        reply = client.ask("create", [fd], limits={"pids": 5, "nice": 1})
        check(reply["ok"] is False and "nice" in reply["error"]["message"],
              "an unknown limit is no error", reply)
        reply = client.ask("attach", bench="x1", container={"name": "x"})
        check(reply["ok"] is False and "name" in reply["error"]["message"],
              "an unknown kind of container is no error", reply)
        version(client)


def descriptors():
    fd = opened("/dev/null")
    with Client() as client:
        for count in (4, 20, 200, 253):
            reply = client.ask("version", [fd] * count)
            refused(reply, "message-fds", f"{count} file descriptors, at most 3 are taken")
        for op in ("version", "ls", "attach", "detach", "destroy", "confirm", "revoke", "show",
                   "events"):
            refused(client.ask(op, [fd]), "message-fds", f"{op}: 1 file descriptors, not 0")
        refused(client.ask("create", [fd, fd]), "message-fds", "create: 2 file descriptors, not 1")
        refused(client.raw(b"{", [fd] * 3), "json")
        refused(client.ask("exec", [fd, fd], bench=BENCH, argv=["true"]), "protocol")
        # Files of the host must not be carried in as a payload's streams.
        refused(client.ask("exec", [fd] * 3, bench=BENCH, argv=["true"]), "stdio",
                "neither a pipe nor a pty", "pass pipes or a pty")
        refused(client.ask("exec", [opened("/etc/passwd")] * 3, bench=BENCH, argv=["true"]),
                "stdio")
        left, right = socket.socketpair()
        refused(client.ask("exec", [left.fileno()] * 3, bench=BENCH, argv=["true"]), "stdio")
        refused(client.ask("exec", list(os.pipe()) + [fd], bench=BENCH, argv=["true"], tty=True),
                "stdio")
        right.close()
        version(client)


def commands():
    """argv and its like as no benchmon would send them."""
    pipes = os.pipe()
    fds = [pipes[0], pipes[1], pipes[1]]
    with Client() as client:
        for keys in ({}, {"argv": []}, {"argv": [""]}, {"argv": [1]},
                     {"argv": ["true", None]}, {"argv": [["true"]]}):
            refused(client.ask("exec", fds, bench=BENCH, **keys), "protocol",
                    "needs a command and three fds")
        refused(client.ask("exec", fds, bench=BENCH, argv=["true"], cwd="/nowhere"), "cwd",
                "the working directory: No such file", "give a directory of the Bench")
        version(client)


def sources():
    """Objects that prove no access of the caller's."""
    path = sys.argv[2]
    with open(path, "w", encoding="ascii") as file:
        file.write("x")

    def grant(client, fd, rights="ro", **keys):
        return client.ask("grant", [fd], bench=BENCH, kind="file", source=path, rights=rights,
                          dest="/in/x", **keys)

    with Client() as client:
        for flags in (os.O_PATH, os.O_WRONLY):
            refused(grant(client, opened(path, flags)), "own-access",
                    "not opened for reading", "open it for reading")
        refused(grant(client, opened(path), "rw"), "own-access",
                "rw needs write access of the caller's own; grant it ro")
        for what in ("/dev/null", "/dev/ptmx"):
            refused(grant(client, opened(what)), "object-kind",
                    "only directories and regular files are granted")
        refused(grant(client, os.pipe()[0]), "object-kind")
        refused(grant(client, client.socket.fileno()), "object-kind")
        refused(grant(client, os.memfd_create("x")), "object-kind")
        for what in ("/proc/self/ns/net", "/proc/1/environ", "/sys/kernel/mm"):
            refused(grant(client, opened(what)), "object-kind", "a view of the kernel")
        for rights in ("", "x", "rx", "rwx", "RO"):
            refused(grant(client, opened(path), rights), "rights", "rights are ro or rw")
        refused(client.ask("grant", [opened(path)], bench=BENCH, kind="file", rights="ro"),
                "protocol", '"source" is missing or too long')
        refused(client.ask("grant", [opened(path)], bench=BENCH, kind="file", rights="ro",
                           source="x" * 5000), "protocol", '"source" is missing or too long')
        fd = opened(path)
        os.unlink(path)
        refused(grant(client, fd), "object-kind", "the object has been deleted")
        version(client)


def hang_up():
    """After sending, before reading; with descriptors under way; while something runs."""
    fd = opened("/tmp")
    for op, keys, fds in (("version", {}, []), ("ls", {}, []), ("ls", {}, [fd] * 3),
                          ("grant", {"bench": BENCH, "kind": "file", "source": "/tmp",
                                     "rights": "ro", "idmap": False}, [fd]),
                          ("grant", {"bench": BENCH, "kind": "net",
                                     "destination": "198.51.100.10:80"}, []),
                          ("events", {"follow": True}, []), ("events", {"follow": False}, [])):
        for _ in range(3):
            with Client() as client:
                client.send(json.dumps({"v": 1, "op": op, **keys}).encode(), fds)
    for _ in range(20):
        Client().socket.close()
    with Client() as client:
        client.socket.shutdown(socket.SHUT_WR)
        check(client.receive() is None, "a closed half is not the end")
    with Client() as client:
        # An empty packet looks like the end.
        client.send(b"")
        check(client.receive() is None, "an empty message is no end")
    for cut in (b'{"v":1,', b"\0", b"x" * MAX):
        with Client() as client:
            client.send(cut, [fd] * 3)


def abandoned_exec():
    """Who hangs up on an exec ends it, whenever that is."""
    for wait in (False, True):
        pipes = os.pipe()
        with Client() as client:
            client.send(json.dumps({"v": 1, "op": "exec", "bench": BENCH,
                                    "argv": ["sleep", "infinity"]}).encode(),
                        [opened_pipe(), pipes[1], pipes[1]])
            os.close(pipes[1])
            if wait:
                reply = client.receive()
                check(reply["ok"] and reply["pid"] > 0, "no pid", reply)
                # One exec takes the connection.
                refused(client.ask("ls"), "protocol", "taken by an earlier request",
                        "open another connection")
        # The payload was all that held the other end.
        check(os.read(pipes[0], 1) == b"", "it wrote something")
        os.close(pipes[0])


def opened_pipe():
    """A pipe that stays open and silent for as long as this process lives."""
    return os.pipe()[0]


def crowd():
    """300 connections: some are refused, those that are there keep working."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
    crowd_of = [Client() for _ in range(300)]
    good = 0
    for client in crowd_of:
        try:
            reply = client.ask("version")
        except OSError:
            reply = None
        good += bool(reply and reply["ok"])
    check(200 <= good <= 256, f"{good} of 300 connections work")
    for client in crowd_of:
        client.socket.close()


def crowd_gone():
    with Client() as client:
        version(client)


def strangers():
    """Not root: the socket's mode keeps them out, and so does the daemon where it does not."""
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresuid(65534, 65534, 65534)
        try:
            Client()
        except PermissionError:
            os._exit(0)
        os._exit(1)
    check(os.waitpid(pid, 0)[1] == 0, "nobody may connect")
    mode = os.stat("/run/benchmon/gatekeeperd.sock").st_mode & 0o777
    check(mode == 0o600, f"the socket has mode {mode:o}")
    os.chmod("/run/benchmon/gatekeeperd.sock", 0o666)
    try:
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setresuid(65534, 65534, 65534)
            with Client() as client:
                version(client)
                for op in ("ls", "create", "attach", "detach", "destroy", "grant", "confirm",
                           "revoke", "show", "events", "exec"):
                    refused(client.ask(op), "operator", f"{op}: uid 65534 is no operator",
                            "run it as root")
            os._exit(0)
        check(os.waitpid(pid, 0)[1] == 0, "a stranger was served")
    finally:
        os.chmod("/run/benchmon/gatekeeperd.sock", 0o600)


def insider():
    """A process in a Bench's cgroup, below it, or that went there after it connected."""
    group = f"/sys/fs/cgroup/benchmon/{BENCH}"
    below = f"{group}/below"
    os.mkdir(below)
    for place in (group, below):
        pid = os.fork()
        if pid == 0:
            early = Client()
            with open(f"{place}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
            for client in (early, Client()):
                for op in ("show", "destroy", "grant", "revoke", "confirm", "reject"):
                    refused(client.ask(op, bench=BENCH), "not-from-inside",
                            f"process {os.getpid()} runs in ")
            os._exit(0)
        check(os.waitpid(pid, 0)[1] == 0, f"asked from inside {place}")
    os.rmdir(below)


def names():
    """As the CLI would not send them."""
    root = opened(os.environ["BENCHMON_ROOTFS"])
    with Client() as client:
        for name in ("", "B", "1", "-", "a/b", "..", "a" * 33, "a" * 60000, "é", "a\n", "\x1b"):
            refused(client.ask("create", [root], bench=name), "bench-name", "is no name for a Bench")
        for limits in ({"memory": -1}, {"memory": 1}, {"pids": -1}, {"memory": 1 << 19},
                       {"cpus": 9}, {"disk": 1 << 23}):
            refused(client.ask("create", [root], limits=limits), "limits", "too low for anything to run")
        refused(client.ask("create", [root], bench=BENCH), "bench-name", "take another name")
        for limits in ({"memory": "1G"}, {"pids": 1.5}, {"pids": True}, [], "x"):
            reply = client.ask("create", [root], bench="wrong", limits=limits)
            if reply["ok"]:
                client.ask("destroy", bench="wrong")
            check(not reply["ok"], f"limits {limits!r} are taken for none", reply)
        version(client)


def token(client, **keys):
    reply = client.ask("grant", bench=BENCH, kind="net", **keys)
    check(reply["ok"], "not shown", reply)
    return reply["confirm"]["token"]


def tokens():
    """Good once, on its own connection, until the next grant on it."""
    here = {"destination": "198.51.100.10:80"}
    with Client() as client, Client() as other:
        mine = token(client, **here)
        theirs = token(other, **here)
        check(mine != theirs, "two connections have one token")
        for wrong in (theirs, "", "0", mine + "0", "x" * 1000):
            refused(client.ask("confirm", token=wrong, how="yes"), "confirmation",
                    "nothing on this connection awaits that confirmation; grant it again")
        refused(client.ask("confirm", how="yes"), "confirmation")
        refused(other.ask("confirm", token=mine, how="yes"), "confirmation")
        refused(client.ask("confirm", token=mine, how="maybe"), "protocol", '"how" is tty or yes')
        refused(client.ask("confirm", token=mine), "protocol", '"how" is tty or yes')
        # A later one takes its place, also one that is refused.
        later = token(client, destination="198.51.100.10:81")
        refused(client.ask("confirm", token=mine, how="yes"), "confirmation")
        refused(client.ask("grant", bench=BENCH, kind="net", destination="x"),
                "a destination is HOST:PORT or ADDRESS:PORT[/tcp|/udp]")
        refused(client.ask("confirm", token=later, how="yes"), "confirmation")
        # Twice is once.
        mine = token(client, **here)
        reply = client.ask("confirm", token=mine, how="yes")
        check(reply["ok"], "not granted", reply)
        refused(client.ask("confirm", token=mine, how="yes"), "confirmation")
        # The other one was shown the same, before.
        reply = other.ask("confirm", token=theirs, how="yes")
        check(not reply["ok"], "one destination was granted twice", reply)
        reply = client.ask("revoke", bench=BENCH, all=True)
        check(reply["ok"], "not revoked", reply)


def ended_bench():
    """A confirmation that comes when the Bench is another of the same name."""
    root = opened(os.environ["BENCHMON_ROOTFS"])
    with Client() as client, Client() as other:
        check(other.ask("create", [root], bench="e2")["ok"], "not created")
        reply = client.ask("grant", bench="e2", kind="net", destination="198.51.100.10:80")
        mine = reply["confirm"]["token"]
        check(other.ask("destroy", bench="e2")["ok"], "not destroyed")
        refused(client.ask("confirm", token=mine, how="yes"), "confirmation",
                "Bench e2 has ended meanwhile")
        check(other.ask("create", [root], bench="e2")["ok"], "not created")
        refused(client.ask("confirm", token=mine, how="yes"), "confirmation")
        check(other.ask("destroy", bench="e2")["ok"], "not destroyed")


def abandoned_create():
    """Nobody hears of the Bench that was made: it is there all the same, whole."""
    with Client() as client:
        client.send(json.dumps({"v": 1, "op": "create", "bench": "e2"}).encode(),
                    [opened(os.environ["BENCHMON_ROOTFS"])])
    with Client() as client:
        reply = client.ask("show", bench="e2")
        check(reply["ok"] and reply["bench"]["state"] == "ready", "not whole", reply)
        check(client.ask("destroy", bench="e2")["ok"], "not destroyed")


def terminal():
    """Somebody's terminal is no stream of a payload's: it would type into it."""
    pid = os.fork()
    if pid == 0:
        _, slave = os.openpty()
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
        with Client() as client:
            reply = client.ask("exec", [slave] * 3, bench=BENCH, argv=["true"], tty=True)
            check(not reply["ok"], "the terminal of a session was handed over", reply)
        os._exit(0)
    check(os.waitpid(pid, 0)[1] == 0, "")


signal.signal(signal.SIGPIPE, signal.SIG_IGN)
globals()[sys.argv[1]]()
with Client() as last:
    version(last)
check(daemon() > 0, "no daemon")
