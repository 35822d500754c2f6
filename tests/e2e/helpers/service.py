"""service.py CASE [ARGUMENT...]: starts gatekeeperd as systemd would, and hears what it says."""
import os
import re
import signal
import socket
import sys
import time

from client import PATH, Client, check, daemon

REPO = os.path.abspath(f"{os.path.dirname(__file__)}/../../..")
UNIT = f"{REPO}/tools/systemd/gatekeeperd.service.in"
LOG = f"{os.environ['E2E_RUN']}/service.log"
PATIENCE = 240


class Manager:
    """Starts a gatekeeperd and hears what it says of itself."""

    def __init__(self, *arguments, listeners=(), hardened=False, name=None):
        self.name = name or f"{os.environ['E2E_RUN']}/notify"
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if not name and os.path.exists(self.name):
            os.unlink(self.name)
        self.socket.bind("\0" + name[1:] if name else self.name)
        self.socket.settimeout(1)
        self.said = []
        self.pid = os.fork()
        if self.pid == 0:
            log = os.open(LOG, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
            os.dup2(log, 1)
            os.dup2(log, 2)
            self.become(arguments, listeners, hardened)

    def become(self, arguments, listeners, hardened):
        command = ["gatekeeperd", *arguments]
        environment = {"PATH": os.environ["PATH"], "NOTIFY_SOCKET": self.name}
        # Out of the way first: a listener may have the number that another is to get.
        away = [os.dup(listener.fileno()) for listener in listeners]
        for number, fd in enumerate(away, 3):
            while fd < 3 + len(away):
                fd = os.dup(fd)
            os.dup2(fd, number)
        os.closerange(3 + len(away), 64)
        if listeners:
            environment.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(listeners)),
                               LISTEN_FDNAMES="gatekeeperd.socket")
        if hardened:
            command = restricted() + command
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.execvpe(command[0], command, environment)

    def hear(self, wanted):
        """Until it says that."""
        end = time.monotonic() + PATIENCE
        while wanted not in self.said:
            check(time.monotonic() < end, f"it never said {wanted}, but {self.said}")
            gone = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            self.listen()
            check(not gone or wanted in self.said, f"it has ended, without {wanted}: {log()}")

    def listen(self):
        """What there is, or comes within a second."""
        try:
            while True:
                self.said += self.socket.recv(4096).decode().splitlines()
                self.socket.setblocking(False)
        except (TimeoutError, BlockingIOError):
            self.socket.settimeout(1)

    def ended(self):
        """Its exit status, and what it said on stderr."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return status, log()

    def stop(self):
        os.kill(self.pid, signal.SIGTERM)
        self.hear("STOPPING=1")
        status, said = self.ended()
        check(status == 0, f"it ended with {status}: {said}")
        return said


def log():
    """What it has said on stderr."""
    with open(LOG, encoding="utf-8") as file:
        return file.read()


def settings():
    """The unit's [Service], each key with its values."""
    found = {}
    with open(UNIT, encoding="ascii") as file:
        for line in file:
            match = re.match(r"([A-Za-z]+)=(.*)", line)
            if match:
                found.setdefault(match[1], []).append(match[2])
    return found


def restricted():
    """A command that does to the next one what systemd would do by the unit's lines."""
    unit = settings()
    check(unit["NoNewPrivileges"] == ["yes"] and unit["ProtectSystem"] == ["full"],
          "the unit says something else than what is done here")
    kept = ",".join(f"+{name[4:].lower()}" for line in unit["CapabilityBoundingSet"]
                    for name in line.split())
    script = f"""
        echo {unit['OOMScoreAdjust'][0]} >/proc/self/oom_score_adj
        for dir in /usr /etc /boot /efi; do
            [ ! -d $dir ] || {{ mount --rbind $dir $dir && mount -o remount,bind,ro $dir; }} || exit 99
        done
        exec setpriv --no-new-privs --bounding-set=-all,{kept} "$@"
    """
    return ["unshare", "--mount", "--propagation", "slave", "sh", "-c", script, "sh"]


def listener(path, kind=socket.SOCK_SEQPACKET, listening=True):
    made = socket.socket(socket.AF_UNIX, kind)
    if path[0] != "\0" and os.path.exists(path):
        os.unlink(path)
    made.bind(path)
    if listening:
        made.listen(128)
    return made


def mode_of(path):
    st = os.stat(path)
    return f"{st.st_mode & 0o777:o} {st.st_uid}:{st.st_gid}"


def notified():
    """It says when it can be asked, and when it ends."""
    manager = Manager()
    manager.hear("STATUS=loading the programs")
    check("READY=1" not in manager.said, "ready before it has loaded anything")
    manager.hear("READY=1")
    with Client() as client:
        check(client.ask("ls")["ok"], "ready, and yet it doesn't answer")
    check(daemon() == manager.pid, "another one answers")
    manager.hear("STATUS=Benches at start: 1")
    # Nothing that it executes could take the manager for its own.
    with open(f"/proc/{manager.pid}/environ", "rb") as file:
        check(b"NOTIFY_SOCKET=" in file.read(), "there was nothing to take away")
    said = manager.stop()
    check("<6>version " in said and "listens at" in said, f"its log: {said}")
    check(not os.path.exists(PATH), "the socket is still there")


def activated():
    """The first who asks waits, and is answered; the socket outlives the daemon."""
    first = listener(PATH)
    os.chmod(PATH, 0o666)
    early = Client()
    early.send(b'{"v":1,"op":"ls"}')
    name = f"@e2e-{os.getpid()}"
    manager = Manager(listeners=[first], name=name)
    manager.hear("READY=1")
    reply = early.receive()
    check(reply["ok"] and reply["benches"][0]["name"] == "e1", "not answered", reply)
    # Whatever mode it had.
    check(mode_of(PATH) == "600 0:0", f"the socket is {mode_of(PATH)}")
    manager.stop()
    check(early.receive() is None, "not hung up on")
    early.socket.close()
    check(os.path.exists(PATH), "it removed what is the manager's")
    # What comes meanwhile waits for the next one.
    with Client() as client:
        client.send(b'{"v":1,"op":"version"}')
        again = Manager(listeners=[first], name=name + "x")
        again.hear("READY=1")
        check(client.receive()["ok"], "not answered by the next one")
    again.stop()


def misfits():
    """What is no socket of gatekeeperd's is refused, and told in all ways."""
    good = listener(PATH)
    other = f"{os.environ['E2E_RUN']}/other"
    for handed, words in (
            ([good, listener(other)], "2 sockets, not one"),
            ([listener(other, socket.SOCK_STREAM)], "another type than SOCK_SEQPACKET"),
            ([listener(other, listening=False)], "a socket that doesn't listen"),
            ([listener(f"\0e2e-{os.getpid()}")], "a socket that has no path"),
            ([socket.socket(socket.AF_INET)], "no AF_UNIX socket")):
        manager = Manager(listeners=handed)
        status, said = manager.ended()
        check(status == 1, f"{words}: it ended with {status}: {said}")
        check(f"{words} (rule: socket-activation)" in said, f"{words}: {said}")
        for one in handed:
            if one is not good:
                one.close()
    os.unlink(other)
    good.close()
    os.unlink(PATH)


def badly_configured():
    """The manager hears why, too."""
    manager = Manager("--config", sys.argv[2])
    status, said = manager.ended()
    check(status == 1 and sys.argv[3] in said, f"{status}: {said}")
    manager.listen()
    check(any(line.startswith("STATUS=") and sys.argv[3] in line for line in manager.said),
          f"the manager hears {manager.said}")


def up():
    """Leaves one running, with these arguments; hardened as the unit says when the first one is that."""
    hardened = sys.argv[2:3] == ["hardened"]
    manager = Manager(*sys.argv[3 if hardened else 2:], hardened=hardened)
    manager.hear("READY=1")
    print(manager.pid)


def systemctl():
    """Behind a systemctl that isn't one (cases/service.sh): starts it, says nothing."""
    with open(f"{os.environ['E2E_RUN']}/asked", "a", encoding="ascii") as file:
        file.write(" ".join(sys.argv[2:]) + "\n")
    Manager().hear("READY=1")


globals()[sys.argv[1]]()
