"""Signs requests to a Shopwire store and checks its webhooks. Only the standard library; Python 3.9 and newer."""

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

TIMEOUT_S = 20
TOLERANCE_S = 300


class Refused(Exception):
    """An error answer of the store: status, type and message."""

    def __init__(self, status, type, message):
        super().__init__(f"{status} {type}: {message}")
        self.status, self.type = status, type


def call(method, path, body=None):
    """One attempt, signed now. Raises Refused, or OSError when there was no answer: then an order may have been bought.
    Send it again with the same idempotency_key."""
    url = os.environ["SHOPWIRE_BASE_URL"] + path
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    # Serialised once: what is signed is what is sent.
    data = b"" if body is None else json.dumps(body).encode()
    timestamp = str(int(time.time()))
    nonce = secrets.token_hex(16)
    request = Request(url, data=data or None, method=method)
    request.add_header("Content-Type", "application/json")
    request.add_header("X-Api-Key", os.environ["SHOPWIRE_API_KEY"])
    request.add_header("X-Api-Timestamp", timestamp)
    request.add_header("X-Api-Nonce", nonce)
    request.add_header(
        "X-Api-Signature", sign(os.environ["SHOPWIRE_API_SECRET"], method, target, timestamp, nonce, data)
    )
    try:
        with _opener.open(request, timeout=TIMEOUT_S) as answer:
            return json.load(answer)
    except HTTPError as refusal:
        with refusal:
            error = _error_of(refusal.read())
        raise Refused(refusal.code, error["type"], error["message"]) from None


def sign(secret, method, target, timestamp, nonce, body=b""):
    """The signature in hex. target: path and query as they go over the wire. body: the bytes as sent."""
    body_hash = hashlib.sha256(body).hexdigest()
    canonical = "\n".join([method, target, timestamp, nonce, body_hash])
    return hmac.new(secret.encode(), canonical.encode(), hashlib.sha256).hexdigest()


def verify_webhook(held, headers, body, now_s=None):
    """Whether the store sent this. held: your secrets, two while you rotate. headers: lower-case names. body: the raw bytes."""
    timestamp = headers.get("x-webhook-timestamp", "")
    event_id = headers.get("x-webhook-id", "")
    signature = headers.get("x-webhook-signature", "")
    previous = headers.get("x-webhook-signature-previous", "")  # for a day after a rotation
    if not re.fullmatch(r"[1-9][0-9]{9}", timestamp):
        return False
    if not re.fullmatch(r"evt_[0-9a-z]{26}", event_id):
        return False
    if not re.fullmatch(r"[0-9a-f]{64}", signature):
        return False
    if abs((time.time() if now_s is None else now_s) - int(timestamp)) > TOLERANCE_S:
        return False
    signed = f"{timestamp}.{event_id}.".encode() + body
    # An unset variable is a key that everybody knows.
    expected = [hmac.new(one.encode(), signed, hashlib.sha256).hexdigest() for one in held if one]
    presented = [one for one in (signature, previous) if re.fullmatch(r"[0-9a-f]{64}", one)]
    return any([hmac.compare_digest(one, other) for one in expected for other in presented])


class _NoRedirects(HTTPRedirectHandler):
    """Redirects are not followed: a signature is valid for one path, and the store never redirects."""

    def redirect_request(self, *_):
        return None


_opener = build_opener(_NoRedirects)


def _error_of(text):
    try:
        error = json.loads(text)["error"]
        return {"type": error["type"], "message": error["message"]}
    except (ValueError, KeyError, TypeError):
        return {"type": "not_the_store", "message": "this answer did not come from the store"}
