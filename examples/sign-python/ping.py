import sys

from shopwire import Refused, call

try:
    print(call("GET", "/ping"))
except Refused as refusal:
    sys.exit(f"refused: {refusal}")
