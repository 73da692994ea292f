#!/usr/bin/env bash
# Makes request-signing.json and webhook-signing.json from cases/. Every hash and every MAC in them comes from the
# openssl command; strings.ts only writes its input files and collects its output. So a mistake
# in our own signing code shows up as a difference.
#
#   make.sh [directory]     write both files there; without one, next to this script
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
out="${1:-$here}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
mkdir "$work/bodies" "$work/messages"

node "$here/strings.ts" bodies "$work"
(cd "$work/bodies" && openssl dgst -sha256 -r -- *) > "$work/body-hashes.txt"

node "$here/strings.ts" messages "$work"
# The key goes in as hex: as text, openssl would cut it at a NUL byte and the shell would lose a trailing newline.
while read -r file digest hexkey; do
  if [ "$hexkey" = none ]; then
    openssl dgst "-$digest" -r "$work/messages/$file"
  else
    openssl dgst "-$digest" -mac HMAC -macopt "hexkey:$hexkey" -r "$work/messages/$file"
  fi
done < "$work/jobs.txt" > "$work/signatures.txt"

node "$here/strings.ts" write "$work" "$out"
