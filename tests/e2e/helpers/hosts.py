"""hosts.py SERVER: grants of a.test:8080 to e1 that are confirmed in the wrong order, or not at all."""
import json
import sys

from client import Client, check, refused

ONE = "a.test:8080"


def shown(client, destination=ONE, **more):
    reply = client.ask("grant", bench="e1", kind="net", destination=destination, **more)
    check(reply and reply["ok"], "not shown", reply)
    return reply["confirm"]


def confirm(client, token):
    return client.ask("confirm", token=token, how="yes")


def revoke():
    with Client() as client:
        check(client.ask("revoke", bench="e1", all=True)["ok"], "not revoked")


def gone(client, token):
    refused(confirm(client, token), "confirmation", "nothing on this connection")
    refused(client.ask("profile-pending", token=token), "confirmation", "nothing on this")


def offered():
    with Client() as client:
        offer = shown(client, private=False, **{"for": 600})
        check(offer["seals"] and offer["kind"] == "net" and offer["bench"] == "e1" and
              offer["profile"] == ONE and offer["for"] == 600 and not offer["private"] and
              offer["users"] == [] and not offer["replaces"], "not as it is", offer)
        items = client.ask("profile-pending", token=offer["token"])["items"]
        check([item["host"]["host"] for item in items] == ["a.test"], "not its host", items)
        refused(client.ask("confirm", token=offer["token"], how="maybe"), "protocol", "tty or yes")
        reply = confirm(client, offer["token"])
        check(reply["ok"] and reply["grant"]["profile"] == ONE and reply["refreshed"] == [],
              "not granted", reply)
        gone(client, offer["token"])
    revoke()


def replaced():
    """By whatever is shown on the same connection after it: half of it is worth nothing."""
    with Client() as client:
        first = shown(client)["token"]
        second = shown(client, f"{sys.argv[1]}:8080")["token"]
        gone(client, first)
        check(confirm(client, second)["ok"], "not granted")
        first = shown(client)["token"]
        refused(client.ask("grant", bench="e1", kind="net", destination="a..test:1"),
                "a host is a full DNS name of letters, digits and hyphens", "an empty label")
        gone(client, first)
        first = shown(client)["token"]
        refused(client.ask("grant", bench="e1", kind="net", destination="nope.test:1"), "resolve")
        gone(client, first)
        first = shown(client)["token"]
        reply = client.ask("profile-seal", name=ONE)
        gone(client, first)
        seal = reply["confirm"]["token"]
        shown(client)
        gone(client, seal)
    revoke()


def overtaken():
    with Client() as early, Client() as late:
        one, other = shown(early)["token"], shown(late)["token"]
        check(confirm(late, other)["ok"], "not granted")
        refused(confirm(early, one), "confirmation", f"profile {ONE} has changed since it was shown")
        gone(early, one)
    revoke()
    with Client() as early, Client() as late:
        one = shown(early)["token"]
        check(late.ask("profile-unseal", name=ONE)["ok"], "not unsealed")
        refused(confirm(early, one), "confirmation", f"profile {ONE} has changed since it was shown")
        gone(early, one)
        check(late.ask("show", bench="e1")["bench"]["grants"] == [], "granted all the same")


def malformed():
    with Client() as client:
        for key, value in (("destination", 1), ("private", 1), ("destination", None)):
            refused(client.ask("grant", bench="e1", kind="net", **{key: value}), "protocol")
        refused(client.ask("grant", bench="e1", kind="net", destination="a\0b.test:1"), "json",
                "not strict JSON")
        refused(client.ask("grant", bench="e1", kind="net", destination="a\x01b.test:1"),
                "a host is a full DNS name of letters, digits and hyphens", "byte 0x01 at 2")
        refused(client.ask("grant", bench="e1", kind="net", profile=ONE), "seal", "is not sealed")
        refused(client.ask("grant", bench="e1", kind="net", profile=ONE, destination=ONE), "protocol")
        refused(client.ask("profile-seal", name=ONE, private=1), "protocol", "wrong type")
        refused(client.ask("profile-unseal"), "protocol", '"name" is missing')


def busy():
    request = {"v": 1, "op": "grant", "bench": "e1", "kind": "net", "destination": "silent.test:1"}
    with Client() as client:
        client.send(json.dumps(request).encode())
        refused(client.ask("ls"), "protocol", "taken by an earlier request")
        refused(client.receive(), "resolve", "silent.test: no answer")
        check(client.ask("ls")["ok"], "the connection is no good any more")
    # One that hangs up is not waited for.
    with Client() as client:
        client.send(json.dumps(request).encode())


offered()
replaced()
overtaken()
malformed()
busy()
