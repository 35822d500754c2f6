"""steps.py GROUP DISK [CONTAINER]: gatekeeperd dies at each step of each operation of the group.

An operation is done once while the daemon writes down which steps it comes by; then once for each of
those, with a daemon that dies there. Another one is started, and all must agree (stepped.agree): what
the kernel allowed when it died is in the ledger, what it allows then is no more than that, and when the
operation is taken back nothing is left of it. A step is done in the first operation that comes by it; with
E2E_FULL=1 in each, and at its second time too. Appends the steps to $E2E_RUN/reached.
"""
import os
import select
import signal
import subprocess
import sys
import time

import machine
import pinned
from agree import agree, subset
from ledger import awaiting
from client import Client, check, opened
from stepped import CONTROL, PROGRAM, RUN, TRACE, Daemon, all_steps, asked, must, tell, things

GROUP, DISK = sys.argv[1:3]
FULL = bool(os.environ.get("E2E_FULL"))
SERVER = "198.51.100.10"
ROOTFS = os.environ["BENCHMON_ROOTFS"]
OTHER = PROGRAM.replace("/steps/", "/other/")
REACHED = f"{RUN}/reached"
daemon = Daemon()


class Agent:
    """A shell in the Bench that does what it is told when nobody can exec there."""

    def __init__(self, bench):
        there, self.to = os.pipe()
        self.of, here = os.pipe()
        self.client = Client()
        reply = self.client.ask("exec", [there, here, here], bench=bench, argv=["bash", "-c", """
            while read -r command; do eval "$command" 2>&1; echo done; done"""])
        check(reply["ok"], "no agent", reply)
        os.close(there)
        os.close(here)
        self.said = b""

    def ask(self, command):
        os.write(self.to, f"{command}\n".encode())
        self.said = b""
        while not f"\n{self.said.decode()}".endswith("\ndone\n"):
            check(select.select([self.of], [], [], 60)[0], f"the agent does not answer: {command}")
            data = os.read(self.of, 65536)
            check(data, f"the agent has ended: {self.said}")
            self.said += data
        return self.said.decode()

    def end(self):
        self.client.socket.close()
        os.close(self.to)
        os.close(self.of)


agent = None
waiter = None


def grant(bench="s1", fds=(), **keys):
    """Asked and confirmed; whatever comes of it."""
    with Client() as client:
        reply = asked(client, "grant", fds, bench=bench, **keys)
        if "confirm" in reply:
            return asked(client, "confirm", token=reply["confirm"]["token"], how="yes")
        return reply


def granted(*args, **keys):
    reply = grant(*args, **keys)
    check(reply.get("ok"), f"not granted: {keys}", reply)
    return reply["grant"]["id"]


def file_grant(do, name="g", rights="ro", **keys):
    path = f"{DISK}/steps/{name}"
    return do(fds=[opened(path)], kind="file", source=path, rights=rights, idmap=True,
              dest=f"/in/{name}", **keys)


def net_grant(do, port=8080, **keys):
    return do(kind="net", destination=f"{SERVER}:{port}", **keys)


def ask(op, fds=(), **keys):
    with Client() as client:
        return asked(client, op, fds, **keys)


def confirmed(op, **keys):
    with Client() as client:
        reply = asked(client, op, **keys)
        if "confirm" in reply:
            return asked(client, "confirm", token=reply["confirm"]["token"], how="yes")
        return reply


def shown():
    with Client() as client:
        return {bench["name"]: bench for bench in client.ask("ls")["benches"]}


def end_if_there(name, op):
    if name in shown():
        must(op, bench=name)


def revoke_all():
    """And what still holds anything lets go."""
    if shown()["s1"]["state"] == "frozen":
        must("thaw", bench="s1")
    agent.ask("exec 8<&- 9<&-; kill $(jobs -p) 2>/dev/null; wait; cd /")
    must("revoke", bench="s1", all=True)


def create():
    ask("create", [opened(ROOTFS)], bench="s2", limits={"disk": 16 << 20})


def attach():
    ask("attach", bench="a1", container={"id": "c1"})


def adopt():
    with Client() as client:
        reply = asked(client, "attach", bench="a1", container={"id": "c1"}, adopt=True)
        if reply.get("volumes"):
            reply = asked(client, "adopt", bench="a1", volume=0)
            if "confirm" in reply:
                asked(client, "confirm", token=reply["confirm"]["token"], how="yes")


def volume_back():
    pid = open(f"{RUN}/c/c1/pid", encoding="ascii").read()
    if not os.path.exists(f"/proc/{pid}/root/vol/secret"):
        subprocess.run([sys.executable, f"{os.path.dirname(__file__)}/mountin.py", f"{DISK}/vol",
                        pid, "/vol"], check=True)


def attached():
    volume_back()
    must("attach", bench="a1", container={"id": "c1"})


def zone(second):
    with open(f"{RUN}/zone", "w", encoding="ascii") as file:
        file.write(f"a.test 5 A {SERVER}\nb.test 5 A {second}\nup.test 5 A {SERVER}\n")


def sealed(name="p"):
    reply = confirmed("profile-seal", name=name)
    check(reply.get("ok"), f"not sealed: {name}", reply)


def unsealed(name):
    with Client() as client:
        client.ask("profile-unseal", name=name)


def profile_granted():
    zone("198.51.100.11")
    sealed()
    granted(kind="net", profile="p")


def to_refresh():
    """b.test has moved, and what it had is not kept: closed, and another one opened."""
    profile_granted()
    zone("198.51.100.12")


def refreshed_back():
    revoke_all()
    zone("198.51.100.11")
    sealed()


def held():
    file_grant(granted, rights="rw")
    agent.ask("cd /in/g; exec 8</in/g/file; sleep 1000 9</in/g/file &")


def nested():
    """What lies in another grant: revoked, it stays closed."""
    file_grant(granted, rights="rw", **{"except": [{"name": "no", "rights": "none"}]})
    file_grant(granted, name="g/below")


def revoke(**keys):
    ask("revoke", **keys)


def id_of(number):
    with Client() as client:
        return client.ask("show", bench="s1")["bench"]["grants"][number]["id"]


def revoke_first():
    revoke(grant=id_of(0))


def revoke_last():
    revoke(grant=id_of(-1))


def revoke_host():
    revoke(grant=id_of(0), host="b.test")


def expiring():
    file_grant(granted, **{"for": 2})


def expire():
    """By the daemon's clock; what it does not live to do, the next one does."""
    end = time.monotonic() + 60
    while daemon.process.poll() is None and shown_or_none("s1", "grant_count") != 0:
        check(time.monotonic() < end, "it does not expire")
        wait_a_little()


def shown_or_none(name, key):
    with Client() as client:
        return asked(client, "show", bench=name).get("bench", {}).get(key)


def wait_a_little():
    """Nobody tells of an end that the daemon sees to by itself."""
    try:
        daemon.process.wait(0.1)
    except subprocess.TimeoutExpired:
        pass


def let_go():
    """Held when it was revoked, and then no more."""
    file_grant(granted)
    agent.ask("exec 8</in/g/file")
    must("revoke", bench="s1", all=True)
    check(os.path.exists(f"{pinned.LINKS}/recall"), "no hook of a recall is attached")
    agent.ask("exec 8<&-")


def review():
    end = time.monotonic() + 60
    while daemon.process.poll() is None and os.path.exists(f"{pinned.LINKS}/recall"):
        check(time.monotonic() < end, "the hooks of a recall stay")
        wait_a_little()


def execute():
    ends = os.pipe()
    with Client() as client:
        if asked(client, "exec", [ends[0], ends[1], ends[1]], bench="s1", argv=["true"]).get("ok"):
            asked(client, "version")
        for end in ends:
            os.close(end)


def with_outputs():
    must("create", [opened(ROOTFS)], bench="s2")
    granted("s2", kind="net", destination=f"{SERVER}:8080")
    path = f"{DISK}/steps/g"
    granted("s2", [opened(path)], kind="file", source=path, rights="rw", idmap=True, dest="/in/g")


def restart():
    daemon.end(signal.SIGKILL)
    if daemon.start() == "ok":
        with Client() as client:
            asked(client, "version")


def to_restart():
    file_grant(granted, rights="rw")
    net_grant(granted)


def made():
    """One that never had egress."""
    must("create", [opened(ROOTFS)], bench="s2")


def secret():
    file_grant(lambda fds, **keys: grant("s2", fds, **keys), rights="rw", secret=True)


def forgotten():
    end_if_there("s2", "destroy")
    with Client() as client:
        for item in client.ask("carriers")["items"]:
            check(client.ask("carrier-clear", carrier=item["carrier"])["ok"], "not cleared", item)


def broker(do):
    return do(kind="broker", broker="model")


def nothing():
    pass


def zone_refreshed():
    confirmed("profile-refresh", name="p")


def unloaded():
    agent.end()
    must("destroy", bench="s1")
    daemon.end()
    subprocess.run([PROGRAM, "--unload"], check=True, stderr=subprocess.DEVNULL)


CLIENT = "/run/benchmon/benchmon"


def request(do=asked, **keys):
    """Its id; None where the daemon did not live to tell."""
    with Client() as client:
        return do(client, "request", **keys).get("request", {}).get("request")


def request_file():
    return request(bench="s1", kind="file", target=f"{DISK}/steps/g", rights="rw", dest="/in/g")


def request_inside():
    """By its door; the client of a Bench says so when nobody answers."""
    agent.ask(f"{CLIENT} request file {DISK}/steps/g --why x </dev/null")


def requested():
    check(request_file(), "not asked for")


def rejected():
    """All that awaits a decision, and what may have come of it."""
    with Client() as client:
        for item in client.ask("pending")["items"]:
            check(client.ask("reject", request=item["request"])["ok"], "not rejected", item)
    revoke_all()
    end_if_there("s2", "destroy")


def first_pending():
    with Client() as client:
        return client.ask("pending")["items"][0]["request"]


def confirm_file():
    path = f"{DISK}/steps/g"
    with Client() as client:
        reply = asked(client, "grant", [opened(path)], request=first_pending(), source=path,
                      idmap=True)
        if "confirm" in reply:
            asked(client, "confirm", token=reply["confirm"]["token"], how="yes")


def requested_bench():
    check(request(kind="bench", rootfs=ROOTFS, name="s2"), "not asked for")


def confirm_bench():
    with Client() as client:
        reply = asked(client, "create", [opened(ROOTFS)], request=first_pending())
        if "confirm" in reply:
            asked(client, "confirm", token=reply["confirm"]["token"], how="yes")


def waited_for():
    """Whoever waits is told no more than the ledger says by then."""
    global waiter
    waiter = Client()
    reply = waiter.ask("request", bench="s1", kind="net", target=f"{SERVER}:8081", wait=True)
    check(reply["ok"], "not asked for", reply)


def reject():
    ask("reject", request=first_pending())
    try:
        told = waiter.receive()
    except OSError:
        told = None
    waiter.socket.close()
    if told:
        check(told["outcome"]["what"] == "rejected", "told something else", told)
        check(not awaiting(), "told of what the ledger has not")


def bench_up():
    global agent
    must("create", [opened(ROOTFS)], bench="s1")
    agent = Agent("s1")


def other_version():
    """What is pinned is another build's."""
    to_restart()
    daemon.end()
    ends = os.pipe()
    other = subprocess.Popen([OTHER, "--background-fd", str(ends[1])], pass_fds=[ends[1]],
                             stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(ends[1])
    with os.fdopen(ends[0]) as ready:
        check(ready.readline() == "ok\n", "the other version does not start")
    other.terminate()
    other.wait(60)


GROUPS = {
    # name: before it, it, and what takes it back
    "make": {
        "create": (nothing, create, lambda: end_if_there("s2", "destroy")),
        "attach": (volume_back, attach, lambda: end_if_there("a1", "detach")),
        "adopt": (volume_back, adopt, lambda: end_if_there("a1", "detach")),
        "exec": (nothing, execute, nothing),
        "freeze": (nothing, lambda: ask("freeze", bench="s1"), revoke_all),
        "thaw": (lambda: must("freeze", bench="s1"), lambda: ask("thaw", bench="s1"), revoke_all),
        "rotate": (to_restart, lambda: ask("ledger-rotate"), revoke_all),
    },
    "grant": {
        "file": (nothing, lambda: file_grant(grant, rights="rw"), revoke_all),
        "except": (nothing, lambda: file_grant(
            grant, **{"except": [{"name": "no", "rights": "none"}], "for": 3600}), revoke_all),
        "net": (nothing, lambda: net_grant(grant), revoke_all),
        "listen": (nothing, lambda: grant(kind="listen", port=81, protocol="tcp"), revoke_all),
        "secret": (made, secret, forgotten),
        "broker": (nothing, lambda: broker(grant), revoke_all),
        "seal": (nothing, lambda: confirmed("profile-seal", name="q"), lambda: unsealed("q")),
        "profile": (sealed, lambda: grant(kind="net", profile="p"), revoke_all),
        "host": (nothing, lambda: grant(kind="net", destination="a.test:8080"),
                 lambda: (revoke_all(), unsealed("a.test:8080"))),
        "refresh": (to_refresh, zone_refreshed, refreshed_back),
        "unseal": (lambda: sealed("q"), lambda: ask("profile-unseal", name="q"),
                   lambda: unsealed("q")),
    },
    "revoke": {
        "file": (held, revoke_first, revoke_all),
        "nested": (nested, revoke_last, revoke_all),
        "net": (lambda: net_grant(granted), revoke_first, revoke_all),
        "listen": (lambda: granted(kind="listen", port=81, protocol="tcp"), revoke_first,
                   revoke_all),
        "broker": (lambda: broker(granted), revoke_first, revoke_all),
        "profile": (profile_granted, revoke_first, revoke_all),
        "host": (profile_granted, revoke_host, revoke_all),
        "all": (to_restart, lambda: revoke(bench="s1", all=True), revoke_all),
        "expiry": (expiring, expire, revoke_all),
        "let-go": (let_go, review, revoke_all),
    },
    "ask": {
        "outside": (nothing, request_file, rejected),
        "inside": (nothing, request_inside, rejected),
        "confirm": (requested, confirm_file, rejected),
        "bench": (requested_bench, confirm_bench, rejected),
        "reject": (waited_for, reject, rejected),
    },
    "end": {
        "destroy": (with_outputs, lambda: ask("destroy", bench="s2"),
                    lambda: end_if_there("s2", "destroy")),
        "detach": (attached, lambda: ask("detach", bench="a1"),
                   lambda: end_if_there("a1", "detach")),
        "restart": (to_restart, restart, revoke_all),
    },
    "programs": {
        "load": (unloaded, daemon.start, bench_up),
        "upgrade": (other_version, daemon.start, revoke_all),
    },
}


def settled(want):
    """Waits for what ends by itself: a link goes in the background, a process when it is reaped."""
    end = time.monotonic() + 60
    while (now := things()) != want:
        check(time.monotonic() < end,
              f"left behind: {sorted(now - want)}, missing: {sorted(want - now)}")
        os.sched_yield()


def enforced():
    """In the Bench, whatever has become of the operation."""
    if shown().get("s1", {}).get("state") != "ready":
        return
    said = agent.ask(f"cat </dev/tcp/{SERVER}/8081")
    check("Operation not permitted" in said, f"port 8081 is open: {said}")
    said = agent.ask(f"{CLIENT} version </dev/null")
    check("gatekeeperd" in said and "not running" not in said, f"its door: {said}")


def round_of(name, step, count, clean):
    """One death. `clean` is what there is between the rounds."""
    before, act, after = GROUPS[GROUP][name]
    before()
    tell(f"kill {step} {count}\n")
    act()
    if not daemon.died(60):
        raise SystemExit(f"{name}: it did not come by {step}")
    allowed = pinned.authority()
    subset(allowed)
    daemon.up()
    agree(allowed)
    enforced()
    after()
    check(not [entry for entry in pinned.authority() if entry[2]], "authority is left")
    settled(clean)


def trace_of(name):
    """The steps that it comes by, in their order, each as often as it does."""
    before, act, after = GROUPS[GROUP][name]
    before()
    tell(f"trace {TRACE}\n")
    act()
    with Client() as client:
        client.ask("version")
    tell("")
    with open(TRACE, encoding="ascii") as file:
        steps = file.read().split()
    os.unlink(TRACE)
    after()
    return steps


def main():
    daemon.up()
    bench_up()
    reached = set()
    if os.path.exists(REACHED):
        with open(REACHED, encoding="ascii") as file:
            reached = set(file.read().split())
    try:
        rounds(reached)
    finally:
        if daemon.process is None:
            daemon.up()
        with open(REACHED, "w", encoding="ascii") as file:
            file.write("\n".join(sorted(reached)))
    revoke_all()
    must("destroy", bench="s1")
    agent.end()
    daemon.end()
    os.unlink(CONTROL)


def rounds(reached):
    count = 0
    for name in GROUPS[GROUP]:
        began = time.monotonic()
        steps = trace_of(name)
        clean = things()
        todo = [(step, 1) for step in dict.fromkeys(steps) if FULL or step not in reached]
        if FULL:
            todo += [(step, 2) for step in dict.fromkeys(steps) if steps.count(step) > 1]
        print(f"{name}: {len(set(steps))} steps, {len(todo)} deaths", flush=True)
        for step, times in todo:
            began_round = time.monotonic()
            print(f"    {step} {times}", end="", flush=True)
            round_of(name, step, times, clean)
            print(f" {time.monotonic() - began_round:.1f} s", flush=True)
            count += 1
        reached |= set(steps)
        print(f"    {time.monotonic() - began:.0f} s", flush=True)
    print(f"{GROUP}: {count} deaths")


if GROUP == "reached":
    with open(REACHED, encoding="ascii") as told:
        missing = set(all_steps()) - set(told.read().split())
    check(not missing, f"no operation comes by {sorted(missing)}")
else:
    check(len(machine.gatekeepers()) == 0, "another gatekeeperd is there")
    main()
