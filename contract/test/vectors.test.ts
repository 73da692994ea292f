import { execFileSync, spawnSync } from 'node:child_process'
import { createSecretKey } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  canonicalRequest,
  SIGNATURE_FORM,
  signatureMatches,
  signRequest,
  signWebhook,
  verifyWebhook,
  webhookSignatureMatches,
} from '../src/signing/index.ts'

type Body = { body_utf8?: string; body_hex?: string }

type RequestCase = Body & {
  name: string
  valid: boolean
  mistake?: string
  secret: string
  method: string
  target: string
  timestamp: string
  nonce: string
  body_sha256: string
  canonical: string
  signature: string
  presented: string
}

type WebhookCase = Body & {
  name: string
  valid: boolean
  reason?: string
  mistake?: string
  secret: string
  timestamp: string
  id: string
  signature: string
  receiver: { secrets: string[]; now_s: number; headers: Record<string, string> }
}

const folder = join(import.meta.dirname, '../vectors')
const requests = readCases<RequestCase>('request-signing.json')
const webhooks = readCases<WebhookCase>('webhook-signing.json')

describe.each(requests)('request vector $name', (one) => {
  const parts = { ...one, body: bytes(one) }

  test('the canonical text and the signature are those of openssl', () => {
    expect(canonicalRequest(parts)).toBe(one.canonical)
    expect(one.canonical.endsWith(one.body_sha256)).toBe(true)
    expect(signRequest(one.secret, parts)).toBe(one.signature)
  })

  test(`the presented signature is ${one.valid ? 'accepted' : 'refused'}, by secret and by prepared key`, () => {
    expect(signatureMatches(one.secret, parts, one.presented)).toBe(one.valid)
    expect(signatureMatches(createSecretKey(one.secret, 'utf8'), parts, one.presented)).toBe(one.valid)
  })
})

describe.each(webhooks)('webhook vector $name', (one) => {
  const parts = { ...one, body: bytes(one) }
  const { secrets, now_s, headers } = one.receiver

  test('the signature is those of openssl', () => {
    expect(signWebhook(one.secret, parts)).toBe(one.signature)
    expect(webhookSignatureMatches(one.secret, parts, one.signature)).toBe(true)
  })

  test(`a receiver ${one.valid ? 'accepts' : 'refuses'} the event`, () => {
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    const verdict = verifyWebhook({ secrets, headers: lower, body: parts.body, nowS: now_s })
    expect(verdict).toEqual(one.valid ? { ok: true } : { ok: false, reason: one.reason })
  })
})

test('there are enough vectors of both kinds, and no two share a name', () => {
  for (const [cases, least] of [
    [requests, 45],
    [webhooks, 24],
  ] as const) {
    expect(cases.length).toBeGreaterThanOrEqual(least)
    expect(cases.some((one) => one.valid) && cases.some((one) => !one.valid)).toBe(true)
    expect(new Set(cases.map((one) => one.name)).size).toBe(cases.length)
  }
})

test('every refused vector describes its mistake, and every accepted one has a right signature', () => {
  for (const one of [...requests, ...webhooks]) {
    expect(one.mistake !== undefined, one.name).toBe(!one.valid)
    expect(one.signature, one.name).toMatch(SIGNATURE_FORM)
  }
  for (const one of requests) expect(one.presented === one.signature, one.name).toBe(one.valid)
})

test('the files hold nothing but ASCII', () => {
  for (const file of ['request-signing.json', 'webhook-signing.json']) {
    expect(
      readFileSync(join(folder, file)).every((byte) => byte < 0x7f),
      file,
    ).toBe(true)
  }
})

const hasOpenssl = spawnSync('openssl', ['version']).status === 0

test.skipIf(!hasOpenssl)('make.sh reproduces the files byte for byte', { timeout: 60_000 }, () => {
  const out = mkdtempSync(join(tmpdir(), 'vectors-'))
  try {
    execFileSync(join(folder, 'make.sh'), [out])
    for (const file of ['request-signing.json', 'webhook-signing.json']) {
      expect(readFileSync(join(out, file), 'utf8') === readFileSync(join(folder, file), 'utf8'), file).toBe(
        true,
      )
    }
  } finally {
    rmSync(out, { recursive: true })
  }
})

function readCases<Case>(file: string): Case[] {
  return JSON.parse(readFileSync(join(folder, file), 'utf8')).cases
}

function bytes({ body_utf8, body_hex }: Body): Uint8Array {
  return body_hex === undefined ? Buffer.from(body_utf8 ?? '', 'utf8') : Buffer.from(body_hex, 'hex')
}
