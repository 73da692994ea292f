import { readFile } from 'node:fs/promises'
import { UsageError } from '../trouble.ts'

/** A webhook secret comes from a file or the environment, never from the command line, which others can read. */
export async function readWebhookSecret(
  file: string | undefined,
  env = process.env,
): Promise<string | undefined> {
  const text = file === undefined ? env.SHOPWIRE_WEBHOOK_SECRET : await readFile(file, 'utf8')
  const secret = text?.trim()
  if (file !== undefined && !secret)
    throw new UsageError(
      `${file} is empty; a webhook secret was expected.`,
      'Put the secret of your endpoint there: whsec_…',
    )
  return secret || undefined
}

export async function needWebhookSecret(file: string | undefined): Promise<string> {
  const secret = await readWebhookSecret(file)
  if (secret) return secret
  throw new UsageError(
    'There is no webhook secret.',
    'Give --secret-file FILE, or set SHOPWIRE_WEBHOOK_SECRET.',
  )
}
