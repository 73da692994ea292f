import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'

/** A passkey in memory, as a browser would answer with it: real signatures, no attestation. */
export interface TestAuthenticator {
  create(options: CreationOptions, origin: string): object
  get(options: RequestOptions, origin: string): object
  /** Presence without a fingerprint or PIN, as an old security key reports it. */
  isUserVerified: boolean
}

interface CreationOptions {
  readonly challenge: string
  readonly rp: { readonly id?: string }
}
interface RequestOptions {
  readonly challenge: string
  readonly rpId?: string
}

const PRESENT = 0x01
const VERIFIED = 0x04
const HAS_CREDENTIAL = 0x40

export function createAuthenticator(): TestAuthenticator {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(16)
  let counter = 0
  const self: TestAuthenticator = {
    isUserVerified: true,
    create(options, origin) {
      const flags = PRESENT | HAS_CREDENTIAL | (self.isUserVerified ? VERIFIED : 0)
      const idLength = Buffer.alloc(2)
      idLength.writeUInt16BE(id.length)
      const data = Buffer.concat([
        head(options.rp.id ?? '', flags, counter),
        Buffer.alloc(16),
        idLength,
        id,
        coseKey(publicKey),
      ])
      const attestation = Buffer.concat([
        Buffer.from([0xa3]),
        cborText('fmt'),
        cborText('none'),
        cborText('attStmt'),
        Buffer.from([0xa0]),
        cborText('authData'),
        cborBytes(data),
      ])
      return {
        id: id.toString('base64url'),
        rawId: id.toString('base64url'),
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: clientData('webauthn.create', options.challenge, origin).toString('base64url'),
          attestationObject: attestation.toString('base64url'),
          transports: ['internal'],
        },
      }
    },
    get(options, origin) {
      counter += 1
      const data = head(options.rpId ?? '', PRESENT | (self.isUserVerified ? VERIFIED : 0), counter)
      const client = clientData('webauthn.get', options.challenge, origin)
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
      return {
        id: id.toString('base64url'),
        rawId: id.toString('base64url'),
        type: 'public-key',
        clientExtensionResults: {},
        response: {
          clientDataJSON: client.toString('base64url'),
          authenticatorData: data.toString('base64url'),
          signature: sign('sha256', signed, privateKey).toString('base64url'),
        },
      }
    },
  }
  return self
}

function head(rpId: string, flags: number, counter: number): Buffer {
  const rest = Buffer.alloc(5)
  rest.writeUInt8(flags)
  rest.writeUInt32BE(counter, 1)
  return Buffer.concat([createHash('sha256').update(rpId).digest(), rest])
}

function clientData(type: string, challenge: string, origin: string): Buffer {
  return Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
}

/** kty EC2, alg ES256, curve P-256, x, y. */
function coseKey(key: KeyObject): Buffer {
  const { x = '', y = '' } = key.export({ format: 'jwk' })
  return Buffer.concat([
    Buffer.from([0xa5, 0x01, 0x02, 0x03, 0x26, 0x20, 0x01, 0x21]),
    cborBytes(Buffer.from(x, 'base64url')),
    Buffer.from([0x22]),
    cborBytes(Buffer.from(y, 'base64url')),
  ])
}

const cborText = (text: string) => Buffer.concat([Buffer.from([0x60 | text.length]), Buffer.from(text)])

function cborBytes(bytes: Buffer): Buffer {
  if (bytes.length < 24) return Buffer.concat([Buffer.from([0x40 | bytes.length]), bytes])
  if (bytes.length < 256) return Buffer.concat([Buffer.from([0x58, bytes.length]), bytes])
  const head = Buffer.from([0x59, 0, 0])
  head.writeUInt16BE(bytes.length, 1)
  return Buffer.concat([head, bytes])
}
