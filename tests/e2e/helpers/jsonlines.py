"""jsonlines.py FILE: each line is one JSON object, in which no key stands twice."""
import json
import sys


def unique(pairs):
    keys = [key for key, _ in pairs]
    if len(set(keys)) != len(keys):
        raise ValueError("a key stands twice")
    return dict(pairs)


wrong = 0
with open(sys.argv[1], encoding="utf-8") as file:
    lines = file.read().splitlines()
for line in lines:
    try:
        value = json.loads(line, object_pairs_hook=unique)
        if not isinstance(value, dict):
            raise ValueError("not an object")
    except ValueError as error:
        wrong += 1
        print(f"{error}: {line[:200]}")
sys.exit(1 if wrong or not lines else 0)
