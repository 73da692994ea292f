/** Sent with everything that a browser may open from the dashboard's host: pages, files and answers. */
export function securityHeaders(origin: string): Readonly<Record<string, string>> {
  return {
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'x-frame-options': 'DENY',
    ...(origin.startsWith('https:') && {
      'strict-transport-security': 'max-age=63072000; includeSubDomains',
    }),
  }
}
