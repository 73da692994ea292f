import type { Command } from 'commander'
import type { PublishedDigest } from '../../operations/seals/check.ts'
import { readPublished } from '../../operations/seals/published.ts'
import { type Finding, verifyExport } from '../../operations/verify.ts'
import { refuse } from '../../platform/trouble.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { print, table } from '../terminal/print.ts'
import { progressOf } from '../terminal/progress.ts'

/** At least one rule is violated. Thrown after the findings were printed, for the exit code. */
export class RulesViolatedError extends Error {
  override readonly name = 'RulesViolatedError'
}

export function verifyCommand(program: Command, context: CommandContext): void {
  program
    .command('verify')
    .option('--rule <id>', 'only this one, such as M05')
    .option('--export <file>', 'check what "seal export" wrote, without a database: C01 to C03')
    .option('--published <file>', 'compare with digests that "seal publish" printed, one a line')
    .description(
      'check that money, orders and links add up, while the store runs; see "Invariants" in the documentation',
    )
    .action(async (options: VerifyOptions, command: Command) => {
      const published = options.published === undefined ? [] : await readPublished(options.published)
      const all =
        options.export === undefined
          ? await verifyDatabase(command, context, options, published)
          : await verifyExport(options.export, published)
      const findings = options.rule === undefined ? all : all.filter(({ rule }) => rule === options.rule)
      const violated = findings.filter(({ violations }) => violations > 0)
      print(command, context, { ok: violated.length === 0, rules: findings }, () => describe(findings))
      if (violated.length > 0) {
        throw new RulesViolatedError(
          `${violated.length} of ${findings.length} rules are violated: ${violated.map(({ rule }) => rule).join(', ')}. ` +
            'Close the store and read "Invariants" in the documentation before you change anything.',
        )
      }
    })
}

interface VerifyOptions {
  readonly rule?: string
  readonly export?: string
  readonly published?: string
}

async function verifyDatabase(
  command: Command,
  context: CommandContext,
  { rule: wanted }: VerifyOptions,
  published: readonly PublishedDigest[],
): Promise<Finding[]> {
  const all = await context.rules()
  const rules = wanted === undefined ? all : all.filter(({ id }) => id === wanted)
  if (rules.length === 0) {
    throw refuse('not_found', `There is no rule ${wanted}. There are ${all.map(({ id }) => id).join(', ')}.`)
  }
  const progress = progressOf(command, context, 'rules checked')
  let checked = 0
  const findings = await context
    .longRunningReads()
    .verify(rules, ({ id, what }) => progress.at(checked++, rules.length, `${id} ${what}`), published)
    .finally(() => progress.end())
  // A subset of the rules proves nothing about the rest, so only a full run is recorded.
  if (wanted === undefined) {
    await context
      .reads()
      .recordVerifyRun(findings, context.nowMs())
      .catch((error: Error) =>
        context.err(
          `The result could not be recorded, so the metrics of workers do not show it: ${error.message}. The result itself is valid.\n`,
        ),
      )
  }
  return findings
}

function describe(findings: readonly Finding[]): string {
  const violated = findings.filter(({ violations }) => violations > 0)
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
  const meaning = violated.map(({ rule, what }) => `${rule}  ${what}`)
  return violated.length === 0
    ? `${results}\nAll ${findings.length} rules hold.`
    : [results, 'What should hold:', ...meaning].join('\n')
}
