#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A real SMTP server for the tests, on the loopback interface.

Prints its port on the first line of stdout, then stores each message it
takes as DIR/N.eml with its envelope in DIR/N.json. It can misbehave on
purpose. It ends on SIGTERM, or by itself after --lifetime seconds.
"""
import argparse
import asyncio
import json
import logging
import os
import signal
import ssl
import warnings

from aiosmtpd.smtp import SMTP, AuthResult

STAGES = ("mail", "rcpt", "data", "dot")


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("dir", help="where messages are stored")
    p.add_argument("--refuse", action="store_true", help="answer 554")
    p.add_argument("--tempfail", action="store_true", help="answer 451")
    p.add_argument("--stall", action="store_true", help="never answer")
    p.add_argument("--stage", choices=STAGES, default="dot",
                   help="the command that these three are the answer to")
    p.add_argument("--reject-rcpt", action="append", default=[],
                   metavar="ADDR", help="550 for this recipient")
    p.add_argument("--drop-in-data", action="store_true",
                   help="reset the connection after 354 and some text")
    p.add_argument("--drop-after-dot", action="store_true",
                   help="store the message, then reset without an answer")
    p.add_argument("--auth", metavar="USER:PASS", help="required then")
    p.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"),
                   help="offer STARTTLS")
    p.add_argument("--lifetime", type=float, default=600)
    return p.parse_args()


class Handler:
    def __init__(self, args):
        self.args = args
        self.count = 0

    async def misbehave(self, stage):
        """The answer to give instead of the right one, or None."""
        if stage != self.args.stage:
            return None
        if self.args.stall:
            await asyncio.sleep(self.args.lifetime)
        if self.args.refuse:
            return "554 5.7.1 no such mail here"
        if self.args.tempfail:
            return "451 4.3.2 try again later"
        return None

    def store(self, envelope):
        self.count += 1
        base = os.path.join(self.args.dir, str(self.count))
        with open(base + ".json", "w", encoding="utf-8") as f:
            json.dump({"from": envelope.mail_from, "to": envelope.rcpt_tos,
                       "options": envelope.mail_options}, f)
        with open(base + ".tmp", "wb") as f:
            f.write(envelope.content)
        os.rename(base + ".tmp", base + ".eml")

    async def handle_MAIL(self, server, session, envelope, address, options):
        bad = await self.misbehave("mail")
        if bad:
            return bad
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(self, server, session, envelope, address, options):
        bad = await self.misbehave("rcpt")
        if address in self.args.reject_rcpt:
            bad = "550 5.1.1 nobody here by that name"
        if bad:
            return bad
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        bad = await self.misbehave("dot")
        if bad:
            return bad
        self.store(envelope)
        if self.args.drop_after_dot:
            server.transport.abort()
        return "250 2.0.0 stored as %d" % self.count


class Server(SMTP):
    async def smtp_DATA(self, arg):
        handler = self.event_handler
        bad = await handler.misbehave("data")
        if bad:
            await self.push(bad)
        elif handler.args.drop_in_data:
            await self.push("354 go on")
            await self._reader.read(1)
            self.transport.abort()
        else:
            await super().smtp_DATA(arg)


def make_factory(args):
    options = {"data_size_limit": 64 << 20, "hostname": "smtp.test"}
    if args.tls:
        options["tls_context"] = ssl.create_default_context(
            ssl.Purpose.CLIENT_AUTH)
        options["tls_context"].load_cert_chain(*args.tls)
    if args.auth:
        user, _, password = args.auth.partition(":")

        def check(server, session, envelope, mechanism, data):
            good = (data.login == user.encode() and
                    data.password == password.encode())
            return AuthResult(success=good, handled=False)

        options.update(authenticator=check, auth_required=True,
                       auth_require_tls=bool(args.tls))
    handler = Handler(args)
    return lambda: Server(handler, **options)


async def main():
    args = arguments()
    warnings.simplefilter("ignore")  # clients that misbehave are the point
    logging.getLogger("mail.log").setLevel(logging.CRITICAL)
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, done.set)
    os.makedirs(args.dir, exist_ok=True)
    server = await loop.create_server(make_factory(args), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    try:
        await asyncio.wait_for(done.wait(), args.lifetime)
    except asyncio.TimeoutError:
        pass


asyncio.run(main())
