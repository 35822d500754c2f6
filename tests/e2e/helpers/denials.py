"""denials.py flood COUNT SERVER QUIET...: what Benches are denied while f1 is denied COUNT things.
denials.py full SERVER QUIET LOUD...: a ring that nobody reads is filled, and one of another is told.
denials.py exact BENCH: what is told of it, and what the kernel has counted.
denials.py resume COUNT SERVER: one that reads on behind what it has, while all else ends and comes.

Of each Bench the numbers must be told once each, in order, or counted as suppressed.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timezone

from client import check, daemon

PORT = "8081"
# Of what it takes from a denial to its reader: in an emulated machine, which the flood shares, unless its
# clock counts instructions (tools/vm --icount): then E2E_PROMPT says so.
with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
    PROMPT_S = float(os.environ.get("E2E_PROMPT") or (10 if "QEMU TCG" in cpuinfo.read() else 1))
# One each second, of each quiet one.
ONES = 10 if os.environ.get("E2E_FULL") else 5


def benchmon(*words):
    done = subprocess.run(["benchmon", *words], capture_output=True, stdin=subprocess.DEVNULL,
                          text=True, check=False)
    check(done.returncode == 0, f"benchmon {' '.join(words)}: {done.stderr}")
    return done.stdout


def execute(bench, count, ms, server, begins=subprocess.DEVNULL):
    # pylint: disable=consider-using-with
    return subprocess.Popen(["benchmon", "exec", bench, "--", "/work/flood", str(count), str(ms),
                             server, PORT], stdin=begins, stdout=subprocess.PIPE,
                            text=True)


def reader(*words):
    # pylint: disable=consider-using-with
    return subprocess.Popen(["benchmon", "events", "--format", "json", *words],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)


def refused(process, count):
    said = process.communicate()[0]
    check(said == f"refused: {count}\n", f"{count} were asked for, and it says: {said}")


def until(what, condition):
    end = time.monotonic() + 240
    while not condition():
        check(time.monotonic() < end, f"never: {what}")
        threading.Event().wait(0.05)


def floods():
    """How many still run."""
    count = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:
            continue
        count += name == "flood" and rest.split()[0] not in "ZX"
    return count


def age(event):
    """Seconds."""
    told = datetime.strptime(event["time"][:26], "%Y-%m-%dT%H:%M:%S.%f")
    return (datetime.now(timezone.utc).replace(tzinfo=None) - told).total_seconds()


class Account:
    """What has been told of one Bench."""

    def __init__(self):
        self.told = 0
        self.delivered = 0
        self.suppressed = 0
        self.allowed = 0
        self.denied = {}

    def take(self, event):
        check(event.get("type") != "lost", f"its reader was told of a loss: {event}")
        first = event.get("first", event.get("seq"))
        check(first == self.told + 1, f"number {first} comes behind {self.told}")
        self.told = event.get("last", first)
        if "seq" in event:
            self.delivered += 1
            self.allowed += event["verdict"] == "allow"
            if event["verdict"] == "deny":
                self.denied[event["hook"]] = self.denied.get(event["hook"], 0) + 1
        else:
            check(event["type"] == "suppressed", f"of no known type: {event}")
            check(event["count"] == self.told - first + 1, f"another number: {event}")
            self.suppressed += event["count"]

    def is_all(self, bench, count, killed=False):
        """By the kernel's counters, which show has; starts of programs, at most four, are events too.

        A daemon that is killed takes with it what it held behind a number that was missing: these too
        are told of as suppressed, and the kernel did not count them as lost."""
        shown = json.loads(benchmon("show", bench, "--format", "json"))
        others = sum(n for hook, n in self.denied.items() if hook != "connect4")
        check(shown["denied"] == count + others,
              f"{bench}: {shown['denied']} counted, not {count} and {others}")
        check(shown["lost"] == self.suppressed or (killed and shown["lost"] < self.suppressed),
              f"{bench}: {shown['lost']} were not delivered, {self.suppressed} are told of")
        check(self.delivered + self.suppressed == self.told, f"{bench}: {self.told} are told of")
        check(max(1, self.allowed) <= self.told - shown["denied"] <= 4,
              f"{bench}: {self.told} numbers, and {shown['denied']} of them denials")


def flood(count, server, quiet):
    accounts = {bench: Account() for bench in ["f1", *quiet]}
    late = [0.0]
    follower = reader("-f")

    def follow():
        for line in follower.stdout:
            event = json.loads(line)
            if event.get("bench") in quiet and event.get("hook") == "connect4":
                late.append(age(event))

    thread = threading.Thread(target=follow)
    thread.start()
    others = {bench: execute(bench, ONES, 1000, server) for bench in quiet}
    loud = execute("f1", count, 0, server)
    refused(loud, count)
    for process in others.values():
        refused(process, ONES)
    for bench, account in accounts.items():
        for line in benchmon("events", "--bench", bench, "--since", "0", "--format",
                             "json").splitlines():
            account.take(json.loads(line))
        account.is_all(bench, count if bench == "f1" else ONES)
    for bench in quiet:
        check(accounts[bench].suppressed == 0, f"{bench} has lost some")
    until("all of the quiet ones have come", lambda: len(late) > ONES * len(quiet))
    follower.kill()
    thread.join()
    check(len(late) == 1 + ONES * len(quiet), f"{len(late) - 1} have come of the quiet ones")
    check(max(late) <= PROMPT_S, f"one came after {max(late):.3f} s")
    loud = accounts["f1"]
    check(loud.suppressed > 0, "nothing was suppressed")
    late.sort()
    print(f"took of {count} {loud.delivered} delivered, {loud.suppressed} suppressed; of the others "
          f"the latest after {late[-1] * 1000:.0f} ms, half within {late[len(late) // 2] * 1000:.0f} ms")


def resume(count, server):
    account = Account()
    loud = execute("r1", count, 1, server)
    until("it runs", floods)
    rounds = 0
    # Who waits for it loses its daemon too; it goes on.
    while floods() or rounds < 6:
        process = reader("-f", "--bench", "r1", "--since", str(account.told))
        patience = threading.Timer(3, process.kill)
        patience.start()
        # So many and then it ends, in the midst of whatever it is.
        for line in process.stdout:
            if not line.endswith("\n"):
                break
            account.take(json.loads(line))
            if account.delivered % 300 == 299:
                break
        patience.cancel()
        process.kill()
        process.wait()
        rounds += 1
        if rounds in (2, 4):
            os.kill(daemon(), signal.SIGKILL if rounds == 2 else signal.SIGTERM)
    loud.wait()
    benchmon("exec", "r1", "--", "true")
    for line in benchmon("events", "--bench", "r1", "--since", str(account.told), "--format",
                         "json").splitlines():
        account.take(json.loads(line))
    again = Account()
    for line in benchmon("events", "--bench", "r1", "--since", "0", "--format", "json").splitlines():
        again.take(json.loads(line))
    check((again.told, again.delivered, again.suppressed) ==
          (account.told, account.delivered, account.suppressed),
          "read at once it is something else")
    again.is_all("r1", count, killed=True)
    print(f"took {rounds} readers, {again.delivered} delivered, {again.suppressed} suppressed")


def full(server, quiet, loud):
    count = 2000
    processes = {bench: execute(bench, count, 1, server, subprocess.PIPE) for bench in loud}
    processes[quiet] = execute(quiet, ONES, 1000, server, subprocess.PIPE)
    until("all of them run", lambda: floods() == len(processes))
    for process in processes.values():
        process.stdin.close()
        process.stdin = None
    stopped = daemon()
    os.kill(stopped, signal.SIGSTOP)
    try:
        until("all of them end", lambda: floods() == 0)
    finally:
        os.kill(stopped, signal.SIGCONT)
    for bench, process in processes.items():
        refused(process, ONES if bench == quiet else count)
    suppressed = 0
    for bench in processes:
        account = Account()
        for line in benchmon("events", "--bench", bench, "--since", "0", "--format",
                             "json").splitlines():
            account.take(json.loads(line))
        account.is_all(bench, ONES if bench == quiet else count)
        suppressed += account.suppressed
        check(bench != quiet or not account.suppressed, "the quiet one has lost some")
    check(suppressed > 0, "nothing was suppressed")
    print(f"took {suppressed} of {count * len(loud)} suppressed")


def exact(bench):
    account = Account()
    for line in benchmon("events", "--bench", bench, "--since", "0", "--format",
                         "json").splitlines():
        account.take(json.loads(line))
    shown = json.loads(benchmon("show", bench, "--format", "json"))
    check(shown["lost"] == account.suppressed,
          f"{bench}: {shown['lost']} were not delivered, {account.suppressed} are told of")
    check(account.delivered + account.suppressed == account.told, f"{bench}: {account.told}")
    denied = sum(account.denied.values())
    check(denied <= shown["denied"] <= denied + account.suppressed and account.allowed,
          f"{bench}: {shown['denied']} counted, {denied} delivered")


if sys.argv[1] == "exact":
    exact(sys.argv[2])
elif sys.argv[1] == "full":
    full(sys.argv[2], sys.argv[3], sys.argv[4:])
elif sys.argv[1] == "flood":
    flood(int(sys.argv[2]), sys.argv[3], sys.argv[4:])
else:
    resume(int(sys.argv[2]), sys.argv[3])
