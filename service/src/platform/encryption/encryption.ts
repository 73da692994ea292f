import { createCipheriv, createDecipheriv, createSecretKey, type KeyObject, randomBytes } from 'node:crypto'
import { assert } from '../trouble.ts'

/**
 * Envelope encryption. Each value has its own data key; the data key is wrapped by a key-encryption key (KEK) that is stored
 * outside the database. Both layers are bound to the row of the value, so a ciphertext moved to another row does not open.
 * A change of the KEK gives every value a new data key too: somebody who had the old KEK may have the old data keys.
 */
export interface Keyring {
  readonly activeKekId: string
  /** All configured ones, including the active one. */
  readonly kekIds: readonly string[]
  /** Under the active KEK unless another one is given. */
  seal(plain: string, boundTo: RowBinding, kekId?: string): Promise<Sealed>
  open(sealed: Uint8Array, boundTo: RowBinding): Promise<string>
}

export interface Sealed {
  readonly bytes: Buffer
  readonly kek_id: string
}

/** The one place where a sealed value may be opened. */
export interface RowBinding {
  readonly column: string
  readonly account_id: string
  readonly row_id: string
}

/** The key-encryption keys that this process holds. They wrap and unwrap data keys. */
export interface Keks {
  readonly activeId: string
  readonly ids: readonly string[]
  wrap(kekId: string, dataKey: Buffer, context: Buffer): Promise<Buffer>
  unwrap(kekId: string, wrapped: Buffer, context: Buffer): Promise<Buffer>
}

/** The key configured under a known id is not the one this database was used with. Names the id, never the key. */
export class WrongEncryptionKey extends Error {
  override readonly name = 'WrongEncryptionKey'
  readonly kek_id: string

  constructor(kek_id: string) {
    super(
      `The encryption key "${kek_id}" in SHOPWIRE_ENCRYPTION_KEYS does not match the key this database was used with under that id: ` +
        'values sealed under it cannot be opened. Nothing was changed. Put the right key back, or check that ' +
        'SHOPWIRE_DATABASE_URL points to the right database. If it is a new key, give it a new id.',
    )
    this.kek_id = kek_id
  }
}

/** The key of a sealed value is not configured. The value itself may be intact. */
export class KekMissing extends Error {
  override readonly name = 'KekMissing'
  readonly kekId: string
  constructor(kekId: string) {
    super(
      `A value is sealed under encryption key "${kekId}", which is not configured. ` +
        'Put it back into SHOPWIRE_ENCRYPTION_KEYS until "shopwire-admin encryption re-encrypt" has finished.',
    )
    this.kekId = kekId
  }
}

/** A provider did not return a key. The message says why and what to do; it never contains keys or credentials. */
export class KekNotObtained extends Error {
  override readonly name = 'KekNotObtained'
  readonly kek_id: string
  readonly why: string
  /** The next start may succeed: the provider did not answer. */
  readonly mayPass: boolean

  constructor(kek_id: string, why: string, mayPass = false) {
    super(`The encryption key "${kek_id}" of SHOPWIRE_ENCRYPTION_KEYS cannot be used: ${why}`)
    this.kek_id = kek_id
    this.why = why
    this.mayPass = mayPass
  }
}

const FORMAT = 1
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

export function openKeyring(keks: Keks): Keyring {
  async function wrapped(dataKey: Buffer, body: Buffer, context: Buffer, kek_id: string): Promise<Sealed> {
    const key = await keks.wrap(kek_id, dataKey, context)
    const head = Buffer.from([FORMAT, kek_id.length])
    const keyLength = Buffer.alloc(2)
    keyLength.writeUInt16BE(key.length)
    return { bytes: Buffer.concat([head, Buffer.from(kek_id, 'ascii'), keyLength, key, body]), kek_id }
  }
  return {
    activeKekId: keks.activeId,
    kekIds: keks.ids,
    async seal(plain, boundTo, kekId = keks.activeId) {
      const context = contextBytes(boundTo)
      const dataKey = randomBytes(KEY_BYTES)
      const body = encrypt(createSecretKey(dataKey), Buffer.from(plain, 'utf8'), context)
      return wrapped(dataKey, body, context, kekId)
    },
    async open(sealed, boundTo) {
      const context = contextBytes(boundTo)
      const { kekId, key, body } = split(sealed)
      const dataKey = await keks.unwrap(kekId, key, context)
      return decrypt(createSecretKey(dataKey), body, context).toString('utf8')
    },
  }
}

/** Requests a key from a provider when it is first needed. */
export type AskForKek = () => Promise<Buffer>

/**
 * The active key seals new values; all keys open existing ones. A provider is called once for each key: after that no key or value
 * leaves the process.
 */
export function localKeks(keks: ReadonlyMap<string, Buffer | AskForKek>, activeId: string): Keks {
  const held = new Map<string, KeyObject | Promise<KeyObject>>()
  const hold = (id: string) => {
    const source = keks.get(id)
    if (!source) throw new KekMissing(id)
    if (typeof source !== 'function') return createSecretKey(source)
    return source().then(
      (bytes) => {
        const key = createSecretKey(bytes)
        bytes.fill(0)
        held.set(id, key)
        return key
      },
      (error: unknown) => {
        held.delete(id)
        throw error
      },
    )
  }
  const kek = (id: string) => {
    const key = held.get(id) ?? hold(id)
    held.set(id, key)
    return key
  }
  if (!keks.has(activeId)) throw new KekMissing(activeId)
  return {
    activeId,
    ids: [...keks.keys()],
    wrap: async (kekId, dataKey, context) => encrypt(await kek(kekId), dataKey, context),
    unwrap: async (kekId, wrapped, context) => decrypt(await kek(kekId), wrapped, context),
  }
}

function contextBytes({ column, account_id, row_id }: RowBinding): Buffer {
  // JSON separates the parts, so that no two bindings give the same bytes.
  return Buffer.from(JSON.stringify([column, account_id, row_id]))
}

/** Keys are KeyObjects: passing raw bytes costs five times as much as the encryption itself. */
function encrypt(key: KeyObject, plain: Buffer, context: Buffer): Buffer {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(context)
  const body = Buffer.concat([cipher.update(plain), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), body])
}

function decrypt(key: KeyObject, box: Buffer, context: Buffer): Buffer {
  assert(box.length >= NONCE_BYTES + TAG_BYTES, 'sealed value is truncated')
  const decipher = createDecipheriv('aes-256-gcm', key, box.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  })
  decipher.setAAD(context)
  decipher.setAuthTag(box.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  return Buffer.concat([decipher.update(box.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()])
}

function split(sealed: Uint8Array): { kekId: string; key: Buffer; body: Buffer } {
  const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
  assert(bytes[0] === FORMAT, 'sealed value has an unknown format')
  const idEnd = 2 + bytes.readUInt8(1)
  const keyEnd = idEnd + 2 + bytes.readUInt16BE(idEnd)
  return {
    kekId: bytes.toString('ascii', 2, idEnd),
    key: bytes.subarray(idEnd + 2, keyEnd),
    body: bytes.subarray(keyEnd),
  }
}
