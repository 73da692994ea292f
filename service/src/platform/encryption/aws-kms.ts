import {
  DecryptCommand,
  GenerateDataKeyWithoutPlaintextCommand,
  KMSClient,
  type KMSClientConfig,
} from '@aws-sdk/client-kms'
import { KekNotObtained } from './encryption.ts'

export interface KmsLimits {
  /** One call with its retries, however KMS behaves. */
  readonly callMsMax: number
  readonly attemptMsMax: number
  readonly attemptsMax: number
}

const LIMITS: KmsLimits = { callMsMax: 20_000, attemptMsMax: 3_000, attemptsMax: 5 }
const KEY_BYTES = 32

/** Decrypts a key-encryption key. The key must have been encrypted for this id, under this very KMS key. */
export async function openWithKms(id: string, arn: string, blob: Buffer, limits = LIMITS): Promise<Buffer> {
  const { Plaintext: key } = await call(id, arn, 'Decrypt', limits, (client, options) =>
    client.send(
      new DecryptCommand({ KeyId: arn, CiphertextBlob: blob, EncryptionContext: contextOf(id) }),
      options,
    ),
  )
  if (key?.length !== KEY_BYTES)
    throw new KekNotObtained(
      id,
      `what AWS KMS decrypted is not a key of ${KEY_BYTES} bytes. Use an entry that "shopwire-admin encryption new-key --aws-kms" has printed.`,
    )
  return Buffer.from(key)
}

/**
 * The new key never leaves KMS in plain text: only its ciphertext is returned, and this process first sees the key when it decrypts
 * it.
 */
export async function createWithKms(id: string, keyId: string): Promise<{ arn: string; blob: Buffer }> {
  const { KeyId: arn, CiphertextBlob: blob } = await call(
    id,
    keyId,
    'GenerateDataKeyWithoutPlaintext',
    LIMITS,
    (client, options) =>
      client.send(
        new GenerateDataKeyWithoutPlaintextCommand({
          KeyId: keyId,
          NumberOfBytes: KEY_BYTES,
          EncryptionContext: contextOf(id),
        }),
        options,
      ),
  ).catch((error: Error) => {
    throw error instanceof KekNotObtained ? new Error(`No key was made: ${error.why}`) : error
  })
  return { arn: arn ?? '', blob: Buffer.from(blob ?? '') }
}

/** KMS decrypts the ciphertext for this id alone, policies can refer to the id, and CloudTrail logs it. */
const contextOf = (id: string) => ({ 'shopwire-key': id })

type Options = { readonly abortSignal: AbortSignal }

async function call<Answer>(
  id: string,
  keyId: string,
  operation: string,
  limits: KmsLimits,
  work: (client: KMSClient, options: Options) => Promise<Answer>,
): Promise<Answer> {
  const client = openClient(id, /^arn:[^:]+:kms:([^:]+):/.exec(keyId)?.[1], limits)
  try {
    return await work(client, { abortSignal: AbortSignal.timeout(limits.callMsMax) })
  } catch (error) {
    if (error instanceof KekNotObtained) throw error
    throw notObtained(id, keyId, operation, error as KmsError)
  } finally {
    client.destroy()
  }
}

/**
 * Credentials, the region of a key without ARN, and another endpoint (AWS_ENDPOINT_URL_KMS) come from where the AWS client usually
 * looks.
 */
function openClient(id: string, region: string | undefined, limits: KmsLimits): KMSClient {
  const config: KMSClientConfig = {
    maxAttempts: limits.attemptsMax,
    requestHandler: {
      connectionTimeout: limits.attemptMsMax,
      requestTimeout: limits.attemptMsMax,
      // Otherwise the client only logs a warning, and waits.
      throwOnRequestTimeout: true,
    },
    ...(region !== undefined && { region }),
  }
  const client = new KMSClient(config)
  client.middlewareStack.add(
    (next) => (args) => {
      const { protocol, hostname } = args.request as { protocol: string; hostname: string }
      // The response contains a key.
      if (protocol === 'https:' || /^(localhost|127(\.\d+){3}|\[?::1\]?)$/.test(hostname)) return next(args)
      throw new KekNotObtained(
        id,
        'AWS_ENDPOINT_URL_KMS is not encrypted. Use an https:// address; http:// is for this machine.',
      )
    },
    { step: 'build', name: 'refusePlaintext' },
  )
  return client
}

interface KmsError extends Error {
  readonly code?: string
  readonly $metadata?: { readonly attempts?: number }
}

/**
 * Text that AWS sent is left out: for a wrong signature it repeats the headers of the request, and one of them is the session
 * token.
 */
function notObtained(
  id: string,
  keyId: string,
  operation: string,
  { name, message, code, $metadata }: KmsError,
): KekNotObtained {
  const known = EXPLANATIONS[message === 'Region is missing' ? message : name]
  if (known) return new KekNotObtained(id, `${known(keyId, id, operation)} (${name}, ${operation})`)
  const reason = name === 'Error' ? (code ?? 'unknown error') : name
  const attempts = $metadata?.attempts ?? 1
  return new KekNotObtained(
    id,
    `AWS KMS did not answer as it should, ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'} (${reason}, ${operation}). Check that this ` +
      'machine reaches the endpoint of KMS in the region of the key; the next start asks again.',
    true,
  )
}

const refusedCredentials = () =>
  'AWS refused the credentials of this process, which may have expired or been deleted. Give it valid ones.'
const missing = (keyId: string) =>
  `AWS KMS has no key ${keyId} in this account and region. Correct the ARN; a deleted KMS key cannot be brought back.`

const EXPLANATIONS: Readonly<Record<string, (keyId: string, id: string, operation: string) => string>> = {
  AccessDeniedException: (keyId, id, operation) =>
    `AWS KMS does not allow it. Allow kms:${operation} on ${keyId} with the encryption context shopwire-key=${id} in the policy of ` +
    'the key or of the role of this process.',
  InvalidCiphertextException: (_, id) =>
    `its ciphertext is damaged, or was made under another id than "${id}": copy the whole entry again, and never change the id of a key.`,
  IncorrectKeyException: (keyId) =>
    `it was encrypted under another KMS key than ${keyId}. Use the ARN that was printed when it was made.`,
  NotFoundException: missing,
  DisabledException: (keyId) => `the KMS key ${keyId} is disabled. Enable it.`,
  KMSInvalidStateException: (keyId) =>
    `the KMS key ${keyId} cannot be used in its present state, such as "pending deletion": cancel the deletion.`,
  InvalidKeyUsageException: (keyId) =>
    `${keyId} is not a symmetric encryption key. Make one with the key usage "encrypt and decrypt".`,
  CredentialsProviderError: () =>
    'this process has no AWS credentials. Give it a role (of the instance, the task or the service account), or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.',
  'Region is missing': () => 'the region is not known. Give the ARN of the KMS key, or set AWS_REGION.',
  UnrecognizedClientException: refusedCredentials,
  InvalidSignatureException: refusedCredentials,
  IncompleteSignature: refusedCredentials,
  ExpiredTokenException: refusedCredentials,
  InvalidClientTokenId: refusedCredentials,
}
