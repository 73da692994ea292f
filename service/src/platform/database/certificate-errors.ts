/** Node's error codes for a server whose certificate is not trusted, has expired, or is for another name. */
const CODES: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

export function isCertificateError(error: unknown): error is Error & { readonly code: string } {
  return error instanceof Error && CODES.has(String((error as NodeJS.ErrnoException).code))
}
