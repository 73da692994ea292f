"""Checks both functions against the test vectors: vectors.py FOLDER, the one with request-signing.json and webhook-signing.json."""

import json
import pathlib
import sys

from shopwire import sign, verify_webhook


def cases(name):
    return json.loads((pathlib.Path(sys.argv[1]) / name).read_text(encoding="utf-8"))["cases"]


def body_of(case):
    return bytes.fromhex(case["body_hex"]) if "body_hex" in case else case["body_utf8"].encode()


requests, events, wrong = cases("request-signing.json"), cases("webhook-signing.json"), []
for case in requests:
    parts = [case[name] for name in ("secret", "method", "target", "timestamp", "nonce")]
    if sign(*parts, body_of(case)) != case["signature"]:
        wrong.append(case["name"])
for case in events:
    receiver = case["receiver"]
    headers = {name.lower(): value for name, value in receiver["headers"].items()}
    if verify_webhook(receiver["secrets"], headers, body_of(case), receiver["now_s"]) != case["valid"]:
        wrong.append(case["name"])

for name in wrong:
    print("wrong:", name)
print(f"{len(requests)} requests, {len(events)} events, {len(wrong)} wrong")
sys.exit(1 if wrong or not requests or not events else 0)
