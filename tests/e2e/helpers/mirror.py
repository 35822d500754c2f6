"""mirror.py SITES PEM FORGE ADDRESS:PORT...: serves SITES/HOST over TLS, where HOST is what was asked for;
as FORGE git's smart HTTP. Prints "ready" when it can."""
import http.server
import os
import socket
import ssl
import subprocess
import sys
import threading


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    host = ""

    def parse_request(self):
        known = super().parse_request()
        if known:
            self.host = self.headers.get("Host", "").rpartition("]")[2].split(":")[0]
            self.directory = os.path.join(SITES, os.path.basename(self.host) or "none")
        return known

    def log_message(self, *_):
        pass

    def git(self, body=b""):
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_PROJECT_ROOT": self.directory, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_ADDR": self.client_address[0],
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", "")}
        said = subprocess.run(["git", "http-backend"], input=body, env=environment, check=True,
                              stdout=subprocess.PIPE).stdout
        head, _, rest = said.partition(b"\r\n\r\n")
        lines = [line.decode().partition(": ")[::2] for line in head.split(b"\r\n")]
        self.send_response(int(dict(lines).get("Status", "200")[:3]))
        for key, value in lines:
            if key != "Status":
                self.send_header(key, value)
        self.send_header("Content-Length", str(len(rest)))
        self.end_headers()
        self.wfile.write(rest)

    def do_GET(self):
        if self.host == FORGE:
            self.git()
        else:
            super().do_GET()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.host == FORGE:
            self.git(body)
        else:
            self.send_error(404)


class Server(http.server.ThreadingHTTPServer):
    def __init__(self, address, port):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), Handler)

    # The handshake is the connection's own affair, and no reason to keep the next one waiting.
    def get_request(self):
        connection, peer = super().get_request()
        return TLS.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), peer

    def handle_error(self, *_):
        pass


SITES, PEM, FORGE = sys.argv[1:4]
TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
TLS.load_cert_chain(PEM)
for at in sys.argv[4:]:
    host, _, number = at.rpartition(":")
    server = Server(host.strip("[]"), int(number))
    threading.Thread(target=server.serve_forever).start()
print("ready", flush=True)
