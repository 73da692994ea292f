import type { Command } from 'commander'
import { CHECKS, type CheckResult, type CheckState } from '../../operations/doctor/doctor.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { print } from '../terminal/print.ts'

const SHOWN: Record<CheckState, string> = {
  ok: 'ok',
  warning: 'WARNING',
  failed: 'FAILED',
  not_applicable: '-',
}

export function doctorCommand(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .option('--list', 'print the checklist and check nothing')
    .option('--problems', 'print only what is not in order')
    .description('go through the production checklist; exits with 1 when an item failed')
    .action(async ({ list, problems }: { list?: true; problems?: true }, command: Command) => {
      if (list) {
        const checks = CHECKS.map(({ examine: _, ...texts }) => texts)
        return print(command, context, { checks }, () =>
          checks.map(({ id, title }) => `${id}: ${title}`).join('\n'),
        )
      }
      const all = await context.doctor()
      const checks = problems ? all.filter(({ state }) => isProblem(state)) : all
      const failures = all.filter(({ state }) => state === 'failed')
      print(command, context, { ok: failures.length === 0, checks }, () => describe(checks, all))
      if (failures.length > 0) {
        throw new Error(
          `${failures.length} of ${all.length} items failed: ${failures.map(({ id }) => id).join(', ')}. Each is named above with its repair.`,
        )
      }
    })
}

function describe(checks: readonly CheckResult[], all: readonly CheckResult[]): string {
  const groups = [...new Set(checks.map(({ group }) => group))]
  const lines = groups.flatMap((group) => [
    group,
    ...checks.filter((check) => check.group === group).flatMap(linesOf),
    '',
  ])
  const count = (state: CheckState) => all.filter((check) => check.state === state).length
  return [
    ...lines,
    `${count('ok')} ok, ${count('warning')} warnings, ${count('failed')} failed, ${count('not_applicable')} not applicable.`,
  ].join('\n')
}

function linesOf({ state, title, found, why, fix }: CheckResult): string[] {
  const head = `  ${SHOWN[state].padEnd(8)} ${title}: ${found}`
  return isProblem(state) ? [head, `           Why: ${why}`, `           Fix: ${fix}`] : [head]
}

function isProblem(state: CheckState): boolean {
  return state === 'failed' || state === 'warning'
}
