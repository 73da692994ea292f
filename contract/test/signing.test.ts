import { createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  canonicalRequest,
  type RequestParts,
  signatureMatches,
  signRequest,
  signWebhook,
  verifyWebhook,
  type WebhookParts,
  webhookSignatureMatches,
} from '../src/signing/index.ts'

const secret = 'a-secret-for-tests'
const request: RequestParts = {
  ...{ method: 'POST', target: '/v1/orders?a=1', timestamp: '1794700000', nonce: 'ab'.repeat(16) },
  body: Buffer.from('{"items":[]}'),
}
const event: WebhookParts = {
  ...{ timestamp: '1794700000', id: 'evt_01k9zq3v7m8n4p2r6s0t5w1x9y', body: Buffer.from('{"event":"test"}') },
}

const hex = (minLength: number, maxLength: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength, maxLength })
const secrets = fc.string({ unit: 'binary', minLength: 1 })
const requests: fc.Arbitrary<RequestParts> = fc.record({
  method: fc.constantFrom('GET', 'POST', 'DELETE'),
  target: fc.webPath({ size: 'small' }).map((path) => `/v1${path}`),
  timestamp: fc.integer({ min: 1_000_000_000, max: 9_999_999_999 }).map(String),
  nonce: hex(32, 64),
  body: fc.uint8Array({ maxLength: 200 }),
})

describe('a request', () => {
  test('signed with a secret is accepted with that secret, as text or as a prepared key', () => {
    fc.assert(
      fc.property(secrets, requests, (key, parts) => {
        const signature = signRequest(key, parts)
        expect(signature).toMatch(/^[0-9a-f]{64}$/)
        expect(signatureMatches(key, parts, signature)).toBe(true)
        expect(signatureMatches(createSecretKey(key, 'utf8'), parts, signature)).toBe(true)
      }),
    )
  })

  test('with one byte changed in any part is refused', () => {
    const text = fc.constantFrom('method', 'target', 'timestamp', 'nonce')
    fc.assert(
      fc.property(requests, text, fc.nat(), fc.integer({ min: 1, max: 127 }), (parts, part, place, bits) => {
        const changed = { ...parts, [part]: flipCharacter(parts[part], place, bits) }
        // Only a method in another case is the same request.
        fc.pre(changed.method.toUpperCase() !== parts.method || part !== 'method')
        expect(signatureMatches(secret, changed, signRequest(secret, parts))).toBe(false)
      }),
    )
  })

  test('with one bit changed in its body is refused', () => {
    fc.assert(
      fc.property(
        requests,
        fc.uint8Array({ minLength: 1, maxLength: 200 }),
        fc.nat(),
        (parts, body, place) => {
          const signature = signRequest(secret, { ...parts, body })
          expect(signatureMatches(secret, { ...parts, body: flipBit(body, place) }, signature)).toBe(false)
        },
      ),
    )
  })

  test('with a byte more or less in its body is refused', () => {
    const signature = signRequest(secret, request)
    const longer = Buffer.concat([request.body, Buffer.from([0])])
    expect(signatureMatches(secret, { ...request, body: longer }, signature)).toBe(false)
    expect(signatureMatches(secret, { ...request, body: request.body.subarray(1) }, signature)).toBe(false)
  })

  test('is refused under every other secret', () => {
    fc.assert(
      fc.property(secrets, secrets, (one, other) => {
        // HMAC pads a short key with zero bytes, so secrets that differ only in trailing zero bytes are the same key.
        const key = (text: string) =>
          Buffer.from(text)
            .toString('hex')
            .replace(/(00)+$/, '')
        fc.pre(key(one) !== key(other))
        expect(signatureMatches(other, request, signRequest(one, request))).toBe(false)
      }),
    )
  })

  test('with one changed digit in its signature is refused', () => {
    const signature = signRequest(secret, request)
    for (let place = 0; place < 64; place++) {
      const digit = signature[place] === '0' ? '1' : '0'
      const changed = signature.slice(0, place) + digit + signature.slice(place + 1)
      expect(signatureMatches(secret, request, changed)).toBe(false)
    }
  })

  test('never throws, whatever is presented as its signature', () => {
    const anything = fc.oneof(fc.string({ unit: 'binary' }), hex(0, 130), fc.base64String(), fc.anything())
    fc.assert(
      fc.property(anything, (presented) => {
        expect(signatureMatches(secret, request, presented)).toBe(false)
        expect(webhookSignatureMatches(secret, event, presented)).toBe(false)
      }),
    )
  })

  test('never throws, whatever text its parts contain', () => {
    const text = fc.string({ unit: 'binary' })
    fc.assert(
      fc.property(text, text, text, text, (method, target, timestamp, nonce) => {
        const parts = { method, target, timestamp, nonce, body: request.body }
        expect(signatureMatches(secret, parts, '0'.repeat(64))).toBe(false)
      }),
    )
  })

  test('with a signature in upper-case hex is refused', () => {
    expect(signatureMatches(secret, request, signRequest(secret, request).toUpperCase())).toBe(false)
  })

  test('without a signature is refused', () => {
    for (const nothing of [undefined, null, '', []])
      expect(signatureMatches(secret, request, nothing)).toBe(false)
  })

  test('is signed under its method in upper case, however the caller spells it', () => {
    expect(canonicalRequest({ ...request, method: 'post' })).toBe(canonicalRequest(request))
  })

  test('has five lines and no more', () => {
    fc.assert(fc.property(requests, (parts) => canonicalRequest(parts).split('\n').length === 5))
  })

  test('is signed from the bytes of a view, not from its whole buffer', () => {
    const memory = Buffer.from('xx{}xx')
    const view = new Uint8Array(memory.buffer, memory.byteOffset + 2, 2)
    const plain = signRequest(secret, { ...request, body: Buffer.from('{}') })
    expect(signRequest(secret, { ...request, body: view })).toBe(plain)
  })
})

describe('an event', () => {
  test('with one bit changed in its body is refused', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 200 }), fc.nat(), (body, place) => {
        const signature = signWebhook(secret, { ...event, body })
        expect(webhookSignatureMatches(secret, { ...event, body }, signature)).toBe(true)
        expect(webhookSignatureMatches(secret, { ...event, body: flipBit(body, place) }, signature)).toBe(
          false,
        )
      }),
    )
  })

  test('with a changed id or timestamp is refused', () => {
    const signature = signWebhook(secret, event)
    const part = fc.constantFrom('id', 'timestamp')
    fc.assert(
      fc.property(part, fc.nat(), fc.integer({ min: 1, max: 127 }), (name, place, bits) => {
        const changed = { ...event, [name]: flipCharacter(event[name], place, bits) }
        expect(webhookSignatureMatches(secret, changed, signature)).toBe(false)
      }),
    )
  })

  test('never throws, whatever its headers contain', () => {
    const value = fc.option(fc.oneof(fc.string(), hex(64, 64), fc.array(fc.string())), { nil: undefined })
    const names = ['timestamp', 'id', 'signature', 'signature-previous'].map((name) => `x-webhook-${name}`)
    const headers = fc.record(Object.fromEntries(names.map((name) => [name, value])))
    fc.assert(
      fc.property(headers, fc.array(fc.string()), fc.double(), (given, held, nowS) => {
        expect(verifyWebhook({ secrets: held, headers: given, body: event.body, nowS }).ok).toBe(false)
      }),
    )
  })

  test('is refused by a receiver whose clock is not a number', () => {
    const headers = {
      ...{ 'x-webhook-timestamp': event.timestamp, 'x-webhook-id': event.id },
      'x-webhook-signature': signWebhook(secret, event),
    }
    const verdict = verifyWebhook({ secrets: [secret], headers, body: event.body, nowS: Number.NaN })
    expect(verdict).toEqual({ ok: false, reason: 'stale' })
  })

  test('is refused by a receiver without secrets', () => {
    const headers = {
      ...{ 'x-webhook-timestamp': event.timestamp, 'x-webhook-id': event.id },
      'x-webhook-signature': signWebhook('', event),
    }
    for (const held of [[], ['']]) {
      const verdict = verifyWebhook({ secrets: held, headers, body: event.body, nowS: 1_794_700_000 })
      expect(verdict).toEqual({ ok: false, reason: 'no_match' })
    }
  })
})

function flipCharacter(text: string, place: number, bits: number): string {
  const at = place % text.length
  return text.slice(0, at) + String.fromCharCode(text.charCodeAt(at) ^ bits) + text.slice(at + 1)
}

function flipBit(body: Uint8Array, place: number): Uint8Array {
  const changed = Uint8Array.from(body)
  const at = place % body.length
  changed[at] = (changed[at] ?? 0) ^ (1 << (place % 8))
  return changed
}
