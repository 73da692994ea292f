import type { Command } from 'commander'
import { examples, work } from '../command.ts'
import type { Context, Outcome } from '../context.ts'
import { examine } from '../doctor/examine.ts'
import type { Finding, FindingStatus } from '../doctor/finding.ts'
import { explainSignature, type SignatureOptions } from '../doctor/signature.ts'
import { EXIT } from '../trouble.ts'

export function define(command: Command): void {
  command.option('--read-only', 'do not check the two write scopes').addHelpText(
    'after',
    `
Checks the address, the network, the clock, the key, proxies that change requests, scopes, the webhook and the limits, and says what to fix.
It spends nothing and changes nothing: write scopes are checked with invalid requests that every store refuses (an
order without items and key, a test event with an unknown property). Uses 10 requests of this minute, one of them
counted as an order attempt. Exits with 1 when something is wrong.
${examples(
  'shopwire doctor',
  'shopwire doctor --profile live --json',
  'shopwire doctor signature --request saved-request.txt',
)}`,
  )
  work<{ readOnly?: true }>(command, doctor)
  work<SignatureOptions>(
    command
      .command('signature')
      .description('find the mistake behind a wrong signature')
      .option('--request <file>', 'a saved HTTP request, or what curl -v printed')
      .option('--method <method>', 'as it was sent')
      .option('--path <path>', 'path and query, as they were sent')
      .option('--timestamp <text>', 'X-Api-Timestamp')
      .option('--nonce <text>', 'X-Api-Nonce')
      .option('--signature <text>', 'X-Api-Signature')
      .option('--body <text>', 'the body, as it was sent')
      .option('--body-file <file>', 'the body, from a file')
      .addHelpText(
        'after',
        `
Tries the common signing mistakes with the secret of your profile. The request is not sent. Exits with 1 when the signature
is wrong or the store would refuse the form of a header.
${examples(
  'shopwire doctor signature --request saved-request.txt',
  'shopwire doctor signature --method GET --path /v1/ping --timestamp 1700000000 --nonce 5f… --signature 9a…',
)}`,
      ),
    explainSignature,
  )
}

async function doctor({ out, credentials }: Context, { readOnly }: { readOnly?: true }): Promise<Outcome> {
  const found: Finding[] = []
  for await (const one of examine(await credentials(), { isReadOnly: readOnly === true })) {
    found.push(one)
    if (!out.isJson && !isUnknown(one)) out.raw(`${findingText(one, out.paint)}\n`)
  }
  const isOk = found.every(({ status }) => status !== 'failed')
  if (out.isJson) out.show({ ok: isOk, checks: found }, () => '')
  else out.raw(`${unknownText(found, out.paint)}\n${verdict(found, out.paint)}\n`)
  return isOk ? EXIT.ok : EXIT.failed
}

const NAME_WIDTH = 11

/** The checks skipped after a failure are printed as one line. */
function isUnknown({ status, detail }: Finding): boolean {
  return status === 'skipped' && detail.startsWith('without ')
}

function unknownText(found: readonly Finding[], paint: Context['out']['paint']): string {
  const unknown = found.filter(isUnknown)
  if (unknown.length === 0) return ''
  return `${paint.dim(`– not checked, ${unknown[0]?.detail}: ${unknown.map(({ name }) => name).join(', ')}`)}\n`
}

function findingText({ name, status, detail, fix }: Finding, paint: Context['out']['paint']): string {
  const marks: Record<FindingStatus, string> = {
    ok: paint.green('✔'),
    failed: paint.red('✖'),
    warning: paint.yellow('!'),
    info: paint.dim('·'),
    skipped: paint.dim('–'),
  }
  const text = status === 'skipped' ? paint.dim(detail) : detail
  const line = `${marks[status]} ${name.padEnd(NAME_WIDTH)} ${text}`
  return fix === undefined ? line : `${line}\n${' '.repeat(NAME_WIDTH + 3)}${paint.bold('→')} ${fix}`
}

function verdict(found: readonly Finding[], paint: Context['out']['paint']): string {
  const failed = found.filter(({ status }) => status === 'failed').map(({ name }) => name)
  if (failed.length > 0) return `${paint.red('✖')} ${paint.bold(`Fix first: ${failed[0]}.`)}`
  const warned = found.filter(({ status }) => status === 'warning').map(({ name }) => name)
  if (warned.length > 0)
    return `${paint.yellow('!')} ${paint.bold('It works.')} Warnings: ${warned.join(', ')}.`
  return `${paint.green('✔')} ${paint.bold('Everything is in order.')}`
}
