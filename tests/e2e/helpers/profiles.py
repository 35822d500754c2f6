"""profiles.py: seals of /etc/benchmon/profiles/p.json and slow.json, confirmed in the wrong order."""
import json

from client import Client, check, opened, refused


def seal(client, name="p"):
    reply = client.ask("profile-seal", name=name)
    check(reply and reply["ok"] and reply["confirm"]["kind"] == "profile", "not shown", reply)
    return reply["confirm"]["token"]


def meanwhile():
    with Client() as first, Client() as second:
        early, late = seal(first), seal(second)
        refused(second.ask("confirm", token=early, how="yes"), "confirmation", "nothing on this")
        refused(second.ask("confirm", token=late, how="no"), "protocol", "tty or yes")
        reply = second.ask("confirm", token=late, how="yes")
        check(reply["ok"] and reply["profile"]["state"] == "sealed", "not sealed", reply)
        refused(first.ask("confirm", token=early, how="yes"), "confirmation",
                "profile p has changed since it was shown")
        for client, token in ((first, early), (second, late)):
            refused(client.ask("confirm", token=token, how="yes"), "confirmation", "nothing on")
            refused(client.ask("profile-pending", token=token), "confirmation", "nothing on")


def at_once():
    """Each takes a process, and then what it has resolved: eight, of whom one makes room."""
    clients = [Client() for _ in range(9)]
    shown = [seal(client) for client in clients[:8]]
    refused(clients[8].ask("profile-seal", name="p"), "sealing",
            "8 profiles are being sealed already; confirm or end one of them")
    # One that begins anew on its own connection takes no more than it had.
    shown[0] = seal(clients[0])
    reply = clients[0].ask("confirm", token=shown[0], how="yes")
    check(reply["ok"], "not sealed", reply)
    seal(clients[8])
    refused(clients[0].ask("profile-seal", name="p"), "sealing", "8 profiles")
    clients[1].socket.close()
    check(clients[0].ask("version")["ok"], "not answered")
    seal(clients[0])
    for client in clients:
        client.socket.close()


def tokens():
    with Client() as client:
        old = seal(client)
        new = seal(client)
        refused(client.ask("profile-pending", token=old), "confirmation")
        reply = client.ask("profile-pending", token=new)
        check(reply["ok"] and reply["items"][0]["host"]["host"] == "a.test", "no items", reply)
        check("next" not in reply, "more of one page", reply)
        check(client.ask("profile-pending", token=new, offset=1)["ok"], "no second page")
        refused(client.ask("profile-pending", token=new, offset=-1), "protocol", "offset")
        refused(client.ask("profile-seal", name="nope"), "profile", "there is no profile nope")
        refused(client.ask("confirm", token=new, how="yes"), "confirmation", "nothing on this")
        refused(client.ask("confirm", token="", how="yes"), "confirmation", "nothing on this")


def malformed():
    with Client() as client:
        for op in ("profile-show", "profile-seal", "profile-verify", "profile-refresh"):
            refused(client.ask(op), "protocol", '"name" is missing')
            refused(client.ask(op, name=1), "protocol", "of the wrong type")
            refused(client.ask(op, name="../p"), "profile", "is no name of a profile")
            refused(client.ask(op, name="p", x=1), "json", "unknown key")
        fd = opened("/")
        refused(client.ask("profile-seal", [fd, fd], name="p"), "message-fds")
        refused(client.ask("profile-refresh", [fd], name="p"), "message-fds")
        # What is no directory has no configuration.
        fd = opened("/dev/null")
        refused(client.ask("profile-seal", [fd], name="npm"), "discover", "no registry configured")


def busy():
    with Client() as client:
        client.send(json.dumps({"v": 1, "op": "profile-seal", "name": "slow"}).encode())
        refused(client.ask("profile-ls"), "protocol", "taken by an earlier request")
        refused(client.receive(), "resolve", "silent.test: no answer")
        check(client.ask("profile-ls")["ok"], "the connection is no good any more")
    # One that hangs up is not waited for.
    with Client() as client:
        client.send(json.dumps({"v": 1, "op": "profile-seal", "name": "slow"}).encode())


meanwhile()
tokens()
malformed()
busy()
at_once()
