"""The gateway's side of /join, for faults that a real gateway does not have on demand. Stores what it accepts in memory."""

import http.server
import json
import pathlib
import socket
import sys
import threading

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "LockstepTestSupport"))
import http_handler  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "Sources/LockstepGateway/Page"
TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
                               "worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Permissions-Policy": "accelerometer=(self), gyroscope=(self), magnetometer=(self), geolocation=(self), screen-wake-lock=(self)",
    "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache",
}


class JoinServer:
    """Use it as a context manager. Set `fault` to let requests for batches fail."""

    def __init__(self, token=None):
        self.token = token
        self.batches = {}  # by device, epoch, seq: what was accepted
        self.received = []  # all requests for batches
        self.fault = None  # a function of the batch that returns a fault: (status, headers, document), "close" or "lose answer"
        self.lock = threading.Lock()
        owner = self

        class Handler(http_handler.Handler):
            def do_GET(self):
                path = self.path.split("?")[0]
                file = PAGE / "index.html" if path in ("/join", "/join/") else PAGE / path.removeprefix("/join/")
                if not (path.startswith("/join") and file.is_file()):
                    return self.answer(404, b"")
                headers = HEADERS | {"Content-Type": TYPES[file.suffix] + "; charset=utf-8"}
                if file.name == "offline.js":
                    headers["Service-Worker-Allowed"] = "/join"
                self.answer(200, file.read_bytes(), headers)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                batch = json.loads(body)
                with owner.lock:
                    result = owner.take(batch, self.headers)
                if result == "close":
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                status, headers, document = result
                self.answer(status, json.dumps(document).encode(), {"Content-Type": "application/json"} | headers)

        self.handler = Handler
        self.port = 0

    def take(self, batch, headers):
        key = (batch["device"], batch["epoch"], batch["seq"])
        self.received.append(key)
        if self.token and headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {}, {"detail": "The token is wrong. Ask the operator for a token."}
        fault = self.fault and self.fault(batch)
        if fault and fault != "lose answer":
            return fault
        content = {name: value for name, value in batch.items() if name != "sent"}
        if key in self.batches and self.batches[key] != content:
            raise AssertionError(f"batch {key} has changed")
        self.batches[key] = content
        return "close" if fault else (200, {}, {"accepted": True, "seq": batch["seq"]})

    def samples(self, stream):
        """All samples of a stream, in the order of their arrival."""
        with self.lock:
            return [sample for batch in self.batches.values() for part in batch["streams"] if part["stream"] == stream for sample in part["samples"]]

    def states(self):
        with self.lock:
            return [(batch["state"], batch.get("reason")) for batch in self.batches.values() if batch.get("reason")]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def start(self):
        """Listens; after a stop on the same port."""
        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def __init__(self, *arguments):
                self.open = set()
                super().__init__(*arguments)

            def process_request(self, request, address):
                self.open.add(request)
                super().process_request(request, address)

            def shutdown_request(self, request):
                self.open.discard(request)
                super().shutdown_request(request)

            def handle_error(self, *_):
                pass

        self.server = Server(("127.0.0.1", self.port), self.handler)
        self.port = self.server.server_port
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def stop(self):
        """Closes the port and all connections."""
        self.server.shutdown()
        self.server.server_close()
        for request in list(self.server.open):
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
