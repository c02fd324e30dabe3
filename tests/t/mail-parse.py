#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Parses a message strictly and prints one part of it.

mail-parse.py FILE subject|to|cc|from|date|id|reply|body|type
mail-parse.py FILE attach N      the text of attachment N (from 0)
mail-parse.py FILE attach-name N
mail-parse.py FILE check         all of it: any defect is an error, and so is
                                 a line over 998 bytes, a header line over 78
                                 that could fold, or a bare CR or LF
"""
import email
import email.header
import email.policy
import email.utils
import sys

HEADERS = {"subject": "Subject", "date": "Date", "id": "Message-ID",
           "reply": "In-Reply-To"}


def check(raw, message):
    for line in raw.split(b"\r\n"):
        assert b"\r" not in line and b"\n" not in line, ("bare", line)
        assert len(line) <= 998, ("long", line[:80])
    head = raw.split(b"\r\n\r\n")[0]
    assert all(b < 127 for b in head), "8-bit byte in the headers"
    for line in head.split(b"\r\n"):
        assert len(line) <= 78 or b" " not in line.strip(), ("wide", line)
    for part in message.walk():
        assert not part.defects, part.defects
        for name, value in part.items():
            assert not value.defects, (name, value.defects)
        if not part.is_multipart():
            part.get_content()
    for name in ("From", "To", "Subject", "Date", "Message-ID"):
        assert len(message.get_all(name)) == 1, name


def people(raw, name):
    """Not by header.addresses: Python before 3.13 puts a space between two
    encoded words of a display name."""
    plain = email.message_from_bytes(raw)
    pairs = email.utils.getaddresses(plain.get_all(name, []))
    return "\n".join(
        "%s|%s" % (email.header.make_header(email.header.decode_header(n)), a)
        for n, a in pairs)


def text_of(part):
    return part.get_content().replace("\r\n", "\n")


def show(raw, message, what, rest):
    if what in HEADERS:
        return str(message[HEADERS[what]])
    if what in ("from", "to", "cc"):
        return people(raw, what)
    if what == "type":
        return message.get_content_type()
    if what == "body":
        return text_of(message.get_body(("plain",)))
    part = list(message.iter_attachments())[int(rest[0])]
    return part.get_filename() if what == "attach-name" else text_of(part)


def main():
    with open(sys.argv[1], "rb") as f:
        raw = f.read()
    policy = email.policy.SMTP.clone(raise_on_defect=True)
    message = email.message_from_bytes(raw, policy=policy)
    if sys.argv[2] == "check":
        check(raw, message)
    else:
        sys.stdout.write(show(raw, message, sys.argv[2], sys.argv[3:]))


main()
