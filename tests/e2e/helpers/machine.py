"""What is on this machine that benchmon makes and might leave: one line for each thing."""
import glob
import os
import socket
import struct

PATHS = """
/sys/class/net/* /run/netns/* /sys/fs/cgroup/benchmon/*/ /sys/fs/cgroup/e2e*/ /sys/fs/cgroup/e2e/*/
/sys/fs/bpf/* /sys/fs/bpf/benchmon/*/* /run/benchmon/*/* /run/benchmon/*/*/* /var/lib/benchmon/*.*
/var/lib/benchmon/benches/*
""".split()
GUEST = os.path.exists("/run/vm/guest")
PATHS += [f"{place}/{'*' if GUEST else '*benchmon*'}"
          for place in ("/run/crun", "/tmp", "/var/tmp", "/dev/shm")]
LAUNCHER = "benchmon-launch"
NAMES = ("gatekeeperd", "benchmon", "holder", LAUNCHER)
MARK = f"E2E_RUN={os.environ['E2E_RUN']}"

NFNL_SUBSYS_NFTABLES = 10
NFT_MSG_GETTABLE = 1
NLM_F_REQUEST_DUMP = 0x301
NLMSG_DONE = 3
NFTA_TABLE_NAME = 1


def read(path):
    """Empty where it has gone meanwhile."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def stat_of(pid):
    """State and parent, and what follows."""
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()


def gatekeepers():
    """The daemons, without their helpers."""
    parents = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        stat = read(path)
        name, _, rest = stat.partition("(")[2].rpartition(")")
        fields = rest.split()
        if name == "gatekeeperd" and fields[0] != "Z":
            parents[path.split("/")[2]] = fields[1]
    return [pid for pid, parent in parents.items() if parent not in parents]


def tables():
    """Names of the nftables tables in this network namespace, by netlink: `nft` takes its time."""
    found = []
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 12) as netlink:
        netlink.bind((0, 0))
        kind = NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE
        netlink.send(struct.pack("=IHHIIBBH", 20, kind, NLM_F_REQUEST_DUMP, 1, 0, 0, 0, 0))
        while True:
            data = netlink.recv(65536)
            while data:
                length, kind = struct.unpack("=IH", data[:6])
                if kind == NLMSG_DONE:
                    return sorted(found)
                attributes = data[20:length]
                while attributes:
                    size, attribute = struct.unpack("=HH", attributes[:4])
                    if attribute == NFTA_TABLE_NAME:
                        found.append(attributes[4:size - 1].decode())
                    attributes = attributes[(size + 3) & ~3:]
                data = data[(length + 3) & ~3:]


def processes(daemon):
    """In a guest of tools/vm all with a program (kernel threads come and go), elsewhere ours."""
    for path in glob.glob("/proc/[0-9]*"):
        pid = path[6:]
        comm = read(f"{path}/comm").strip()
        try:
            os.readlink(f"{path}/exe")
        except OSError:
            continue
        if GUEST or comm in NAMES or MARK in read(f"{path}/environ") or any(
                group in read(f"{path}/cgroup") for group in ("/benchmon/", "/e2e/")):
            # A daemon that was started meanwhile is as good, and so is its launcher.
            same = pid == daemon or comm == LAUNCHER and stat_of(pid)[1:2] == [daemon]
            yield pid, f"process {'-' if same else pid} {comm}"


def state(runner):
    """`runner` is the shell whose children are the test's own doing."""
    daemons = gatekeepers()
    if len(daemons) != 1:
        yield f"{len(daemons)} gatekeeperd"
    daemon = daemons[0] if daemons else ""
    for pid in ["1"] + daemons:
        for line in read(f"/proc/{pid}/mounts").splitlines():
            yield f"mount {'1' if pid == '1' else 'gatekeeperd'} {line.split()[1]}"
    for pattern in PATHS:
        yield from (f"path {path}" for path in glob.glob(pattern))
    for path in glob.glob("/proc/sys/net/ipv[46]/conf/*/forwarding"):
        yield f"{path} {read(path).strip()}"
    yield from (f"table {name}" for name in tables())
    own = (runner, str(os.getpid()))
    yield from (line for pid, line in processes(daemon) if pid not in own)
    if daemon:
        yield from descriptors(daemon)


def descriptors(daemon):
    """A Bench of which something was denied has its mounts watched from then on, and the host has."""
    links = []
    for fd in os.listdir(f"/proc/{daemon}/fd"):
        try:
            links.append(os.readlink(f"/proc/{daemon}/fd/{fd}"))
        except FileNotFoundError:
            pass
    watched = [link for link in links if link.endswith("/mountinfo")]
    benches = len(glob.glob("/sys/fs/bpf/benchmon/benches/*/"))
    if len(watched) > benches + 1:
        yield f"gatekeeperd watches the mounts of {len(watched)}, and there are {benches} Benches"
    yield f"gatekeeperd has {len(links) - len(watched)} fds open"


def write_state(path, runner):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in sorted(state(runner)))
