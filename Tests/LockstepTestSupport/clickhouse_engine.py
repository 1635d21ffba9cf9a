"""The HTTP interface of the current ClickHouse engine, which the Python package chdb-core runs in this process.

Usage: clickhouse_engine.py FOLDER PORT

The tables are in FOLDER and survive SIGKILL. There is no native protocol, no replication and no configuration: tests of
these need the package clickhouse-server.
"""

import re
import sys
import tempfile
import threading
from http.server import ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from chdb.state.sqlitelike import Connection

import http_handler

FOLDER, PORT = sys.argv[1], int(sys.argv[2])
PASSWORDS = {"default": "", "guarded": "secret"}
# Parameters of an address that are no settings. The engine has no other answer than a complete one.
NOT_SETTINGS = {"query", "database", "user", "password", "session_id", "session_timeout", "wait_end_of_query"}

# Keeps the engine open between requests.
engine = Connection(FOLDER)
sessions = {}
sessions_lock = threading.Lock()


def execute(connection, query, body):
    """Executes a statement and returns its rows. The rows of an INSERT follow it, which the engine reads from a file."""
    if not query or not body:
        return connection.query((query or body).decode(), "TabSeparated").bytes() or b""
    with tempfile.NamedTemporaryFile(dir=FOLDER) as file:
        file.write(body)
        file.flush()
        insert, rows = query.decode().rsplit(" FORMAT ", 1)
        connection.query(f"{insert} FROM INFILE '{file.name}' FORMAT {rows}")
    return b""


class Session:
    """A connection to the engine that one request uses at a time."""

    def __init__(self):
        self.connection = Connection(FOLDER)
        self.lock = threading.Lock()


class Handler(http_handler.Handler):
    def do_GET(self):
        self.execute(b"")

    def do_POST(self):
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            self.execute(self.read_chunks())
        else:
            self.execute(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def read_chunks(self):
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def execute(self, body):
        parameters = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
        query = parameters.get("query", "").encode()
        if not query and not body:
            return self.answer(200, b"Ok.\n")
        user = self.headers.get("X-ClickHouse-User", parameters.get("user", "default"))
        password = self.headers.get("X-ClickHouse-Key", parameters.get("password", ""))
        if PASSWORDS.get(user) != password:
            return self.fail(f"Code: 516. DB::Exception: {user}: Authentication failed. (AUTHENTICATION_FAILED)")
        session = self.session(parameters.get("session_id"))
        with session.lock:
            try:
                if "database" in parameters:
                    session.connection.query(f"USE `{parameters['database']}`")
                for name, value in parameters.items():
                    if name not in NOT_SETTINGS:
                        quoted = value.replace("\\", "\\\\").replace("'", "\\'")
                        session.connection.query(f"SET {name} = '{quoted}'")
                self.answer(200, execute(session.connection, query, body))
            except Exception as error:
                self.fail(str(error))
            finally:
                if "session_id" not in parameters:
                    session.connection.close()

    def session(self, name):
        if name is None:
            return Session()
        with sessions_lock:
            return sessions.setdefault(name, Session())

    def fail(self, text):
        code = re.match(r"Code: (\d+)", text)
        headers = {"X-ClickHouse-Exception-Code": code[1]} if code else {}
        self.answer(404 if code and code[1] in ("60", "81") else 500, text.encode() + b"\n", headers)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


Server(("127.0.0.1", PORT), Handler).serve_forever()
