import type { Command } from 'commander'
import { leavesOf, pathOf, worksOnDatabase } from './schema-check.ts'

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  schema: 3,
  notFound: 4,
  conflict: 5,
  violated: 6,
  unavailable: 7,
} as const

type ExitCode = (typeof EXIT)[keyof typeof EXIT]

const MEANING: Readonly<Record<ExitCode, string>> = {
  0: 'done',
  1: 'failed',
  2: 'usage or configuration',
  3: 'the database has another version',
  4: 'not found',
  5: 'refused, or not done as asked',
  6: 'an invariant is violated',
  7: 'a dependency did not answer',
}

/** Where a code means more than in general, or is added to those that follow from what the command does. */
const OWN: Readonly<Record<string, Partial<Record<ExitCode, string>>>> = {
  'backup status': { 1: 'a restore would fail, or its result is unknown', 7: MEANING[7] },
  doctor: { 1: 'an item failed' },
  'encryption new-key': { 7: MEANING[7] },
  'encryption status': { 1: 'a key is wrong' },
  'encryption re-encrypt': { 1: 'values are still under another key' },
  find: { 4: 'nothing was found' },
  migrate: { 3: 'with --status: the database does not fit this program', 7: MEANING[7] },
  'orders prove': { 5: 'several accounts used the key', 6: 'order and money contradict each other' },
  'pool load': { 5: 'none of the links was loaded' },
  'pool restore': { 5: 'some links still cannot be decrypted' },
  'recover compare': { 5: 'the journal has damaged lines' },
  status: { 1: 'something needs attention' },
  'store open': { 5: 'something else keeps the store closed' },
  'suppliers collect': { 5: 'the supplier gave no links' },
  'upgrade check': { 1: 'do not upgrade now', 7: MEANING[7] },
  verify: { 6: 'a rule is violated' },
}

/** The codes with which a command can end. */
export function exitCodesOf(command: Command): [ExitCode, string][] {
  const own = OWN[pathOf(command)] ?? {}
  const takesSomething =
    command.registeredArguments.length > 0 || command.options.some((one) => one.mandatory)
  const codes = new Set<ExitCode>([
    ...[EXIT.ok, EXIT.failed, EXIT.usage],
    ...(worksOnDatabase(command) ? [EXIT.schema, EXIT.unavailable] : []),
    // The named object may not exist, or may be in a state that does not allow the command.
    ...(worksOnDatabase(command) && takesSomething ? [EXIT.notFound, EXIT.conflict] : []),
    ...(Object.keys(own).map(Number) as ExitCode[]),
  ])
  return [...codes].sort().map((code) => [code, own[code] ?? MEANING[code]])
}

/** Below the help of every command. */
export function describeExitCodes(program: Command): void {
  for (const command of leavesOf(program))
    command.addHelpText('after', () =>
      ['', 'Exit codes:', ...exitCodesOf(command).map(([code, text]) => `  ${code}  ${text}`)].join('\n'),
    )
}
