"""A mail server that takes messages without a login and prints them.

Usage: smtp_server.py PORT

It refuses recipients whose names begin with "unknown" for ever, and prints a line for each attempt.
"""

import signal
import sys

from aiosmtpd.controller import Controller


class Handler:
    async def handle_RCPT(self, server, session, envelope, address, options):
        print("recipient", address, flush=True)
        if address.startswith("unknown"):
            return "550 5.1.1 no such user here"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        subject = next(line for line in envelope.content.splitlines() if line.startswith(b"Subject: "))
        print("message to", *envelope.rcpt_tos, subject.decode(), flush=True)
        return "250 OK"


controller = Controller(Handler(), hostname="127.0.0.1", port=int(sys.argv[1]), ready_timeout=60)
controller.start()
print("listening", flush=True)
signal.sigwait([signal.SIGTERM])
controller.stop()
