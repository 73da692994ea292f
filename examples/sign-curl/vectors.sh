#!/usr/bin/env bash
# Checks the signer against the test vectors: vectors.sh FOLDER, the one with request-signing.json. Node only parses the JSON.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/shopwire.sh"

count=0 wrong=0
# Fields end with the unit separator, cases with a zero byte: secrets and paths may have any other character in them.
while IFS=$'\x1f' read -r -d '' name signature secret method target timestamp nonce body; do
  signed=$(base64 -d <<<"$body" | sign "$secret" "$method" "$target" "$timestamp" "$nonce")
  count=$((count + 1))
  if [ "$signed" != "$signature" ]; then
    wrong=$((wrong + 1))
    echo "wrong: $name"
  fi
done < <(node -e '
  for (const c of JSON.parse(require("fs").readFileSync(process.argv[1], "utf8")).cases) {
    const body = Buffer.from(c.body_hex ?? c.body_utf8, c.body_hex === undefined ? "utf8" : "hex").toString("base64")
    const fields = [c.name, c.signature, c.secret, c.method, c.target, c.timestamp, c.nonce, body]
    process.stdout.write(fields.join("\x1f") + "\0")
  }' "$1/request-signing.json")
echo "$count requests, $wrong wrong"
[ "$count" -gt 0 ] && [ "$wrong" -eq 0 ]
