import { randomBytes } from 'node:crypto'
import { chmod, chown, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KmsServer, startKms } from '@shopwire/test-kit/receivers/kms'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openWithKms } from '../../../src/platform/encryption/aws-kms.ts'
import { type KekNotObtained, localKeks, openKeyring } from '../../../src/platform/encryption/encryption.ts'
import {
  askForKeks,
  createKek,
  type KekEntry,
  parseKekEntry,
} from '../../../src/platform/encryption/kek-providers.ts'

const row = { column: 'api_keys.secret', account_id: 'acct_1', row_id: 'key_1' }
const SHORT = { callMsMax: 5_000, attemptMsMax: 100, attemptsMax: 2 }

let folder: string
let kms: KmsServer
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shopwire-keks-'))
  kms = await startKms()
})
afterAll(async () => {
  await rm(folder, { recursive: true })
  await kms.close()
})
beforeEach(() => {
  for (const [name, value] of Object.entries(kms.settings)) vi.stubEnv(name, value)
})
afterEach(() => {
  vi.unstubAllEnvs()
  kms.misbehave(undefined)
})

const entryOf = (text: string) => parseKekEntry(text) as KekEntry
const ringOf = (...texts: string[]) => {
  const entries = new Map(texts.map((text) => [entryOf(text).id, entryOf(text)]))
  return openKeyring(localKeks(askForKeks(entries), entryOf(texts[0] as string).id))
}
const why = (text: string) =>
  ringOf(text)
    .seal('x', row)
    .then(
      () => 'it was usable',
      (error: KekNotObtained) => error.message,
    )

test('a key of each provider opens what it sealed, in another process too, and no other key does', async () => {
  const arn = kms.createKey('shopwire')
  const entries = [
    await createKek('a', 'setting'),
    await createKek('b', 'file', join(folder, 'b')),
    await createKek('c', 'aws-kms', 'alias/shopwire'),
  ]
  expect(entries[1]).toBe(`b:file:${join(folder, 'b')}`)
  expect((await stat(join(folder, 'b'))).mode & 0o777).toBe(0o600)
  expect(entries[2]).toMatch(new RegExp(`^c:aws-kms:${arn}:[A-Za-z0-9+/]+=*$`))
  for (const id of ['a', 'b', 'c']) {
    const { bytes, kek_id } = await ringOf(...entries).seal('secret', row, id)
    expect(kek_id).toBe(id)
    expect(await ringOf(...entries).open(bytes, row)).toBe('secret')
    const others = entries.filter((entry) => !entry.startsWith(`${id}:`))
    await expect(ringOf(...others).open(bytes, row)).rejects.toThrow(`"${id}", which is not configured`)
  }
})

test('AWS KMS is asked once for a process, however many values are sealed at the same time', async () => {
  kms.createKey('once')
  const ring = ringOf(await createKek('k1', 'aws-kms', 'alias/once'))
  const before = kms.asked.length
  const sealed = await Promise.all(Array.from({ length: 50 }, () => ring.seal('secret', row)))
  for (const { bytes } of sealed) expect(await ring.open(bytes, row)).toBe('secret')
  expect(kms.asked.slice(before)).toEqual([{ operation: 'Decrypt', context: { 'shopwire-key': 'k1' } }])
})

test('a provider that failed is asked again, and then the key is used', async () => {
  kms.createKey('later')
  const ring = ringOf(await createKek('k1', 'aws-kms', 'alias/later'))
  kms.misbehave({ error: 'AccessDeniedException' })
  await expect(ring.seal('secret', row)).rejects.toThrow('AccessDeniedException')
  kms.misbehave(undefined)
  expect((await ring.seal('secret', row)).kek_id).toBe('k1')
})

test('a key of AWS KMS does not open under another id, another KMS key or as damaged ciphertext, and the message says which', async () => {
  const other = kms.createKey()
  kms.createKey('mine')
  const entry = await createKek('k1', 'aws-kms', 'alias/mine')
  expect(await why(entry)).toBe('it was usable')
  expect(await why(entry.replace(/^k1/, 'k2'))).toMatch(/"k2" .*made under another id than "k2"/)
  expect(await why(entry.replace(/arn:[^/]*\/[^:]+/, other))).toMatch(
    /another KMS key than arn:aws:kms:eu-west-1/,
  )
  expect(await why(entry.replace(/arn:([^/]*)\/[^:]+/, 'arn:$1/gone'))).toMatch(
    /has no key arn.*NotFoundException/,
  )
  const [text, blob = ''] = [entry.slice(0, entry.lastIndexOf(':')), entry.slice(entry.lastIndexOf(':') + 1)]
  const bytes = Buffer.from(blob, 'base64')
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1
  expect(await why(`${text}:${bytes.toString('base64')}`)).toContain('its ciphertext is damaged')
})

test.each([
  ['AccessDeniedException', /Allow kms:Decrypt on arn:\S+ with the encryption context shopwire-key=k1/],
  ['DisabledException', /is disabled. Enable it/],
  ['KMSInvalidStateException', /pending deletion/],
  ['InvalidSignatureException', /refused the credentials of this process/],
])(
  '%s of AWS KMS: the message says what to do, and passes nothing on that AWS wrote',
  async (error, expected) => {
    kms.createKey('fails')
    const entry = await createKek('k1', 'aws-kms', 'alias/fails')
    kms.misbehave({ error })
    const message = await why(entry)
    expect(message).toMatch(expected)
    expect(message).toContain('The encryption key "k1" of SHOPWIRE_ENCRYPTION_KEYS cannot be used')
    for (const secret of kms.secrets) expect(message).not.toContain(secret)
  },
)

test.each([
  ['throttles', { error: 'ThrottlingException' }, /2 attempts \(ThrottlingException, Decrypt\)/],
  ['does not answer', { hangs: true }, /2 attempts \(TimeoutError, Decrypt\)/],
  ['fails', { status: 500 }, /2 attempts \(\w+, Decrypt\)/],
] as const)(
  'AWS KMS %s: asked a limited number of times, then the next start may succeed',
  async (_, fault, expected) => {
    kms.createKey('slow')
    const [, , ...value] = (await createKek('k1', 'aws-kms', 'alias/slow')).split(':')
    const arn = value.slice(0, -1).join(':')
    const before = kms.asked.length
    kms.misbehave(fault)
    const failure = await openWithKms('k1', arn, Buffer.from(value.at(-1) ?? '', 'base64'), SHORT).catch(
      (error: KekNotObtained) => error,
    )
    expect(failure).toMatchObject({
      name: 'KekNotObtained',
      mayPass: true,
      message: expect.stringMatching(expected),
    })
    expect(kms.asked.length - before).toBe(2)
  },
)

test('without credentials, with wrong ones, or without encryption to another machine: AWS KMS gives no key', async () => {
  kms.createKey('closed')
  const entry = await createKek('k1', 'aws-kms', 'alias/closed')
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', randomBytes(30).toString('base64'))
  expect(await why(entry)).toContain('InvalidSignatureException')
  vi.stubEnv('AWS_ENDPOINT_URL_KMS', 'http://kms.example.com')
  expect(await why(entry)).toContain('AWS_ENDPOINT_URL_KMS is not encrypted')
  vi.stubEnv('AWS_ENDPOINT_URL_KMS', kms.settings.AWS_ENDPOINT_URL_KMS)
  vi.stubEnv('AWS_ACCESS_KEY_ID', undefined)
  vi.stubEnv('AWS_CONFIG_FILE', join(folder, 'none'))
  vi.stubEnv('AWS_SHARED_CREDENTIALS_FILE', join(folder, 'none'))
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true')
  expect(await why(entry)).toContain('this process has no AWS credentials')
  vi.stubEnv('AWS_REGION', undefined)
  await expect(createKek('k2', 'aws-kms', 'alias/closed')).rejects.toThrow(
    'No key was made: the region is not known',
  )
})

test('a file that others can read, of another user, without a key, or that is not there is refused', async () => {
  const path = join(folder, 'key')
  const entry = await createKek('k1', 'file', path)
  const key = await readFile(path, 'utf8')
  await expect(createKek('k2', 'file', path)).rejects.toThrow('exists already')
  expect(await readFile(path, 'utf8')).toBe(key)
  await chmod(path, 0o640)
  expect(await why(entry)).toBe('it was usable')
  await chmod(path, 0o604)
  expect(await why(entry)).toContain(
    `the file ${path} can be opened by every user of this machine: chmod 600`,
  )
  await chmod(path, 0o600)
  if (process.getuid?.() === 0) {
    await chown(path, 12_345, 0)
    expect(await why(entry)).toContain('belongs to another user')
    await chown(path, 0, 0)
  }
  await writeFile(path, 'c2hvcnQ=')
  expect(await why(entry)).toContain('does not hold the base64 of 32 bytes')
  await rm(path)
  expect(await why(entry)).toContain('cannot be read (ENOENT)')
})

test('an entry with a mistake is described without repeating it', () => {
  // Not one that begins with a slash: after "file:" it would be the path of a file.
  const secret = Buffer.concat([Buffer.alloc(1), randomBytes(30)]).toString('base64')
  for (const text of [secret, `k1:${secret}`, `K1:${secret}`, `k1:file:${secret}`, `k1:aws-kms:${secret}`]) {
    const { problem } = parseKekEntry(text) as { problem: string }
    expect(problem).toMatch(/^is not id:/)
    expect(problem).not.toContain(secret)
  }
})
