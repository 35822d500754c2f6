"""pins.py OUT: what is pinned, with the ids. pins.py OLD NEW: every program is another one, and every map
the same but those that each build fills for itself."""
import json
import sys

import pinned
from client import check

OWN = {"maps/known", "maps/tells"}

if len(sys.argv) == 2:
    with open(sys.argv[1], "w", encoding="ascii") as out:
        json.dump(pinned.pins(), out, indent=1, sort_keys=True)
    sys.exit(0)
with open(sys.argv[1], encoding="ascii") as one, open(sys.argv[2], encoding="ascii") as other:
    old, new = json.load(one), json.load(other)
check(set(old) == set(new), f"other pins: {set(old) ^ set(new)}")
for pin, number in old.items():
    kept = pin.startswith("maps/") and pin not in OWN
    check((new[pin] == number) == kept, f"{pin}: {number}, then {new[pin]}")
check(sum(pin.startswith("benches/") for pin in new) == 10, "not one Bench's programs", new)
check(any(pin == "links/recall" for pin in new), "nothing is recalled", new)
