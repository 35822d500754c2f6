"""adopt.py BENCH CONTAINER: attaches it with its volumes, misuses them, grants none and hangs up.
Its first two volumes can be granted, and nothing else was mounted in it."""
import sys

from client import Client, check, refused

bench, container = sys.argv[1:]
with Client() as client, Client() as other:
    reply = client.ask("attach", bench=bench, container={"id": container}, adopt=True)
    check(reply["ok"] and len(reply["volumes"]) == 2, "not its two volumes", reply)
    for wrong in (-1, 2, 1 << 40):
        refused(client.ask("adopt", bench=bench, volume=wrong), "adopt", "no such volume")
    refused(client.ask("adopt", bench=bench), "protocol", '"volume" is missing')
    refused(client.ask("adopt", bench=bench, volume="0"), "protocol", "of the wrong type")
    refused(client.ask("adopt", bench="nobody", volume=0), None, "there is no Bench")
    # Of another connection.
    refused(other.ask("adopt", bench=bench, volume=0), "adopt", "no such volume")
    shown = client.ask("adopt", bench=bench, volume=0)["confirm"]
    check(shown["adopted"] and shown["dest"] == reply["volumes"][0]["path"], "another", shown)
    refused(other.ask("confirm", token=shown["token"], how="yes"), "confirmation")
    # Asked for the next, it is done with; and so is the next with another request.
    later = client.ask("adopt", bench=bench, volume=1)["confirm"]
    refused(client.ask("confirm", token=shown["token"], how="yes"), "confirmation")
    refused(client.ask("adopt", bench=bench, volume=0), "adopt", "was asked for already")
    refused(client.ask("confirm", token=later["token"], how="yes"), "confirmation")
with Client() as client:
    refused(client.ask("adopt", bench=bench, volume=1), "adopt", "no such volume")
    shown = client.ask("show", bench=bench)["bench"]
    check(not shown["grants"] and len(shown["detached"]) == 2, "something is granted", shown)
    # What it holds of a Bench that has ended is of no use.
    check(client.ask("detach", bench=bench)["ok"], "not detached")
    refused(client.ask("adopt", bench=bench, volume=1), None, "there is no Bench")
