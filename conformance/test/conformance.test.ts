import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { lacking } from '../fixtures.ts'
import { checks, groups } from '../groups/index.ts'
import { asHtml, asJunit, asText } from '../report.ts'
import { canonical, sha256, signRequest, webhookFault } from '../signer.ts'

interface Sentence {
  readonly id: string
  readonly section: string
  readonly says: string
  readonly not_checkable?: string
}
const CHECKS_MIN = 250
const sentences = read<Sentence[]>('../sentences.json')

describe('the signer of the kit, which imports nothing of ours, computes the vectors', () => {
  const { cases } = read<{ cases: RequestVector[] }>('../../contract/vectors/request-signing.json')
  test.each(cases.map((one) => [one.name, one] as const))('request %s', (_name, one) => {
    const body =
      one.body_hex === undefined ? Buffer.from(one.body_utf8 ?? '') : Buffer.from(one.body_hex, 'hex')
    const parts = { ...one, body }
    expect(sha256(body)).toBe(one.body_sha256)
    expect(canonical(parts)).toBe(one.canonical)
    expect(signRequest(one.secret, parts)).toBe(one.signature)
    expect(one.signature === one.presented).toBe(one.valid)
  })

  const webhooks = read<{ cases: WebhookVector[] }>('../../contract/vectors/webhook-signing.json').cases
  test.each(webhooks.map((one) => [one.name, one] as const))('event %s', (_name, one) => {
    const body =
      one.body_hex === undefined ? Buffer.from(one.body_utf8 ?? '') : Buffer.from(one.body_hex, 'hex')
    const header = (name: string) => one.receiver.headers[name]
    const isAccepted = one.receiver.secrets.some((secret) =>
      [
        'X-Webhook-Signature',
        ...(header('X-Webhook-Signature') ? ['X-Webhook-Signature-Previous'] : []),
      ].some(
        (name) =>
          webhookFault(
            secret,
            {
              timestamp: header('X-Webhook-Timestamp'),
              id: header('X-Webhook-Id'),
              signature: header(name),
              body,
            },
            one.receiver.now_s,
          ) === undefined,
      ),
    )
    expect(isAccepted).toBe(one.valid)
  })
})

describe('every sentence of the interface is covered by a check or marked as not checkable', () => {
  const proven = new Set(checks.flatMap(({ proves }) => proves))
  test.each(sentences.map(({ id }) => id))('%s', (id) => {
    const { not_checkable } = sentences.find((one) => one.id === id) ?? {}
    expect(proven.has(id) !== (not_checkable !== undefined)).toBe(true)
  })

  test('no sentence is listed twice', () => {
    expect(new Set(sentences.map(({ id }) => id)).size).toBe(sentences.length)
  })

  test('every check names at least one sentence, and only existing ones', () => {
    const known = new Set(sentences.map(({ id }) => id))
    const strangers = checks.flatMap(({ id, proves }) =>
      proves.length === 0 ? [id] : proves.filter((one) => !known.has(one)).map((one) => `${id}: ${one}`),
    )
    expect(strangers).toEqual([])
  })
})

describe('the checks themselves', () => {
  test(`there are at least ${CHECKS_MIN}, each with a unique name`, () => {
    expect(checks.length).toBeGreaterThanOrEqual(CHECKS_MIN)
    expect(new Set(checks.map(({ id }) => id)).size).toBe(checks.length)
  })

  test('a check that spends money, changes the endpoint or uses up limits runs only when allowed', () => {
    const fixtures = { buyers: [{ id: 'a', secret: 'b', account: 'c' }] }
    const nothing = { spend: false, webhooks: false, limits: false }
    const runs = checks.filter(({ needs }) => lacking(fixtures, nothing, needs) === undefined)
    expect(
      runs.filter(({ group }) =>
        ['orders', 'links', 'rate-limits', 'events', 'webhook-configuration'].includes(group),
      ),
    ).toEqual([])
    expect(runs.length).toBeGreaterThan(200)
  })
})

describe('reports', () => {
  const [check] = checks
  if (!check) throw new Error('no check')
  const message = 'expected "a" <b>; got & \u0001'
  const section = {
    name: 'somewhere',
    seconds: 1,
    outcomes: [
      { check, result: 'failed' as const, ms: 5, message },
      { check, result: 'skipped' as const, ms: 0, message: 'needs a receiver' },
      { check, result: 'passed' as const, ms: 1, message: '' },
    ],
  }

  test('the text report lists failed and skipped checks', () => {
    const text = asText(section, groups)
    expect(text).toContain(message)
    expect(text).toContain('SKIPPED 1 checks: needs a receiver')
    expect(text).toContain('3 checks: 1 passed, 1 failed, 1 skipped')
  })

  test('JUnit and HTML reports contain the message, escaped', () => {
    for (const report of [asJunit([section], groups), asHtml([section], groups)]) {
      expect(report).toContain('expected &quot;a&quot; &lt;b&gt;; got &amp; \ufffd')
      expect(report).not.toContain('\u0001')
    }
    expect(asJunit([section], groups)).toContain('tests="3" failures="1" skipped="1"')
  })
})

interface RequestVector {
  readonly name: string
  readonly valid: boolean
  readonly secret: string
  readonly method: string
  readonly target: string
  readonly timestamp: string
  readonly nonce: string
  readonly body_utf8?: string
  readonly body_hex?: string
  readonly body_sha256: string
  readonly canonical: string
  readonly signature: string
  readonly presented: string
}

interface WebhookVector {
  readonly name: string
  readonly valid: boolean
  readonly body_utf8?: string
  readonly body_hex?: string
  readonly receiver: {
    readonly secrets: readonly string[]
    readonly now_s: number
    readonly headers: Readonly<Record<string, string>>
  }
}

function read<Content>(path: string): Content {
  return JSON.parse(readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8'))
}
