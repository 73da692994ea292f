#!/usr/bin/env bash
# Holds the signer to the known answers: vectors.sh FOLDER, the one with request-signing.json. Node only takes the JSON apart.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shopwire.sh"

decoded() { printf '%s' "$1" | base64 -d; }
count=0 wrong=0
while read -r name signature secret method target timestamp nonce body; do
  signed=$(decoded "${body#:}" | sign "$(decoded "$secret")" "$method" "$(decoded "$target")" "$timestamp" "$nonce")
  count=$((count + 1))
  if [ "$signed" != "$signature" ]; then
    wrong=$((wrong + 1))
    echo "wrong: $name"
  fi
done < <(node -e '
  const base64 = (bytes) => Buffer.from(bytes).toString("base64")
  for (const c of JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")).cases) {
    const body = c.body_hex === undefined ? c.body_utf8 : Buffer.from(c.body_hex, "hex")
    console.log(c.name, c.signature, base64(c.secret), c.method, base64(c.target), c.timestamp, c.nonce, ":" + base64(body))
  }' "$1/request-signing.json")
echo "$count requests, $wrong wrong"
[ "$count" -gt 0 ] && [ "$wrong" -eq 0 ]
