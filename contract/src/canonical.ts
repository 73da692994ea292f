export type CanonicalParts = {
  /** Any case; the canonical form is upper case. */
  readonly method: string
  /** Path and query exactly as on the request line, `/v1` included, nothing decoded, re-encoded or sorted. */
  readonly target: string
  readonly timestamp: string
  readonly nonce: string
  /** Lower-case hex. */
  readonly bodySha256: string
}

/** The five lines a request signature covers: single newlines between them, none after the last. */
export function canonicalText(parts: CanonicalParts): string {
  return `${parts.method.toUpperCase()}\n${parts.target}\n${parts.timestamp}\n${parts.nonce}\n${parts.bodySha256}`
}
