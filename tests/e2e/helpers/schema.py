"""schema.py FILE SCHEMA: each line of FILE fits the JSON Schema, which says nothing but what is known here."""
import json
import re
import sys

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool}
KNOWN = {"type", "const", "enum", "required", "additionalProperties", "properties", "pattern",
         "minimum", "maximum", "items", "minItems", "maxItems", "oneOf", "$ref", "$defs", "$schema",
         "title"}


def is_of(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def wrong_object(root, rules, value, at):
    for key in rules.get("required", []):
        if key not in value:
            return f"{at}: no {key}"
    for key, inner in value.items():
        if key not in rules.get("properties", {}):
            if rules.get("additionalProperties", True):
                continue
            return f"{at}: unknown {key}"
        why = wrong(root, rules["properties"][key], inner, f"{at}.{key}")
        if why:
            return why
    return None


def wrong(root, rules, value, at="line"):  # pylint: disable=too-many-return-statements
    """Why it does not fit; None: it does."""
    unknown = set(rules) - KNOWN
    if unknown:
        raise SystemExit(f"the schema says what is not looked at: {unknown}")
    if "$ref" in rules:
        return wrong(root, root["$defs"][rules["$ref"].rpartition("/")[2]], value, at)
    if "oneOf" in rules:
        found = [wrong(root, one, value, at) for one in rules["oneOf"]]
        return None if found.count(None) == 1 else f"{at}: none of them, or several: {found}"
    if "type" in rules and not is_of(value, rules["type"]):
        return f"{at}: no {rules['type']}"
    if "const" in rules and value != rules["const"]:
        return f"{at}: not {rules['const']}"
    if "enum" in rules and value not in rules["enum"]:
        return f"{at}: {value} is none of them"
    if "pattern" in rules and not re.search(rules["pattern"], value):
        return f"{at}: {value} is not as {rules['pattern']}"
    if value is not True and isinstance(value, int) and not (
            rules.get("minimum", value) <= value <= rules.get("maximum", value)):
        return f"{at}: {value} is out of bounds"
    if isinstance(value, list):
        if not rules.get("minItems", 0) <= len(value) <= rules.get("maxItems", len(value)):
            return f"{at}: {len(value)} of them"
        for inner in value:
            why = wrong(root, rules.get("items", {}), inner, at)
            if why:
                return why
    return wrong_object(root, rules, value, at) if isinstance(value, dict) else None


with open(sys.argv[2], encoding="utf-8") as file:
    schema = json.load(file)
with open(sys.argv[1], encoding="utf-8") as file:
    lines = file.read().splitlines()
# It can tell one that doesn't fit.
broken = dict(json.loads(lines[-1]), more=1)
failures = [] if wrong(schema, schema, broken) else ["anything fits"]
for line in lines:
    reason = wrong(schema, schema, json.loads(line))
    if reason:
        failures.append(f"{reason}: {line[:300]}")
print("\n".join(failures[:20]))
sys.exit(1 if failures else 0)
