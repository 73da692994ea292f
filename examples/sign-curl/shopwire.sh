# Source it: . shopwire.sh
# Needs bash, curl, openssl and od. Reads SHOPWIRE_API_KEY, SHOPWIRE_API_SECRET and SHOPWIRE_BASE_URL.

# call METHOD PATH [BODY]: one attempt, signed now. Prints the answer; fails when the store refuses or does not answer.
call() {
  local method=$1 url=$SHOPWIRE_BASE_URL$2 body=${3-} target timestamp nonce signature
  # The path as it goes over the wire, /v1 and query included.
  target=/${url#*://*/}
  timestamp=$(date +%s)
  nonce=$(openssl rand -hex 16)
  signature=$(printf '%s' "$body" | sign "$SHOPWIRE_API_SECRET" "$method" "$target" "$timestamp" "$nonce")
  # --globoff and --path-as-is: curl must not rewrite what was signed. --fail-with-body: a refusal is a failure, and is shown.
  printf '%s' "$body" | curl --silent --show-error --fail-with-body --max-time 20 --globoff --path-as-is \
    --request "$method" ${body:+--data-binary @- --header 'Content-Type: application/json'} \
    --header "X-Api-Key: $SHOPWIRE_API_KEY" \
    --header "X-Api-Timestamp: $timestamp" \
    --header "X-Api-Nonce: $nonce" \
    --header "X-Api-Signature: $signature" \
    "$url"
}

# sign SECRET METHOD TARGET TIMESTAMP NONCE <body: the signature in hex.
sign() {
  local hash
  hash=$(openssl dgst -sha256 -r)
  printf '%s\n%s\n%s\n%s\n%s' "$2" "$3" "$4" "$5" "${hash%% *}" | hmac_sha256 "$1"
}

# hmac_sha256 KEY <text: in hex, as RFC 2104 has it. `openssl dgst -hmac` would do, but takes the key on its command line, where
# everybody on the machine can read it. Here it stays inside bash: printf is a builtin.
hmac_sha256() {
  local key byte inner='' outer='' mac i
  key=$(printf '%s' "$1" | od -An -v -tx1)
  key=${key//[[:space:]]/}
  if [ ${#key} -gt 128 ]; then
    key=$(printf '%s' "$1" | openssl dgst -sha256 -r)
    key=${key%% *}
  fi
  while [ ${#key} -lt 128 ]; do key+=00; done
  for ((i = 0; i < 128; i += 2)); do
    printf -v byte '\\x%02x' $((16#${key:i:2} ^ 0x36))
    inner+=$byte
    printf -v byte '\\x%02x' $((16#${key:i:2} ^ 0x5c))
    outer+=$byte
  done
  mac=$({ printf '%b' "$outer" && { printf '%b' "$inner" && cat; } | openssl dgst -sha256 -binary; } | openssl dgst -sha256 -r)
  printf '%s\n' "${mac%% *}"
}
