import type { Command } from 'commander'
import type { Finding } from '../operations/verify.ts'
import { refuse } from '../platform/trouble.ts'
import type { CommandContext } from './command-context.ts'
import { print, table } from './print.ts'

/** At least one rule is violated. Thrown after the findings were printed, for the exit code. */
export class RulesViolatedError extends Error {
  override readonly name = 'RulesViolatedError'
}

export function verifyCommand(program: Command, context: CommandContext): void {
  program
    .command('verify')
    .option('--rule <id>', 'only this one, such as M05')
    .description(
      'check that money, orders and links add up, beside running traffic; see "Invariants" in the documentation',
    )
    .action(async ({ rule: wanted }: { rule?: string }, command: Command) => {
      const all = await context.rules()
      const rules = wanted === undefined ? all : all.filter(({ id }) => id === wanted)
      if (rules.length === 0) {
        throw refuse(
          'not_found',
          `There is no rule ${wanted}. There are ${all.map(({ id }) => id).join(', ')}.`,
        )
      }
      const findings = await context
        .longRunningReads()
        .verify(rules, ({ id, what }) => context.err(`${id}  ${what}\n`))
      // A part of the rules says nothing about the rest, so only a whole run is recorded.
      if (wanted === undefined) {
        await context
          .reads()
          .recordVerifyRun(findings, context.nowMs())
          .catch((error: Error) =>
            context.err(
              `The result could not be recorded, so the metrics of workers do not show it: ${error.message}. The result itself is right.\n`,
            ),
          )
      }
      const violated = findings.filter(({ violations }) => violations > 0)
      print(command, context, { ok: violated.length === 0, rules: findings }, () => describe(findings))
      if (violated.length > 0) {
        throw new RulesViolatedError(
          `${violated.length} of ${rules.length} rules are violated: ${violated.map(({ rule }) => rule).join(', ')}. ` +
            'Close the store and read "Invariants" in the documentation before you change anything.',
        )
      }
    })
}

function describe(findings: readonly Finding[]): string {
  const isClean = findings.every(({ violations }) => violations === 0)
  const results = table(
    ['RULE', 'RESULT', 'TIME', 'WHERE'],
    findings.map(({ rule, violations, ids, ms }) => [
      rule,
      violations === 0 ? 'ok' : `VIOLATED ${violations}×`,
      `${ms} ms`,
      violations > ids.length ? `${ids.join(', ')} …` : ids.join(', '),
    ]),
    '',
  )
  return isClean ? `${results}\nAll ${findings.length} rules hold.` : results
}
