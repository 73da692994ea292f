import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Given, port } from '../values.ts'

export const apiSettings = {
  SHOPWIRE_HOST: z.string().default('0.0.0.0').describe('address the API listens on'),
  SHOPWIRE_PORT: port.default(8080).describe('port the API listens on'),
  SHOPWIRE_TRUSTED_PROXY_HOPS: z.coerce
    .number()
    .int()
    .min(0)
    .max(10)
    .default(0)
    .describe(
      'number of trusted reverse proxies in front; the client address is taken from X-Forwarded-For accordingly',
    ),
  SHOPWIRE_CONNECTIONS_PER_ADDRESS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000_000)
    .default(1_000)
    .describe('open sockets per client address; 0 for no limit, as behind a proxy'),
  SHOPWIRE_CONNECTIONS_MAX: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_000_000)
    .default(5_000)
    .describe(
      'open sockets per API or dashboard process, from all addresses together; the last tenth is not for the address that has the most',
    ),
  SHOPWIRE_REQUESTS_IN_FLIGHT: z.coerce
    .number()
    .int()
    .min(2)
    .max(1_000_000)
    .default(1_000)
    .describe(
      'signed requests one API process works on at a time; one account may have as many as are free; further ones get 503',
    ),
  SHOPWIRE_DOCS_FOLDER: z
    .string()
    .optional()
    .describe(
      'folder of the built docs portal (npm run docs:build), served at /docs; without it /docs is not served',
    ),
}

export function apiProblems(given: Given): string[] {
  const docs = given.SHOPWIRE_DOCS_FOLDER
  if (docs === undefined || existsSync(join(docs, 'index.html'))) return []
  return [`SHOPWIRE_DOCS_FOLDER: no index.html in ${docs}; build the portal with npm run docs:build`]
}
