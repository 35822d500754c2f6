"""A broker between a client and an upstream with TLS, all on loopback. The upstream is a thread of this
process, so that a case sees both ends."""
import array
import base64
import http.server
import json
import os
import socket
import ssl
import subprocess
import threading
import time

SECRET = "sk-test-" + "Zq7%/x\\Q\"" + "-0123456789abcdef"
NAME = "model.test"
WAIT = 20


def certificates(directory):
    """A CA and a certificate of NAME, one of another name, one of a stranger's, one that was good yesterday."""
    def openssl(subject, name, *more):
        subprocess.run(["openssl", "req", "-x509", "-config", directory + "/conf", "-days", "2", "-nodes",
                        "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-subj", "/CN=" + subject,
                        "-keyout", f"{directory}/{name}.key", "-out", f"{directory}/{name}.pem", *more],
                       check=True, stderr=subprocess.DEVNULL)
    with open(directory + "/conf", "w", encoding="ascii") as conf:
        conf.write("[req]\ndistinguished_name=dn\n[dn]\n")
    openssl("test", "ca", "-addext", "basicConstraints=critical,CA:TRUE",
            "-addext", "keyUsage=critical,keyCertSign")
    signed = ("-CA", directory + "/ca.pem", "-CAkey", directory + "/ca.key",
              "-addext", "basicConstraints=CA:FALSE")
    openssl("model", "model", *signed, "-addext", "subjectAltName=DNS:" + NAME)
    openssl("other", "other", *signed, "-addext", "subjectAltName=DNS:other.test")
    openssl("stranger", "stranger", "-addext", "subjectAltName=DNS:" + NAME)
    openssl("expired", "self", "-addext", "subjectAltName=DNS:" + NAME)
    subprocess.run(["openssl", "x509", "-in", directory + "/self.pem", "-days", "-1", "-set_serial", "7",
                    "-out", directory + "/expired.pem", *signed[:4]], check=True, stderr=subprocess.DEVNULL)
    os.rename(directory + "/self.key", directory + "/expired.key")


class Upstream(http.server.ThreadingHTTPServer):
    """Answers by what a case has put into `serve`; keeps what it was asked."""
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, directory, certificate="model", at=("127.0.0.1", 0)):
        super().__init__(at, Handler)
        self.asked = []
        self.serve = {}
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(f"{directory}/{certificate}.pem", f"{directory}/{certificate}.key")
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def finish_request(self, request, client_address):
        try:
            with self.context.wrap_socket(request, server_side=True) as secure:
                self.RequestHandlerClass(secure, client_address, self)
        except (ssl.SSLError, OSError):
            pass

    def handle_error(self, request, client_address):
        pass


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def body_parts(self):
        if self.headers.get("Transfer-Encoding") == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return
        left = int(self.headers.get("Content-Length") or 0)
        while left:
            part = self.rfile.read(min(left, 65536))
            if not part:
                return
            left -= len(part)
            yield part

    def body(self):
        return b"".join(self.body_parts())

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def begin(self, status=200, length=None, **headers):
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key.replace("_", "-"), value)
        if length is None:
            self.send_header("Transfer-Encoding", "chunked")
        else:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def answer(self, body=b"", status=200, **headers):
        self.begin(status, len(body), **headers)
        if self.command != "HEAD":
            self.wfile.write(body)

    def handle_any(self):
        self.server.asked.append((self.command, self.path, list(self.headers.items())))
        serve = self.server.serve.get(self.path.partition("?")[0])
        if serve:
            serve(self)
        else:
            self.answer(self.body() or b"plain")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any


def definition(directory, port, **more):
    allow = [{"method": method, "path": path, "query": ["beta", "alt=sse"]}
             for path in ("/v1/messages", "/v1/models/*", "/v1/files") for method in ("GET", "POST", "PUT", "HEAD")]
    made = {"name": "model", "description": "a stand-in", "upstream": {"host": NAME, "port": port},
            "ca": directory + "/ca.pem", "credential": {"header": "Authorization", "before": "Bearer "},
            "allow": allow, "headers": ["anthropic-*", "git-protocol"], "limits": {"rate": 60000, "concurrent": 16},
            "verify": {"method": "GET", "path": "/v1/models/one"}}
    made.update(more)
    return made


class Broker:
    """The process as gatekeeperd starts it."""

    def __init__(self, program, made, secret=SECRET, addresses=("127.0.0.1",), **more):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(128)
        self.port = self.listener.getsockname()[1]
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.control.settimeout(WAIT)
        # As gatekeeperd's: the broker may look before there is something.
        theirs.setblocking(False)

        def place():
            high = [os.dup2(fd, 100 + i) for i, fd in enumerate((self.listener.fileno(), theirs.fileno()))]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)
        with open(os.devnull, "r+b") as null:
            errors = None if os.environ.get("BROKER_STDERR") else null
            # pylint: disable=subprocess-popen-preexec-fn
            self.process = subprocess.Popen([program], stdin=null, stdout=null, stderr=errors, close_fds=False,
                                            env=self.environment(), preexec_fn=place)
        theirs.close()
        message = {"v": 1, "bench": "b1", "grant": "b1/1", "definition": made, "addresses": list(addresses)}
        message.update(more)
        memory = os.memfd_create("credential")
        os.write(memory, secret.encode())
        os.lseek(memory, 0, os.SEEK_SET)
        self.control.sendmsg([json.dumps(message).encode()],
                             [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [memory]))])
        os.close(memory)
        self.said = json.loads(self.control.recv(65536))
        self.listener.close()

    @staticmethod
    def environment():
        """Empty, but for what the sanitizers are to do."""
        return {k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")}

    def record(self):
        """The next one."""
        return json.loads(self.control.recv(65536))["call"]

    def connect(self):
        client = socket.create_connection(("127.0.0.1", self.port))
        client.settimeout(WAIT)
        return client

    def raw(self, data):
        """What it answers to these bytes, until it closes."""
        with self.connect() as client:
            client.sendall(data)
            return everything(client)

    def call(self, method, path, *headers, body=b"", host=None):
        lines = [f"{method} {path} HTTP/1.1", f"Host: {host or '127.0.0.1:' + str(self.port)}", *headers]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        return parsed(self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body))

    def rss(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(next(line.split()[1] for line in status if line.startswith("VmHWM")))

    def end(self):
        try:
            self.control.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.control.close()
        return self.process.wait(WAIT)


def everything(client):
    said = b""
    try:
        while part := client.recv(65536):
            said += part
    except ConnectionResetError:
        pass
    return said


def dechunked(body):
    out = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        if not size:
            return out, False
        size = int(size, 16)
        if not size:
            return out, True
        out += body[:size]
        body = body[size + 2:]


class Answer:
    def __init__(self, status, headers, body, whole):
        self.status, self.headers, self.body, self.whole = status, headers, body, whole

    @property
    def rule(self):
        try:
            error = json.loads(self.body)["error"]
        except (ValueError, KeyError, TypeError):
            return None
        return error["rule"] if error["message"] and error["remedy"] else None


def parsed(said):
    head, _, body = said.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = {}
    for line in lines[1:]:
        key, _, value = line.partition(": ")
        headers[key.lower()] = value
    status = int(lines[0].split()[1]) if head else 0
    whole = bool(head)
    if headers.get("transfer-encoding") == "chunked":
        body, whole = dechunked(body)
    elif "content-length" in headers:
        whole = len(body) == int(headers["content-length"])
    return Answer(status, headers, body, whole)


def forms(secret=SECRET):
    """What an upstream could make of it, and is found."""
    raw = secret.encode()
    percent = "".join(c if c.isalnum() else f"%{ord(c):02X}" for c in secret)
    return {
        "raw": raw, "percent": percent.encode(), "percent-lower": "".join(c if c.isalnum() else f"%{ord(c):02x}" for c in secret).encode(),
        "percent-all": "".join(f"%{c:02x}" for c in raw).encode(),
        "json": json.dumps(secret)[1:-1].encode(), "json-slash": json.dumps(secret)[1:-1].replace("/", "\\/").encode(),
        "unicode": "".join(f"\\u{c:04x}" for c in raw).encode(),
        "hex": raw.hex().encode(), "HEX": raw.hex().upper().encode(),
        "base64": base64.b64encode(raw), "base64-1": base64.b64encode(b"x" + raw), "base64-2": base64.b64encode(b"xy" + raw),
        "base64url": base64.urlsafe_b64encode(raw), "basic": base64.b64encode(b"x-access-token:" + raw),
    }


def soon(condition):
    """Waits for it: what it looks at tells nobody that it has changed."""
    end = time.monotonic() + WAIT
    while time.monotonic() < end:
        if condition():
            return True
        threading.Event().wait(0.01)
    return False
