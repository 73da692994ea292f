import { randomBytes } from 'node:crypto'
import { open, writeFile } from 'node:fs/promises'
import { isAbsolute } from 'node:path'
import { type AskForKek, KekNotObtained } from './encryption.ts'

/**
 * Where a key-encryption key comes from. An entry of the settings is `id:value` when the value is the key itself, and
 * `id:provider:value` when a provider returns the key for that value. Providers are called when a process starts, never for a
 * request.
 */
export interface KekProvider {
  /** What is wrong with the form of a value, if anything. */
  problem(value: string): string | undefined
  /** The key, 32 bytes; throws KekNotObtained. */
  open(id: string, value: string): Promise<Buffer>
  /** Makes a key and returns its value for the settings. */
  create(id: string, place: string): Promise<string>
}

export interface KekEntry {
  readonly id: string
  readonly provider: KekProviderName
  readonly value: string
}

export type KekProviderName = 'setting' | 'file' | 'aws-kms'

export const KEK_BYTES = 32
const ID = /^[a-z0-9][a-z0-9._-]{0,63}$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/
const KMS_VALUE = /^(arn:[a-z0-9-]+:kms:[a-z0-9-]+:\d{12}:key\/[A-Za-z0-9-]+):([A-Za-z0-9+/]+={0,2})$/
/** Far more than a key and a line end. */
const FILE_BYTES_MAX = 1_024

const setting: KekProvider = {
  problem: (value) =>
    readBase64(value) ? undefined : `is not id:base64 of ${KEK_BYTES} bytes (try: openssl rand -base64 32)`,
  open: async (_, value) => readBase64(value) as Buffer,
  create: async () => randomBytes(KEK_BYTES).toString('base64'),
}

/** One file for each key, so that the settings themselves are not secret. The process refuses a file that others can read or change. */
const file: KekProvider = {
  problem: (value) => (isAbsolute(value) ? undefined : 'is not id:file: with the absolute path of a file'),
  async open(id, path) {
    const refuse = (why: string) => new KekNotObtained(id, `the file ${path} ${why}`)
    const handle = await open(path).catch((error: NodeJS.ErrnoException) => {
      throw refuse(`cannot be read (${error.code ?? 'unknown error'}).`)
    })
    try {
      const { mode, uid, size } = await handle.stat()
      if ((mode & 0o007) !== 0) throw refuse('can be opened by every user of this machine: chmod 600.')
      if (uid !== 0 && uid !== process.getuid?.())
        throw refuse('belongs to another user: it has to belong to the user of this process, or to root.')
      const text = size > FILE_BYTES_MAX ? '' : await handle.readFile('utf8')
      const key = readBase64(text.trim())
      if (!key) throw refuse(`does not hold the base64 of ${KEK_BYTES} bytes (try: openssl rand -base64 32).`)
      return key
    } finally {
      await handle.close()
    }
  },
  async create(_, path) {
    const text = `${await setting.create('', '')}\n`
    await writeFile(path, text, { flag: 'wx', mode: 0o600, flush: true }).catch(
      (error: NodeJS.ErrnoException) => {
        throw new Error(
          error.code === 'EEXIST'
            ? `${path} exists already, and may be a key that is in use: choose another path.`
            : `${path} cannot be written (${error.code ?? 'unknown error'}).`,
        )
      },
    )
    return path
  },
}

/** The settings hold the key encrypted by AWS KMS, with the ARN of the KMS key that opens it. */
const awsKms: KekProvider = {
  problem: (value) =>
    KMS_VALUE.test(value)
      ? undefined
      : 'is not id:aws-kms:key-arn:base64 (shopwire-admin encryption new-key --aws-kms prints one)',
  async open(id, value) {
    const [, arn = '', blob = ''] = KMS_VALUE.exec(value) ?? []
    // Loaded only where it is used: it takes 0.1 s and 28 MB.
    const { openWithKms } = await import('./aws-kms.ts')
    return openWithKms(id, arn, Buffer.from(blob, 'base64'))
  },
  async create(id, keyId) {
    const { createWithKms } = await import('./aws-kms.ts')
    const { arn, blob } = await createWithKms(id, keyId)
    return `${arn}:${blob.toString('base64')}`
  },
}

const PROVIDERS: Readonly<Record<KekProviderName, KekProvider>> = { setting, file, 'aws-kms': awsKms }

/** Never repeats the value in the error: it may be a key. */
export function parseKekEntry(text: string): KekEntry | { readonly problem: string } {
  const [, id = '', name = 'setting', value = ''] = /^([^:]*):(?:(file|aws-kms):)?(.*)$/.exec(text) ?? []
  const provider = name as KekProviderName
  const problem = ID.test(id) ? PROVIDERS[provider].problem(value) : setting.problem('')
  return problem === undefined ? { id, provider, value } : { problem }
}

/** Makes a key and returns the entry for the settings. */
export async function createKek(id: string, provider: KekProviderName, place = ''): Promise<string> {
  if (!ID.test(id))
    throw new Error(`"${id}" cannot be the id of a key: use lower-case letters, digits, . _ -`)
  const value = await PROVIDERS[provider].create(id, place)
  const entry = provider === 'setting' ? `${id}:${value}` : `${id}:${provider}:${value}`
  const parsed = parseKekEntry(entry)
  if ('problem' in parsed) throw new Error(`The new entry ${parsed.problem}`)
  return entry
}

export function askForKeks(entries: ReadonlyMap<string, KekEntry>): ReadonlyMap<string, AskForKek> {
  const asks = [...entries].map(
    ([id, { provider, value }]) => [id, () => PROVIDERS[provider].open(id, value)] as const,
  )
  return new Map(asks)
}

function readBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return BASE64.test(text) && bytes.length === KEK_BYTES ? bytes : undefined
}
