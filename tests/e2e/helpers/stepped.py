"""A gatekeeperd of `make STEPS=1` that dies where it is told to, and what there is beside it."""
import os
import re
import signal
import subprocess

import machine
from client import Client, check

RUN = os.environ["E2E_RUN"]
CONTROL, TRACE, LOG = f"{RUN}/step", f"{RUN}/trace", f"{RUN}/steps.log"
PROGRAM = os.path.realpath(f"{os.path.dirname(__file__)}/../../../build/steps/bin/gatekeeperd")


def all_steps():
    done = subprocess.run([PROGRAM], env={"BENCHMON_STEPS": "list"}, capture_output=True,
                          text=True, check=True)
    return done.stdout.split()


def tell(text):
    with open(CONTROL, "w", encoding="ascii") as file:
        file.write(text)


class Daemon:
    """One after the other; `process` is the one that lives, or None."""

    def __init__(self):
        self.process = None
        tell("")

    def start(self):
        """What it says when it is ready; empty where it died before."""
        ends = os.pipe()
        with open(LOG, "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "--background-fd", str(ends[1])], pass_fds=[ends[1]], cwd="/",
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={"PATH": os.environ["PATH"], "BENCHMON_STEPS": CONTROL})
        os.close(ends[1])
        with os.fdopen(ends[0]) as ready:
            return ready.readline().strip()

    def up(self):
        said = self.start()
        check(said == "ok", f"gatekeeperd: {said or 'died'}")

    def end(self, how=signal.SIGTERM):
        if self.process:
            self.process.send_signal(how)
            self.process.wait(60)
        self.process = None

    def died(self, seconds):
        """Whether it ended itself meanwhile, by the step."""
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        check(status == -signal.SIGKILL, f"gatekeeperd ended with {status}")
        self.process = None
        return True


def asked(client, op, fds=(), **keys):
    """Nobody answers who was killed meanwhile."""
    try:
        return client.ask(op, fds, **keys) or {}
    except (OSError, ValueError):
        return {}


def must(op, fds=(), **keys):
    with Client() as client:
        reply = client.ask(op, fds, **keys)
        check(reply and reply["ok"], f"{op} {keys}", reply)
        return reply


# They are there while something is held of what was revoked, which is looked at from time to time.
RECALL = {f"path /sys/fs/bpf/benchmon/links/{name}" for name in (
    "recall", "recall_map", "lookup", "expire_map", "tick", "queued", "queued_file",
    "queued_option")}


def things():
    """What machine.py finds, but files of the ledger, and the mounts of the Bench that stays: they are
    the view of the daemon that made it, and end with that. Its id and its processes are others where
    it had to be made again."""
    found = set()
    with Client() as client:
        number = client.ask("show", bench="s1")["bench"]["id"]
    for line in machine.state(str(os.getppid())):
        if line.startswith(("gatekeeperd has", "path /var/lib/benchmon/ledger", f"path {RUN}")):
            continue
        if line.startswith("mount gatekeeperd") and "/s1/" in line:
            continue
        if line.startswith("process ") and line.split()[2] in ("gatekeeperd", "steps"):
            continue
        if line in RECALL:
            continue
        if line.startswith("process ") and "/benchmon/s1" in machine.read(
                f"/proc/{line.split()[1]}/cgroup"):
            line = f"process of s1: {line.split()[2]}"
        found.add(re.sub(rf"/{number}(?=/|$)", "/s1", line))
    return found
