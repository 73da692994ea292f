import { z } from 'zod'
import {
  certificatesProblem,
  clusterUrlsProblem,
  sentinelUrlsProblem,
  singleUrlProblem,
} from '../../access/redis-urls.ts'
import { type Given, milliseconds, secret } from '../values.ts'

const redisUrls = z
  .string()
  .optional()
  .transform((text) => text?.split(',').map((url) => url.trim()))
  .pipe(
    z
      .array(z.string().regex(/^rediss?:\/\//, 'must be redis:// or rediss:// URLs, separated by commas'))
      .optional(),
  )

export const admissionSettings = {
  SHOPWIRE_ADMISSION: z
    .enum(['postgres', 'redis', 'redis-cluster'])
    .default('postgres')
    .describe('where nonces and rate limits are kept'),
  SHOPWIRE_REQUESTS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000)
    .default(120)
    .describe('per account; the contract says 120'),
  SHOPWIRE_ORDER_ATTEMPTS_PER_MINUTE: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000)
    .default(20)
    .describe('per account; the contract says 20'),
  SHOPWIRE_REDIS_URLS: secret(
    redisUrls.describe(
      'one URL, or some nodes of the cluster separated by commas; with sentinels `rediss://user:password@name-of-the-master`',
    ),
  ),
  SHOPWIRE_REDIS_SENTINELS: secret(
    redisUrls.describe(
      'for SHOPWIRE_ADMISSION=redis: URLs of the sentinels that know where the master is, separated by commas, with their own credentials',
    ),
  ),
  SHOPWIRE_REDIS_CA: z
    .string()
    .optional()
    .describe(
      'authority of the certificates of Redis and its sentinels, in PEM, in place of the public ones; best as SHOPWIRE_REDIS_CA_FILE',
    ),
  SHOPWIRE_REDIS_CLIENT_CERT: z
    .string()
    .optional()
    .describe('certificate that Redis and its sentinels ask for, in PEM'),
  SHOPWIRE_REDIS_CLIENT_KEY: secret(z.string().optional().describe('key of that certificate, in PEM')),
  SHOPWIRE_REDIS_TIMEOUT_MS: milliseconds
    .default(500)
    .describe('longest wait for Redis before the caller gets 503'),
}

export function admissionProblems(given: Given): string[] {
  const problems: string[] = []
  if ((given.SHOPWIRE_ADMISSION ?? 'postgres') !== 'postgres' && given.SHOPWIRE_REDIS_URLS === undefined) {
    problems.push(`SHOPWIRE_REDIS_URLS is required when SHOPWIRE_ADMISSION is "${given.SHOPWIRE_ADMISSION}"`)
  }
  const { SHOPWIRE_REDIS_URLS: urls, SHOPWIRE_REDIS_SENTINELS: sentinels } = given
  const say = (name: string, problem: string | undefined) => {
    if (problem !== undefined) problems.push(`${name}: ${problem}`)
  }
  const split = (text: string) => text.split(',').map((url) => url.trim())
  const isCluster = given.SHOPWIRE_ADMISSION === 'redis-cluster'
  if (urls !== undefined) {
    const hasSentinels = sentinels !== undefined
    say(
      'SHOPWIRE_REDIS_URLS',
      isCluster ? clusterUrlsProblem(split(urls)) : singleUrlProblem(split(urls), hasSentinels),
    )
  }
  if (sentinels !== undefined) {
    say('SHOPWIRE_REDIS_SENTINELS', sentinelUrlsProblem(split(sentinels)))
    if (isCluster)
      say('SHOPWIRE_REDIS_SENTINELS', 'a cluster has none; remove it, or set SHOPWIRE_ADMISSION=redis')
  }
  const { SHOPWIRE_REDIS_CA: ca, SHOPWIRE_REDIS_CLIENT_CERT: cert, SHOPWIRE_REDIS_CLIENT_KEY: key } = given
  say(
    'SHOPWIRE_REDIS_CA, SHOPWIRE_REDIS_CLIENT_CERT and SHOPWIRE_REDIS_CLIENT_KEY',
    certificatesProblem({ ca, cert, key }),
  )
  return problems
}
