"""ledger.py: the chain is whole, and the kernel holds no more than it says (I1).

Prints the Benches that it says there are, one a line.
"""
import hashlib
import json
import subprocess
import sys

LEDGER = "/var/lib/benchmon/ledger.jsonl"
MAPS = "/sys/fs/bpf/benchmon/maps/"


def lines():
    """The records of the newest file, of which each names the one before."""
    before, due = "0" * 64, 1
    with open(LEDGER, "rb") as file:
        data = file.read()
    if data and not data.endswith(b"\n"):
        raise SystemExit("ledger: the last line is torn")
    for number, line in enumerate(data.splitlines(), 1):
        record = json.loads(line)
        if number == 1 and record.get("file", 1) > 1:
            before, due = record["prev"], record["n"]
        cut = line.rindex(b',"hash":"')
        want = hashlib.blake2b(line[:cut], digest_size=32).hexdigest()
        if record["hash"] != want or record["prev"] != before or record["n"] != due:
            raise SystemExit(f"ledger: line {number} breaks the chain")
        before, due = want, due + 1
        yield record


def replay():
    """Bench id -> (name, {grant number: grant})."""
    benches = {}
    for record in lines():
        event, bench = record["event"], record.get("bench_id")
        # What stands is said again at the beginning of a file.
        event = record["was"] if event == "state" else event
        if event in ("create", "attach"):
            benches[bench] = (record["bench"], {})
        elif event in ("destroy", "detach"):
            benches.pop(bench, None)
        elif event == "grant":
            benches[bench][1][int(record["id"].split("/")[1])] = record
        elif event == "revoke":
            benches[bench][1].pop(record["grant"], None)
    return benches


def ever():
    """Bench id -> what it has, or had, by the fourth rule."""
    found = {}
    for record in lines():
        event = record["was"] if record["event"] == "state" else record["event"]
        if event == "ever":
            found[record["bench_id"]] = set(record["had"])
    return found


def awaiting():
    """The requests that nobody has decided: a grant and a Bench say themselves which they answer."""
    found = {}
    for record in lines():
        event, bench = record["event"], record.get("bench_id")
        event = record["was"] if event == "state" else event
        if event == "requested":
            found[record["request"]] = bench
        elif "request" in record:
            found.pop(record["request"], None)
        if event in ("destroy", "detach"):
            found = {request: of for request, of in found.items() if of != bench}
    return set(found)


def dump(*names):
    """The entries of pinned maps, with their types."""
    script = "".join(f"map dump pinned {MAPS}{name}\n" for name in names)
    text = subprocess.run(["bpftool", "-j", "batch", "file", "-"], input=script, check=True,
                          capture_output=True, text=True).stdout
    found = [command["output"] for command in json.loads(text)]
    return [[item.get("formatted", item) for item in entries] for entries in found]


def number(value):
    return int(value, 0) if isinstance(value, str) else value


def check_subset(benches):
    """Every entry of a Bench that is known; every grant's one of that grant, with no more rights."""
    grants, destinations, known = dump("grants", "destinations", "benches")
    for entry in grants:
        key, value = entry["key"], entry["value"]
        bench = benches.get(number(key["bench"]))
        if bench is None:
            raise SystemExit(f"kernel: a grant of a Bench that the ledger has not: {entry}")
        which = number(value["grant"])
        if not which:
            continue
        grant = bench[1].get(which)
        rights = number(value["rights"])
        if rights and (grant is None or grant["kind"] != "file"
                       or grant["object"] != number(key["object"])
                       or rights & ~(3 if grant["rights"] == "rw" else 1)):
            raise SystemExit(f"kernel: beyond the ledger: {entry}, ledger: {grant}")
    for entry in destinations:
        bench = benches.get(number(entry["key"]["bench"]))
        if bench is None or number(entry["value"]["grant"]) not in bench[1]:
            raise SystemExit(f"kernel: a destination beyond the ledger: {entry}")
    for entry in known:
        if number(entry["value"]["id"]) not in benches:
            raise SystemExit(f"kernel: a Bench beyond the ledger: {entry}")


def verify():
    benches = replay()
    check_subset(benches)
    return benches


if __name__ == "__main__":
    for name, _ in verify().values():
        print(name)
    sys.exit(0)
