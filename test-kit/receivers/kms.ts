import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  randomUUID,
} from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Settings } from '../systems/programs/program.ts'
import { startHttpServer } from './http-server.ts'

export type KmsServer = Awaited<ReturnType<typeof startKms>>

/** How the server misbehaves: an error of AWS by its name, no answer at all, or an HTTP status without a body. */
export type KmsFault = { error: string } | { hangs: true } | { status: number } | undefined

const REGION = 'eu-west-1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const ARN_BYTES = 2

/**
 * A stand-in for AWS KMS over HTTP, with one identity that may use it. It verifies the signature (Signature Version 4) of every request, as
 * well as the region and service in it, and encrypts with AES under keys of its own, bound to the encryption context.
 */
export async function startKms() {
  const access = {
    id: `AKIA${randomBytes(8).toString('hex').toUpperCase()}`,
    secret: randomBytes(30).toString('base64'),
  }
  const sessionToken = randomBytes(60).toString('base64')
  const keys = new Map<string, Buffer>()
  const aliases = new Map<string, string>()
  const asked: { operation: string; context: Record<string, string> }[] = []
  let fault: KmsFault

  const server = await startHttpServer(async (request, response) => {
    const body = await text(request)
    const operation = String(request.headers['x-amz-target']).replace(/^TrentService\./, '')
    const input = JSON.parse(body) as KmsInput
    asked.push({ operation, context: input.EncryptionContext ?? {} })
    if (fault && 'hangs' in fault) return
    if (fault && 'status' in fault) return void response.writeHead(fault.status).end()
    if (fault) return fail(response, fault.error)
    const problem = signatureProblem(request, body, access, sessionToken)
    if (problem) return fail(response, problem)
    try {
      answer(response, 200, operate(operation, input))
    } catch (error) {
      fail(response, (error as Error).message)
    }
  })

  function operate(operation: string, input: KmsInput): object {
    const named = input.KeyId === undefined ? undefined : (aliases.get(input.KeyId) ?? input.KeyId)
    if (named !== undefined && !keys.has(named)) throw new Error('NotFoundException')
    if (operation === 'GenerateDataKeyWithoutPlaintext' && named !== undefined) {
      const blob = seal(named, randomBytes(input.NumberOfBytes ?? 32), input)
      return { KeyId: named, CiphertextBlob: blob.toString('base64') }
    }
    if (operation === 'Decrypt') {
      const blob = Buffer.from(input.CiphertextBlob ?? '', 'base64')
      const { arn, plain } = unseal(blob, input)
      if (named !== undefined && named !== arn) throw new Error('IncorrectKeyException')
      return { KeyId: arn, Plaintext: plain.toString('base64'), EncryptionAlgorithm: 'SYMMETRIC_DEFAULT' }
    }
    throw new Error('UnsupportedOperationException')
  }

  function seal(arn: string, plain: Buffer, input: KmsInput): Buffer {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', keys.get(arn) as Buffer, nonce).setAAD(contextOf(input))
    const sealed = Buffer.concat([cipher.update(plain), cipher.final()])
    const length = Buffer.alloc(ARN_BYTES)
    length.writeUInt16BE(arn.length)
    return Buffer.concat([length, Buffer.from(arn), nonce, cipher.getAuthTag(), sealed])
  }

  function unseal(blob: Buffer, input: KmsInput): { arn: string; plain: Buffer } {
    try {
      const at = ARN_BYTES + blob.readUInt16BE(0)
      const arn = blob.toString('utf8', ARN_BYTES, at)
      const decipher = createDecipheriv(
        'aes-256-gcm',
        keys.get(arn) as Buffer,
        blob.subarray(at, at + NONCE_BYTES),
        { authTagLength: TAG_BYTES },
      )
      decipher.setAAD(contextOf(input))
      decipher.setAuthTag(blob.subarray(at + NONCE_BYTES, at + NONCE_BYTES + TAG_BYTES))
      const sealed = blob.subarray(at + NONCE_BYTES + TAG_BYTES)
      return { arn, plain: Buffer.concat([decipher.update(sealed), decipher.final()]) }
    } catch {
      throw new Error('InvalidCiphertextException')
    }
  }

  return {
    asked,
    /** Environment variables of AWS for a process that may use it. */
    settings: {
      AWS_ENDPOINT_URL_KMS: `http://127.0.0.1:${server.port}`,
      AWS_REGION: REGION,
      AWS_ACCESS_KEY_ID: access.id,
      AWS_SECRET_ACCESS_KEY: access.secret,
      AWS_SESSION_TOKEN: sessionToken,
    } satisfies Settings,
    /** What must never be seen anywhere. */
    secrets: [access.secret, sessionToken],
    /** Returns its ARN. */
    createKey(alias?: string): string {
      const arn = `arn:aws:kms:${REGION}:111122223333:key/${randomUUID()}`
      keys.set(arn, randomBytes(32))
      if (alias !== undefined) aliases.set(`alias/${alias}`, arn)
      return arn
    },
    misbehave(how: KmsFault) {
      fault = how
    },
    close: () => server.close(),
  }
}

interface KmsInput {
  readonly KeyId?: string
  readonly NumberOfBytes?: number
  readonly CiphertextBlob?: string
  readonly EncryptionContext?: Record<string, string>
}

const contextOf = ({ EncryptionContext = {} }: KmsInput) =>
  Buffer.from(JSON.stringify(Object.entries(EncryptionContext).sort()))

/** As AWS describes Signature Version 4; undefined when it is right. */
function signatureProblem(
  request: IncomingMessage,
  body: string,
  access: { id: string; secret: string },
  sessionToken: string,
): string | undefined {
  const [, id, day = '', region = '', signed = '', signature] =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/kms\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      request.headers.authorization ?? '',
    ) ?? []
  if (signature === undefined || region !== REGION) return 'IncompleteSignature'
  if (id !== access.id || request.headers['x-amz-security-token'] !== sessionToken)
    return 'UnrecognizedClientException'
  const names = signed.split(';')
  if (!['host', 'x-amz-date', 'x-amz-target', 'x-amz-security-token'].every((name) => names.includes(name)))
    return 'IncompleteSignature'
  const headers = names.map((name) => `${name}:${String(request.headers[name]).trim()}\n`).join('')
  const canonical = [request.method, request.url, '', headers, signed, sha256(body)].join('\n')
  const scope = `${day}/${region}/kms/aws4_request`
  const toSign = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n')
  const key = [day, region, 'kms', 'aws4_request'].reduce<string | Buffer>(
    (made, part) => createHmac('sha256', made).update(part).digest(),
    `AWS4${access.secret}`,
  )
  const wanted = createHmac('sha256', key).update(toSign).digest('hex')
  return wanted === signature ? undefined : 'InvalidSignatureException'
}

const sha256 = (what: string) => createHash('sha256').update(what).digest('hex')

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(JSON.stringify(body))
}

/** As AWS answers, with a message that must not be passed on. */
function fail(response: ServerResponse, name: string): void {
  const repeated = String(response.req.headers['x-amz-security-token'])
  answer(response, 400, { __type: name, message: `The canonical request should have been ${repeated}` })
}
