"""What the broker lets through, what it refuses, and what it never says. Each function is one case."""
import http.client
import json
import os
import socket
import struct
import subprocess
import threading

from lab import NAME, SECRET, WAIT, Broker, definition, dechunked, everything, forms, parsed, soon


def is_(what, expected, told=""):
    if what != expected:
        raise AssertionError(f"{told}: {what!r}, not {expected!r}")


def call_passes(lab):
    """Works: the method, the path, the query, the body and the definition's headers; and is recorded."""
    broker = lab.broker()
    answer = broker.call("POST", "/v1/messages?beta=1", "anthropic-version: 7", "X-Other: no", "Authorization: mine",
                         "X-Api-Key: mine", "Cookie: a=b", "X-Forwarded-For: me", "X-HTTP-Method-Override: DELETE",
                         "Accept-Encoding: gzip", "Range: bytes=0-3", "TE: trailers", "Connection: te, keep-alive", body=b"hello")
    is_((answer.status, answer.body, answer.whole), (200, b"hello", True))
    method, path, headers = lab.upstream.asked[-1]
    headers = {key.lower(): value for key, value in headers}
    is_((method, path), ("POST", "/v1/messages?beta=1"))
    is_(headers, {"host": f"{NAME}:{lab.upstream.port}", "accept": "*/*", "anthropic-version": "7",
                  "accept-encoding": "identity", "authorization": "Bearer " + SECRET, "content-length": "5"})
    record = broker.record()
    record.pop("ms")
    is_(record, {"number": 1, "method": "POST", "path": "/v1/messages", "status": 200, "bytes_in": 5, "bytes_out": 5})
    is_(answer.headers["connection"], "close")


def host_names(lab):
    broker = lab.broker(hosts=["model.broker:8081"])
    for host, status in (("model.broker:8081", 200), (f"localhost:{broker.port}", 421), ("model.broker", 421),
                         (NAME, 421), (f"127.0.0.1:{broker.port + 1}", 421)):
        is_(broker.call("GET", "/v1/models/one", host=host).status, status, host)
    broker = lab.broker()
    is_(broker.call("GET", "/v1/models/one", host=f"localhost:{broker.port}").status, 200)


def refused_heads(lab):
    """Byte for byte; none of it comes to the upstream, each leaves a record."""
    broker = lab.broker()
    host = f"Host: 127.0.0.1:{broker.port}\r\n"
    get = "GET /v1/models/one HTTP/1.1\r\n" + host
    post = "POST /v1/messages HTTP/1.1\r\n" + host
    heads = {
        "cl-te": (post + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "broker-framing"),
        "te-te": (post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "broker-framing"),
        "te-odd": (post + "Transfer-Encoding: chunked, identity\r\n\r\n", 501, "broker-framing"),
        "te-xchunked": (post + "Transfer-Encoding: xchunked\r\n\r\n", 501, "broker-framing"),
        "te-space": (post + "Transfer-Encoding : chunked\r\n\r\n", 400, "broker-request"),
        "te-vt": (post + "Transfer-Encoding:\x0bchunked\r\n\r\n", 400, "broker-request"),
        "cl-cl": (post + "Content-Length: 1\r\nContent-Length: 1\r\n\r\nx", 400, "broker-framing"),
        "cl-list": (post + "Content-Length: 1, 1\r\n\r\nx", 400, "broker-framing"),
        "cl-plus": (post + "Content-Length: +1\r\n\r\nx", 400, "broker-framing"),
        "cl-minus": (post + "Content-Length: -1\r\n\r\nx", 400, "broker-framing"),
        "cl-hex": (post + "Content-Length: 0x1\r\n\r\nx", 400, "broker-framing"),
        "cl-empty": (post + "Content-Length:\r\n\r\n", 400, "broker-framing"),
        "cl-huge": (post + "Content-Length: 99999999999999999999\r\n\r\n", 400, "broker-framing"),
        "get-body": (get + "Content-Length: 4\r\n\r\nbody", 400, "broker-framing"),
        "fold": (get + "Accept: a\r\n b\r\n\r\n", 400, "broker-request"),
        "fold-first": ("GET /v1/models/one HTTP/1.1\r\n " + host + "\r\n", 400, "broker-request"),
        "bare-lf": (get.replace("\r\n", "\n") + "\n", 400, "broker-request"),
        "bare-lf-one": (get + "Accept: a\nX: b\r\n\r\n", 400, "broker-request"),
        "bare-cr": (get + "Accept: a\rX: b\r\n\r\n", 400, "broker-request"),
        "nul": (get + "Accept: a\0b\r\n\r\n", 400, "broker-request"),
        "high": (get + "Accept: \xff\r\n\r\n", 400, "broker-request"),
        "leading": ("\r\n" + get + "\r\n", 400, "broker-request"),
        "no-colon": (get + "Accept\r\n\r\n", 400, "broker-request"),
        "no-name": (get + ": a\r\n\r\n", 400, "broker-request"),
        "two-spaces": (get.replace(" /", "  /") + "\r\n", 400, "broker-request"),
        "tab": (get.replace(" /", "\t/") + "\r\n", 400, "broker-request"),
        "http-1.0": (get.replace("1.1", "1.0", 1) + "\r\n", 505, "broker-request"),
        "http-2": ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "broker-request"),
        "http-0.9": ("GET /v1/models/one\r\n\r\n", 505, "broker-request"),
        "trailing": (get.replace("HTTP/1.1", "HTTP/1.1 x", 1) + "\r\n", 505, "broker-request"),
        "no-host": ("GET /v1/models/one HTTP/1.1\r\n\r\n", 400, "broker-host"),
        "two-hosts": (get + host + "\r\n", 400, "broker-host"),
        "other-host": (f"GET /v1/models/one HTTP/1.1\r\nHost: {NAME}\r\n\r\n", 421, "broker-host"),
        "absolute": (f"GET https://{NAME}/v1/models/one HTTP/1.1\r\n{host}\r\n", 400, "broker-path"),
        "absolute-own": (f"GET http://127.0.0.1:{broker.port}/v1/models/one HTTP/1.1\r\n{host}\r\n", 400, "broker-path"),
        "connect": (f"CONNECT {NAME}:443 HTTP/1.1\r\n{host}\r\n", 405, "broker-route"),
        "asterisk": ("OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 400, "broker-path"),
        "authority": ("GET user@model.test HTTP/1.1\r\n" + host + "\r\n", 400, "broker-path"),
        "upgrade": (get + "Connection: upgrade\r\nUpgrade: websocket\r\n\r\n", 400, "broker-framing"),
        "upgrade-alone": (get + "Upgrade: h2c\r\n\r\n", 400, "broker-framing"),
        "connection-names": (get + "Connection: close, anthropic-version\r\n\r\n", 400, "broker-framing"),
        "connection-auth": (get + "Connection: authorization\r\n\r\n", 400, "broker-framing"),
        "expect": (post + "Expect: 200-ok\r\nContent-Length: 1\r\n\r\nx", 417, "broker-framing"),
        "long-target": ("GET /v1/models/" + "a" * 4100 + " HTTP/1.1\r\n" + host + "\r\n", 414, "broker-path"),
        "long-head": (get + "".join(f"X-{i}: {'a' * 1000}\r\n" for i in range(20)) + "\r\n", 431, "broker-request"),
        "long-line": (get + "X: " + "a" * 20000, 431, "broker-request"),
        "many-headers": (get + "X: a\r\n" * 70 + "\r\n", 431, "broker-request"),
        "method": ("DELETE /v1/messages HTTP/1.1\r\n" + host + "\r\n", 405, "broker-route"),
        "method-case": ("get /v1/models/one HTTP/1.1\r\n" + host + "\r\n", 405, "broker-route"),
        "method-trace": ("TRACE /v1/messages HTTP/1.1\r\n" + host + "\r\n", 405, "broker-route"),
    }
    before = len(lab.upstream.asked)
    for name, (head, status, rule) in heads.items():
        answer = parsed(broker.raw(head.encode("latin-1")))
        is_((answer.status, answer.rule, answer.whole), (status, rule, True), name)
        record = broker.record()
        is_((record["status"], record.get("refused")), (status, rule), name)
    is_(len(lab.upstream.asked), before)
    is_(broker.call("GET", "/v1/models/one").status, 200)


def refused_paths(lab):
    broker = lab.broker()
    before = len(lab.upstream.asked)
    for path in ("/v1/../v1/messages", "/v1/./messages", "/v1/models/..", "/v1/models/...", "/v1//messages", "//v1/messages",
                 "/v1/models/%2e%2e", "/v1/models/%2E.", "/v1/models/.%2e", "/v1/models/%2f..", "/v1/models/a%2fb",
                 "/v1/models/a%252fb", "/v1/models/%252e%252e", "/v1/models/a%5cb", "/v1/models/a\\b", "/v1/models/a;b",
                 "/v1/models/..;/x", "/v1/models/a%00", "/v1/models/%", "/v1/models/%zz", "/v1/models/a#b", "/v1/models/a|b",
                 "/v1/models/a\"b", "/v1/models/a<b>", "/v1/models/a%c0%af", "/v1/models/a%u002f", "/v1/models/a%0d%0aX:b"):
        answer = broker.call("GET", path)
        if (answer.status, answer.rule) not in ((400, "broker-path"), (403, "broker-route")):
            raise AssertionError(f"{path}: {answer.status} {answer.body!r}")
        is_(broker.record()["refused"], answer.rule, path)
    for path in ("/", "/v1", "/v1/", "/v1/messages/", "/v1/models", "/v1/models/", "/v1/models/a/b", "/V1/messages", "/v2/messages"):
        is_(broker.call("GET", path).rule, "broker-route", path)
    for query in ("?key=mine", "?beta=1&key=mine", "?alt=json", "?alt", "?beta=%0d%0a", "?beta=%00", "?beta=%", "?beta=a#b",
                  "?beta;key=mine", "?BETA=1", "?%62eta=1", "?beta=1&&", "?beta=1&alt=sse%"):
        answer = broker.call("GET", "/v1/models/one" + query)
        is_((answer.status, answer.rule), (403, "broker-query"), query)
    is_(len(lab.upstream.asked), before)
    for query in ("", "?", "?beta", "?beta=", "?beta=a%20b&alt=sse", "?alt=sse"):
        is_(broker.call("GET", "/v1/models/one" + query).status, 200, query)
        is_(lab.upstream.asked[-1][1], "/v1/models/one" + query)


def one_call_each(lab):
    """A second request behind the first, or within its body, is nobody's."""
    broker = lab.broker()
    before = len(lab.upstream.asked)
    host = f"Host: 127.0.0.1:{broker.port}\r\n"
    first = f"GET /v1/models/one HTTP/1.1\r\n{host}\r\n"
    said = broker.raw((first + first.replace("one", "two")).encode())
    is_(said.count(b"HTTP/1.1 200"), 1)
    post = f"POST /v1/messages HTTP/1.1\r\n{host}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    is_(broker.raw((post + first.replace("one", "three")).encode()).count(b"HTTP/1.1 200"), 1)
    is_([asked[1] for asked in lab.upstream.asked[before:]], ["/v1/models/one", "/v1/messages"])


def out_of_band(lab):
    """What would be peeked at and not read: in a head, and after it."""
    broker = lab.broker()
    for before, behind in ((b"GET /v1/models/", b"one HTTP/1.1\r\n"), (b"GET /v1/models/one HTTP/1.1\r\n", b"")):
        with broker.connect() as client:
            client.sendall(before)
            client.send(b"x", socket.MSG_OOB)
            try:
                client.sendall(behind + f"Host: 127.0.0.1:{broker.port}\r\n\r\n".encode())
            except (BrokenPipeError, ConnectionResetError):
                pass
            answer = parsed(everything(client))
            is_((answer.status, answer.rule), (400, "broker-request"))
    is_(lab.upstream.asked, [])

    def serve(handler):
        handler.answer(handler.body())
    lab.upstream.serve["/v1/messages"] = serve
    with broker.connect() as client:
        client.sendall(f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\nContent-Length: 3\r\n\r\n".encode())
        client.send(b"a")
        client.send(b"b", socket.MSG_OOB)
        client.send(b"c")
        answer = parsed(everything(client))
    # As it comes in between: refused, cut off by the library, or read as it was sent.
    if (answer.status, answer.body) not in ((200, b"abc"), (0, b"")) and answer.rule != "broker-request":
        raise AssertionError(f"{answer.status} {answer.body!r}")


def events_come_one_by_one(lab):
    go = [threading.Event() for _ in range(3)]

    def serve(handler):
        handler.body()
        handler.begin(content_type="text/event-stream")
        for i, event in enumerate(go):
            handler.chunk(b"event: part\ndata: {\"n\": %d}\n\n" % i)
            event.wait(WAIT)
        handler.chunk(b"")
    lab.upstream.serve["/v1/messages"] = serve
    broker = lab.broker()
    connection = http.client.HTTPConnection("127.0.0.1", broker.port, timeout=WAIT)
    connection.request("POST", "/v1/messages", body=json.dumps({"stream": True}), headers={"Content-Type": "application/json"})
    response = connection.getresponse()
    is_((response.status, response.headers["Content-Type"]), (200, "text/event-stream"))
    for i, event in enumerate(go):
        lines = [response.readline() for _ in range(3)]
        is_(lines, [b"event: part\n", b"data: {\"n\": %d}\n" % i, b"\n"])
        event.set()
    is_(response.read(), b"")
    is_(broker.record()["status"], 200)


def echoes(lab):
    """Each form, split at each byte, in a body and in a header; what surrounds it is untouched."""
    broker = lab.broker()
    found = forms()

    def serve(handler):
        wanted = json.loads(handler.body())
        text = b"<" + found[wanted["form"]] + b">"
        header = {"X-Echo": found[wanted["form"]].decode()} if wanted["form"] != "raw" else {"X-Echo": SECRET}
        handler.begin(**header)
        for part in (text[:wanted["at"]], text[wanted["at"]:]):
            if part:
                handler.chunk(part)
        handler.chunk(b"")
    lab.upstream.serve["/v1/messages"] = serve
    for form, text in found.items():
        hidden = 0
        for at in (1, 2, len(text) // 2, len(text), len(text) + 1):
            answer = broker.call("POST", "/v1/messages", body=json.dumps({"form": form, "at": at}).encode())
            is_((answer.status, answer.whole, len(answer.body)), (200, True, len(text) + 2), form)
            for where in (answer.body, answer.headers["x-echo"].encode()):
                longest = max((len(run) for run in where.strip(b"<>").split(b"*") if run), default=0)
                limit = 24 if form == "basic" else 4
                if longest > limit or text[8:-8] in where:
                    raise AssertionError(f"{form} at {at}: {where!r}")
            is_(answer.body[:1] + answer.body[-1:], b"<>", form)
            hidden = broker.record()["hidden"]
        is_(hidden >= 2, True, form)


def headers_of_answers(lab):
    def serve(handler):
        handler.answer(b"{}", set_cookie="a=b", alt_svc="h3", keep_alive="timeout=5", strict_transport_security="x",
                       x_request_id="7", refresh="0; url=https://other.test/", location="https://other.test/a",
                       proxy_authenticate="Basic")
    lab.upstream.serve["/v1/messages"] = serve
    answer = lab.broker().call("POST", "/v1/messages")
    is_(sorted(answer.headers), ["connection", "content-length", "date", "server", "x-request-id"])


def redirects(lab):
    where = {}

    def serve(handler):
        handler.answer(b"gone", 307, location=where["to"])
    lab.upstream.serve["/v1/messages"] = serve
    broker = lab.broker()
    own = f"{NAME}:{lab.upstream.port}"
    for to in ("https://other.test/", "//other.test/a", f"http://{own}/v1", f"https://{NAME}/v1", f"https://{own}.other.test/",
               f"https://user@{own}/", f"https://{own}@other.test/", "/\\other.test", "\\\\other.test", "javascript:1"):
        where["to"] = to
        answer = broker.call("GET", "/v1/messages")
        is_((answer.status, answer.rule, "location" in answer.headers), (502, "broker-redirect", False), to)
    for to in (f"https://{own}/v1/models/two", "/v1/models/two"):
        where["to"] = to
        answer = broker.call("GET", "/v1/messages")
        is_((answer.status, answer.headers.get("location")), (307, "/v1/models/two"), to)
    where["to"] = "/" + SECRET
    is_(broker.call("GET", "/v1/messages").headers["location"], "/" + "*" * len(SECRET))


def compressed(lab):
    lab.upstream.serve["/v1/messages"] = lambda handler: handler.answer(b"\x1f\x8b", content_encoding="gzip")
    answer = lab.broker().call("POST", "/v1/messages", "Accept-Encoding: gzip")
    is_((answer.status, answer.rule), (502, "broker-encoding"))


def bad_answers(lab):
    """An upstream that breaks off is not a whole answer, and one that talks nonsense is none."""
    def short(handler):
        handler.begin()
        handler.chunk(b"half")
        handler.connection.shutdown(socket.SHUT_RDWR)

    def silent(handler):
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)

    def noise(handler):
        handler.wfile.write(b"nonsense\r\n\r\n")
        handler.close_connection = True
    broker = lab.broker()
    lab.upstream.serve["/v1/messages"] = short
    answer = broker.call("GET", "/v1/messages")
    is_((answer.status, answer.body, answer.whole), (200, b"half", False))
    is_(broker.record()["cut"], "broker-upstream")
    for serve in (silent, noise):
        lab.upstream.serve["/v1/messages"] = serve
        answer = broker.call("GET", "/v1/messages")
        is_((answer.status, answer.rule), (502, "broker-upstream"))
        is_(SECRET.encode() in answer.body, False)


def upload_waits(lab):
    """A hundred megabytes each way through a process that stays small, at the slower one's pace."""
    size = 100 * 1024 * 1024
    part = bytes(range(256)) * 256
    taken = threading.Event()
    seen = {}

    def sink(handler):
        taken.wait(WAIT)
        seen["bytes"] = sum(len(some) for some in handler.body_parts())
        handler.answer(b"done")

    def source(handler):
        handler.begin(length=size)
        for _ in range(size // len(part)):
            handler.wfile.write(part)
    lab.upstream.serve["/v1/files"] = sink
    lab.upstream.serve["/v1/messages"] = source
    broker = lab.broker()
    with broker.connect() as client:
        client.sendall((f"POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\n"
                        f"Content-Length: {size}\r\n\r\n").encode())
        client.settimeout(0.5)
        sent = 0
        try:
            while sent < size:
                sent += client.send(part[:min(len(part), size - sent)])
        except TimeoutError:
            pass
        # What lies in the sockets between; the rest waits at the client.
        is_(sent < size // 2, True, f"{sent} bytes went into it while nobody read")
        taken.set()
        client.settimeout(WAIT)
        while sent < size:
            start = sent % len(part)
            sent += client.send(part[start:start + min(len(part), size - sent)])
        is_(parsed(everything(client)).body, b"done")
    is_(seen["bytes"], size)
    is_(broker.record()["bytes_in"], size)
    with broker.connect() as client:
        client.sendall(f"GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\n\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            head += client.recv(1)
        got = 0
        while some := client.recv(1 << 20):
            start = got % 256
            is_(some[:64], (part[:512])[start:start + len(some[:64])])
            got += len(some)
    is_(got, size)
    is_(broker.record()["bytes_out"], size)
    limit = 64 * 1024 if not lab.sanitized else 512 * 1024
    is_(broker.rss() < limit, True, f"{broker.rss()} KiB")


def chunked_upload(lab):
    def serve(handler):
        handler.answer(handler.body() + handler.headers["Transfer-Encoding"].encode())
    lab.upstream.serve["/v1/files"] = serve
    broker = lab.broker()
    said = broker.raw((f"POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\nExpect: 100-continue\r\n"
                       "Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nX-Trailer: a\r\n\r\n").encode())
    is_(said.startswith(b"HTTP/1.1 100 Continue\r\n\r\n"), True)
    is_(parsed(said.partition(b"\r\n\r\n")[2]).body, b"hello worldchunked")
    is_("X-Trailer" in str(lab.upstream.asked[-1]), False)


def early_answers(lab):
    """An upstream that answers before it has read: the client is told, when it has sent what it has to send."""
    def serve(handler):
        handler.close_connection = True
        handler.answer(b"too much", 413, connection="close")
    lab.upstream.serve["/v1/files"] = serve
    broker = lab.broker()
    is_(broker.call("POST", "/v1/files", body=b"x" * 8000000).status in (413, 502), True)
    record = broker.record()
    is_((record["bytes_in"], record["status"] in (413, 502)), (8000000, True))
    is_(broker.call("GET", "/v1/models/one").status, 200)


def bad_chunks(lab):
    """A body in chunks that are none comes to no end, neither here nor there."""
    ended = []

    def serve(handler):
        try:
            handler.body()
        except (ValueError, OSError):
            return
        ended.append(1)
        handler.answer(b"taken")
    lab.upstream.serve["/v1/messages"] = serve
    broker = lab.broker()
    head = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\nTransfer-Encoding: chunked\r\n\r\n"
    for chunk in ("zz\r\nhello\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "-1\r\nhello\r\n0\r\n\r\n",
                  "ffffffffffffffffff\r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n"):
        is_(b"200 OK" in broker.raw((head + chunk).encode()), False, chunk)
    is_(ended, [])
    is_(broker.call("GET", "/v1/models/one").status, 200)


def end_of_the_grant(lab):
    """In the middle of an answer: the client is cut off, the endpoint is shut, the process has gone."""
    go = threading.Event()

    def serve(handler):
        handler.begin()
        handler.chunk(b"first")
        go.wait(WAIT)
    lab.upstream.serve["/v1/messages"] = serve
    broker = lab.broker()
    with broker.connect() as client, broker.connect() as idle:
        client.sendall(f"GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\n\r\n".encode())
        said = b""
        while b"first" not in said:
            said += client.recv(4096)
        is_(broker.end(), 0)
        said += everything(client)
        is_((dechunked(said.partition(b"\r\n\r\n")[2]))[1], False)
        is_(everything(idle), b"")
    try:
        broker.connect().close()
    except ConnectionRefusedError:
        go.set()
        return
    raise AssertionError("the port still answers")


def client_goes(lab):
    """Who has gone needs no answer: the upstream's side is ended too."""
    broken = threading.Event()

    def serve(handler):
        handler.begin()
        handler.chunk(b"first")
        handler.connection.settimeout(WAIT)
        try:
            if handler.connection.recv(1) == b"":
                broken.set()
        except OSError:
            broken.set()
    lab.upstream.serve["/v1/messages"] = serve
    broker = lab.broker()
    with broker.connect() as client:
        client.sendall(f"GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\n\r\n".encode())
        client.recv(4096)
    is_(broken.wait(WAIT), True)
    is_(broker.record()["cut"], "broker-client")


def limits(lab):
    broker = lab.broker(limits={"requests": 3})
    statuses = [broker.call("GET", "/v1/models/one").status for _ in range(5)]
    is_(statuses, [200, 200, 200, 429, 429])
    broker = lab.broker(limits={"requests": 9}, used={"requests": 8, "bytes": 0})
    is_([broker.call("GET", "/v1/models/one").status for _ in range(2)], [200, 429])
    broker = lab.broker(limits={"bytes": 9}, used={"requests": 0, "bytes": 9})
    is_(broker.call("GET", "/v1/models/one").status, 429)
    broker = lab.broker(limits={"rate": 2})
    answers = [broker.call("GET", "/v1/models/one") for _ in range(3)]
    is_([a.status for a in answers], [200, 200, 429])
    is_((answers[2].rule, 1 <= int(answers[2].headers["retry-after"]) <= 31), ("broker-limit", True))
    broker = lab.broker(limits={"bytes": 1000})
    answer = broker.call("POST", "/v1/messages", body=b"x" * 400)
    is_((answer.status, answer.whole), (200, True))
    is_(broker.call("POST", "/v1/messages", body=b"x" * 400).rule, "broker-limit")
    is_(broker.call("POST", "/v1/messages", body=b"x").status, 429)
    is_([broker.record().get("cut"), broker.record()["cut"], broker.record()["refused"]], [None, "broker-limit", "broker-limit"])
    go = threading.Event()

    def slow(handler):
        go.wait(WAIT)
        handler.answer(b"late")
    lab.upstream.serve["/v1/messages"] = slow
    broker = lab.broker(limits={"concurrent": 1, "seconds": 1})
    with broker.connect() as client:
        client.sendall(f"GET /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\n\r\n".encode())
        is_(soon(lambda: any(asked[1] == "/v1/messages" for asked in lab.upstream.asked[-1:])), True)
        is_(broker.call("GET", "/v1/models/one").status, 429)
        answer = parsed(everything(client))
    go.set()
    is_((answer.status, answer.rule), (504, "broker-time"))


def slow_heads(lab):
    """A head in a thousand pieces, and one that never ends, keep nobody else out."""
    broker = lab.broker()
    idle = [broker.connect() for _ in range(8)]
    for client in idle:
        client.send(b"G")
    with broker.connect() as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for byte in f"GET /v1/models/one HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\nX: {'a' * 2000}".encode():
                client.send(bytes([byte]))
        except (BrokenPipeError, ConnectionResetError):
            pass
        is_(broker.call("GET", "/v1/models/one").status, 200)
    answer = parsed(everything(idle[0]))
    is_((answer.status, answer.rule), (408, "broker-time"))
    for client in idle:
        client.close()


def resets(lab):
    """Connections that are reset at every stage leave a broker that works, and a record each."""
    broker = lab.broker()
    head = f"POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:{broker.port}\r\nContent-Length: 100\r\n\r\n".encode()
    for size in (0, 1, len(head) // 2, len(head), len(head) + 50, len(head) + 100):
        with broker.connect() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            client.send((head + b"x" * 100)[:size])
    is_(broker.call("GET", "/v1/models/one").status, 200)
    is_(broker.process.poll(), None)


def tls(lab):
    """Another's certificate, a stranger's, an address that was not pinned: no call is made."""
    for certificate in ("other", "stranger"):
        upstream = lab.another(certificate)
        broker = lab.broker(made=definition(lab.directory, upstream.port))
        answer = broker.call("GET", "/v1/models/one")
        is_((answer.status, answer.rule, upstream.asked), (502, "broker-upstream", []), certificate)
    broker = lab.broker(addresses=["127.0.0.2"])
    is_(broker.call("GET", "/v1/models/one").status, 502)


def the_process(lab):
    """What is left to it while it serves: nobody's user, no capability, a filter, no core, no file."""
    broker = lab.broker()
    pid = broker.process.pid
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    if os.geteuid() == 0:
        is_(set(status["Uid"].split()) | set(status["Gid"].split()), {"65534"})
        is_(status["Groups"].strip(), "")
    is_({status[key].strip() for key in ("CapInh", "CapPrm", "CapEff", "CapAmb")}, {"0" * 16})
    is_((status["NoNewPrivs"], status["Seccomp"], status["Threads"]), ("1", "2", "1"))
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        bounds = {line[:26].strip(): line[26:].split()[:2] for line in file}
    is_([bounds[key] for key in ("Max core file size", "Max file size", "Max processes")], [["0", "0"]] * 3)
    with open(f"/proc/{pid}/environ", "rb") as environ, open(f"/proc/{pid}/cmdline", "rb") as line:
        is_((SECRET.encode() in environ.read(), line.read().count(b"\0")), (False, 1))
    names = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    is_([name for name in names if "memfd" in name or name.startswith("/") and name != "/dev/null"], [])
    # Nobody of its own user may look into it, or stop it with a debugger.
    if os.geteuid() == 0:
        looked = subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "cat",
                                 f"/proc/{pid}/environ"], capture_output=True, check=False)
        is_(looked.returncode != 0, True)


def control_says_something(lab):
    broker = lab.broker()
    broker.control.send(b"{}")
    is_(broker.process.wait(WAIT), 0)


def records_wait(lab):
    """While nobody takes the records, no more calls are made; none is lost."""
    broker = lab.broker(made=definition(lab.directory, lab.upstream.port, limits={"rate": 60000, "concurrent": 4}))
    made = 0
    try:
        while made < 5000:
            client = broker.connect()
            client.settimeout(0.5)
            client.sendall(b"G\n\n")
            if not everything(client):
                break
            client.close()
            made += 1
    except TimeoutError:
        pass
    is_(made < 5000, True, "all of them went through")
    numbers = [broker.record()["number"] for _ in range(made)]
    is_(numbers, list(range(1, made + 1)))


def bad_starts(lab):
    """Each is told precisely, and nothing is served."""
    good = definition(lab.directory, lab.upstream.port)
    for made, more, word in (
            (dict(good, allow=[]), {}, "allow: empty"), (dict(good, upstream="setting"), {}, "no upstream"),
            (dict(good, ca="/nonexistent"), {}, "/nonexistent"), (good, {"secret": "short"}, "8 to 4096 bytes"),
            (good, {"secret": "with a space in it"}, "byte 5 of the credential"), (good, {"addresses": []}, "addresses"),
            (good, {"addresses": ["model.test"]}, "no address"), (good, {"uid": 0}, "uid"), (good, {"more": 1}, "unknown key"),
            (good, {"secret": "line-one\r\nX-Injected: 1"}, "byte 9 of the credential")):
        broker = Broker(lab.program, made, **more)
        if word not in broker.said.get("error", {}).get("message", ""):
            raise AssertionError(f"{word}: {broker.said}")
        is_(broker.process.wait(WAIT), 1)


def verify(lab):
    lab.upstream.serve["/v1/models/one"] = lambda handler: handler.answer(b"{}")
    said = lab.broker(verify=True, ready=False).said["verified"]
    is_((said["status"], said["address"]), (200, "127.0.0.1"))
    lab.upstream.serve["/v1/models/one"] = lambda handler: handler.answer(SECRET.encode(), 401)
    is_("does not take the credential" in lab.broker(verify=True, ready=False).said["error"]["message"], True)
    lab.upstream.serve["/v1/models/one"] = lambda handler: handler.answer(b"", 500)
    is_("status 500, not 200" in lab.broker(verify=True, ready=False).said["error"]["message"], True)
    upstream = lab.another("stranger")
    said = lab.broker(made=definition(lab.directory, upstream.port), verify=True, ready=False).said
    is_(said["error"]["message"].startswith(f"TLS with {NAME}: "), True)
