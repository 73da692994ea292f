import type { Credentials } from '../profiles/credentials.ts'
import { printable } from '../terminal/paint.ts'
import { connectionReason } from '../trouble.ts'
import { type Answer, basePath, type Call, caller, exchange, isRefusedSignature } from './ask.ts'
import { type Finding, finding } from './finding.ts'
import { checkBaseUrl, keyFormProblem } from './forms.ts'
import { checkDns, checkTcp, checkTls } from './network.ts'

const SKEW_S_MAX = 60
const SKEW_S_NOTABLE = 5

/** Refused by every store for its timestamp. */
const LONG_AGO_S = 3_600

/** What every base URL ends in. */
const BASE_PATH = '/v1'
const REST = ['status', 'clock', 'signature', 'proxy', 'scopes', 'webhook', 'limits'] as const

/**
 * Runs every check in the order of their dependencies. Checks that cannot run after a failure are reported as
 * skipped. Nothing is spent or changed: see `probes`.
 */
export async function* examine(
  credentials: Credentials,
  { isReadOnly }: { isReadOnly: boolean },
): AsyncGenerator<Finding> {
  const form = checkBaseUrl(credentials.baseUrl, credentials.emulatorUrl !== undefined)
  yield form
  const problem = keyFormProblem(credentials.keyId, credentials.secret)
  const key = problem
    ? finding('key', 'failed', problem.problem, problem.fix)
    : finding('key', 'ok', `${credentials.keyId} from ${credentials.source}`)
  // The form of the key is checked even when the store cannot be reached.
  if (form.status === 'failed') {
    yield key
    return yield* skipped(['DNS', 'TCP', 'TLS', ...REST], 'without a base URL')
  }
  const url = new URL(credentials.baseUrl)

  for (const [check, later] of [
    [checkDns, ['TCP', 'TLS']],
    [checkTcp, ['TLS']],
  ] as const) {
    const result = await check(url)
    yield result
    if (result.status !== 'failed') continue
    yield key
    return yield* skipped([...later, ...REST], 'without a connection')
  }
  const tls = await checkTls(url)
  yield tls
  const status = await readStatus(url)
  yield status.finding
  if (status.dateMs === undefined) {
    yield key
    return yield* skipped(REST.slice(1), 'without an answer')
  }
  const ping = await caller(credentials, 0)('GET', '/ping')
  // A cache in front of the store may answer /status with its own Date; the relevant clock is the one that checks signatures.
  const clock = checkClock(dateOf(ping.headers) ?? status.dateMs)
  yield clock.finding

  yield key
  const call = caller(credentials, clock.offsetS)
  const signature = await checkSignature(credentials, call, clock.offsetS, problem?.cleaned)
  yield signature
  if (signature.status === 'failed') {
    return yield* skipped(['proxy', 'scopes', 'webhook', 'limits'], 'without a valid signature')
  }
  yield await checkUnchanged(call)

  const scopes = await readScopes(call, isReadOnly)
  yield scopes.finding
  yield scopes.webhook
  yield limits(scopes.last)
}

function* skipped(names: readonly string[], why: string): Generator<Finding> {
  for (const name of names) yield finding(name, 'skipped', why)
}

async function readStatus(url: URL): Promise<{ finding: Finding; dateMs?: number }> {
  const address = `${url.href.replace(/\/+$/, '')}/status`
  try {
    const answer = await exchange(address, { method: 'GET' })
    const dateMs = dateOf(answer.headers)
    const known = dateMs === undefined ? {} : { dateMs }
    const { status, api, store, queue } = answer.body
    if (answer.status >= 300 && answer.status < 400) {
      return {
        finding: finding(
          'status',
          'failed',
          `redirects to ${printable(answer.headers.get('location') ?? 'somewhere')}`,
          "Set the base URL to the store's own address; redirects are never followed.",
        ),
      }
    }
    if (answer.status === 429) {
      return {
        ...known,
        finding: finding('status', 'warning', 'too many requests from this address', 'Wait a minute.'),
      }
    }
    if (answer.status !== 200 || typeof status !== 'string') {
      return {
        finding: finding(
          'status',
          'failed',
          `answered ${answer.status}, but not like a store`,
          'Check that the base URL is that of a store.',
        ),
      }
    }
    const isOpen = api === 'up' && store === 'open'
    const words = `${status}, api ${api}, store ${store}, ${queue} waiting`
    return {
      ...known,
      finding: finding(
        'status',
        isOpen ? 'ok' : 'warning',
        words,
        isOpen ? undefined : 'Orders are not accepted now; reads work unless the api is unavailable.',
      ),
    }
  } catch (error) {
    return {
      finding: finding(
        'status',
        'failed',
        `no answer: ${connectionReason(error) ?? (error as Error).message}`,
        'Try again; if it persists, ask the store.',
      ),
    }
  }
}

/** The Date header has whole seconds, so half a second is added. */
function dateOf(headers: Headers): number | undefined {
  const ms = Date.parse(headers.get('date') ?? '')
  return Number.isNaN(ms) ? undefined : ms + 500
}

function checkClock(serverMs: number): { finding: Finding; offsetS: number } {
  const offsetS = Math.round((serverMs - Date.now()) / 1000)
  const off = Math.abs(offsetS)
  const words =
    off <= 1
      ? 'right'
      : `this machine is ${off} s ${offsetS < 0 ? 'ahead of' : 'behind'} the store, ${SKEW_S_MAX} are allowed`
  const fix =
    'Set the clock: `timedatectl set-ntp true`, on a Mac `sudo sntp -sS time.apple.com`; in a container, on its host.'
  if (off > SKEW_S_MAX - SKEW_S_NOTABLE) return { offsetS, finding: finding('clock', 'failed', words, fix) }
  return {
    offsetS: 0,
    finding: off > SKEW_S_NOTABLE ? finding('clock', 'warning', words, fix) : finding('clock', 'ok', words),
  }
}

async function checkSignature(
  credentials: Credentials,
  call: Call,
  offsetS: number,
  cleaned: { keyId: string; secret: string } | undefined,
): Promise<Finding> {
  const { status, type, body } = await call('GET', '/ping')
  if (status === 200)
    return finding('signature', 'ok', `accepted; the account is "${printable(String(body.name))}"`)
  if (type === 'insufficient_scope') return finding('signature', 'ok', 'accepted')
  if (type === 'account_suspended') {
    return finding('signature', 'failed', 'accepted, but the account is suspended', 'Ask the store.')
  }
  if (type === 'rate_limited')
    return finding('signature', 'ok', 'accepted; the requests of this minute are used up')
  if (type === 'timestamp_out_of_range')
    return finding('signature', 'failed', 'refused for its timestamp', 'Set the clock of this machine.')
  if (type !== 'authentication_failed') {
    return finding(
      'signature',
      'failed',
      `answered ${status}${type ? ` ${type}` : ', but not like a store'}`,
      'Check for a proxy that changes requests.',
    )
  }
  if (cleaned) {
    const again = await caller({ ...credentials, ...cleaned }, offsetS)('GET', '/ping')
    if (again.type !== 'authentication_failed') {
      return finding(
        'signature',
        'failed',
        'refused as configured, accepted when corrected as described above',
        'Correct the key.',
      )
    }
  }
  const changed = await findRewriting(credentials, offsetS)
  if (changed) return finding('signature', 'failed', changed.detail, changed.fix)
  return finding(
    'signature',
    'failed',
    'refused: the key id is unknown or revoked, the secret is not the one of this key, or something on the way changes requests',
    'Compare the key id with the one the store gave you, and try without any proxy between this machine and the store. Secrets are shown once: if it is still refused, ask the store for a new key.',
  )
}

/** Why a signature may be refused although the key is right: a proxy that drops headers or changes the path. */
async function findRewriting(
  credentials: Credentials,
  offsetS: number,
): Promise<{ detail: string; fix: string } | undefined> {
  const base = basePath(credentials)
  // The form of the headers and the timestamp are checked before the key, so an old request is refused for its time if its headers arrive.
  const old = await caller(credentials, offsetS - LONG_AGO_S)('GET', '/ping')
  if (old.type === 'authentication_failed') {
    return {
      detail: 'refused: one of the four X-Api headers does not arrive as it was sent',
      fix: 'A proxy between this machine and the store drops or changes headers. Have it pass X-Api-Key, X-Api-Timestamp, X-Api-Nonce and X-Api-Signature unchanged, or use the address of the store itself. The key may be right.',
    }
  }
  if (base === BASE_PATH) return undefined
  const unprefixed = await caller(credentials, offsetS, BASE_PATH)('GET', '/ping')
  if (isRefusedSignature(unprefixed)) return undefined
  const prefix = base.slice(0, -BASE_PATH.length)
  return {
    detail: `refused for ${base}, accepted when ${BASE_PATH} is signed: a proxy removes ${prefix} from the path`,
    fix: `The path that is signed must be the one that arrives. Use the address of the store itself, or have the proxy pass ${prefix}${BASE_PATH} unchanged. The key is right.`,
  }
}

/** Whether requests with a query and with a body arrive byte for byte. Sent as no program would normalise them; neither buys or changes anything. */
async function checkUnchanged(call: Call): Promise<Finding> {
  const parts = [
    ['query', await call('GET', '/catalogue?search=%61+%7eb%20c&limit=1')],
    ['body', await call('POST', '/quote', '{ "items" : [ ],\n\t"doctor":"\\u0041\u00e4" }\n')],
  ] as const
  const repeated = parts.find(([, { type }]) => type === 'nonce_reused')
  if (repeated) {
    return finding(
      'proxy',
      'failed',
      'a request was refused because it arrived twice',
      'A proxy or library on the way repeats requests. Turn that off: each copy of a signature is refused, and answers get lost.',
    )
  }
  const changed = parts.filter(([, answer]) => isRefusedSignature(answer)).map(([part]) => part)
  if (changed.length === 0) return finding('proxy', 'ok', 'path, query and body arrive as they were sent')
  return finding(
    'proxy',
    'failed',
    `a request with a ${changed[0]} is refused, one without is accepted: something on the way changes the ${changed.join(' and the ')}`,
    'A proxy between this machine and the store rewrites requests. Have it pass query and body byte for byte, or use the address of the store itself. The key is right.',
  )
}

/**
 * Sends one request per scope. The store checks scopes before bodies, so write scopes are checked with invalid
 * bodies: an order without items and key, and a test event with an unknown property. 400 means that the key has the
 * scope, 403 that it has not.
 */
const probes = [
  { scope: 'account:read', method: 'GET', path: '/balance', writes: false },
  { scope: 'catalogue:read', method: 'GET', path: '/catalogue?limit=1', writes: false },
  { scope: 'orders:read', method: 'GET', path: '/orders?limit=1', writes: false },
  { scope: 'orders:write', method: 'POST', path: '/orders', body: '{}', writes: true },
  { scope: 'webhooks:read', method: 'GET', path: '/webhook', writes: false },
  { scope: 'webhooks:write', method: 'POST', path: '/webhook/test', body: '{"doctor":true}', writes: true },
] as const

async function readScopes(call: Call, isReadOnly: boolean) {
  const has: string[] = []
  const lacks: string[] = []
  const unknown: string[] = []
  let webhook: Answer | undefined
  let last: Answer | undefined
  let refused: string | undefined
  for (const probe of probes) {
    if (isReadOnly && probe.writes) {
      unknown.push(probe.scope)
      continue
    }
    const answer = await call(probe.method, probe.path, 'body' in probe ? probe.body : '')
    last = answer
    if (probe.scope === 'webhooks:read' && answer.status === 200) webhook = answer
    if (answer.type === 'insufficient_scope') lacks.push(probe.scope)
    else if (answer.status === (probe.writes ? 400 : 200)) has.push(probe.scope)
    else {
      unknown.push(probe.scope)
      refused ??= answer.status === 401 ? `${probe.method} ${probe.path}` : undefined
    }
  }
  const words = [
    has.join(' ') || 'none',
    lacks.length > 0 && `not: ${lacks.join(' ')}`,
    unknown.length > 0 && `unknown: ${unknown.join(' ')}`,
  ].filter(Boolean)
  if (refused !== undefined) {
    const fix =
      'A proxy between this machine and the store changes some requests, or the key was revoked just now.'
    return {
      last,
      webhook: finding('webhook', 'skipped', 'unknown'),
      finding: finding('scopes', 'failed', `${refused} was answered 401, others are accepted`, fix),
    }
  }
  const isOdd = has.includes('webhooks:write') && lacks.includes('orders:read')
  return {
    last,
    webhook: webhookFinding(webhook, lacks.includes('webhooks:read')),
    finding: finding(
      'scopes',
      isOdd ? 'warning' : 'ok',
      words.join(' · '),
      isOdd ? 'Setting a webhook URL also needs orders:read.' : undefined,
    ),
  }
}

function webhookFinding(answer: Answer | undefined, isForbidden: boolean): Finding {
  if (!answer) return finding('webhook', 'skipped', isForbidden ? 'the key lacks webhooks:read' : 'unknown')
  const { webhook_url, pending, failed, last_error } = answer.body
  if (webhook_url === null) return finding('webhook', 'info', 'no endpoint is set')
  const words = `${printable(String(webhook_url))}, ${pending} waiting, ${failed} given up`
  const isBad = Number(failed) > 0 || (last_error !== null && Number(pending) > 0)
  return isBad
    ? finding(
        'webhook',
        'warning',
        `${words}, last error ${printable(String(last_error ?? 'none'))}`,
        'Try it: shopwire webhook test, then shopwire webhook.',
      )
    : finding('webhook', 'ok', words)
}

function limits(last: Answer | undefined): Finding {
  const header = last?.headers.get('ratelimit') ?? ''
  const left = Object.fromEntries(
    [...header.matchAll(/"(\w+)";r=(\d+)/g)].map(([, name, r]) => [name, Number(r)]),
  )
  if (left.req === undefined) return finding('limits', 'skipped', 'the store does not say')
  const words = `${left.req} requests and ${left.orders ?? '?'} orders left in this minute`
  return left.req < 20
    ? finding(
        'limits',
        'warning',
        words,
        'One of your programs sends many requests; all keys of the account count together.',
      )
    : finding('limits', 'ok', words)
}
