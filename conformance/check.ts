import { setTimeout as sleep } from 'node:timers/promises'
import { Accounts } from './accounts.ts'
import { Mismatch, Unmet } from './expect.ts'
import { type Allowed, type Fixtures, itemKinds, lacking, type Need, sortItems } from './fixtures.ts'
import { NoAnswer } from './http.ts'
import { type Base, type RunState, Tools } from './tools.ts'

export interface Check {
  /** `group/slug`; it never changes. */
  readonly id: string
  readonly group: string
  /** The guarantee. */
  readonly title: string
  /** Ids of sentences.json. */
  readonly proves: readonly string[]
  readonly needs: readonly Need[]
  /** `alone`: nothing else may run beside it. `slow`: is begun first because it waits. */
  readonly pace: 'alone' | 'slow' | 'usual'
  run(tools: Tools): Promise<unknown>
}

type Run = Check['run']
interface CheckOptions {
  readonly needs?: readonly Need[]
  readonly pace?: Check['pace']
}

/** Collects the checks of one part of the interface. */
export function group(name: string, title: string, always: readonly Need[] = []) {
  const checks: Check[] = []
  function check(slug: string, says: string, proves: string[], run: Run, options: CheckOptions = {}) {
    checks.push({
      id: `${name}/${slug}`,
      group: name,
      title: says,
      proves,
      needs: [...always, ...(options.needs ?? [])],
      pace: options.pace ?? 'usual',
      run,
    })
  }
  return { name, title, checks, check }
}

export interface Group {
  readonly name: string
  readonly title: string
  readonly checks: readonly Check[]
}

export interface Outcome {
  readonly check: Check
  readonly result: 'passed' | 'failed' | 'skipped'
  readonly ms: number
  /** Why it was skipped, or what went wrong. */
  readonly message: string
  readonly expected?: string
  readonly got?: string
}

export interface RunOptions {
  readonly base: Base
  readonly fixtures: Fixtures
  readonly allowed: Allowed
  readonly checks: readonly Check[]
  /** Kept over several runs against one system, so that they share its limits. */
  readonly accounts?: Accounts
  onOutcome?(outcome: Outcome): void
  /** Called when nothing is left that must be alone. */
  onShared?(): void
}

const TOGETHER_MAX = 16

/** Runs the checks, those that wait first, and answers in the order they were given. */
export async function runChecks(options: RunOptions): Promise<Outcome[]> {
  const { fixtures: given, checks } = options
  const accounts = options.accounts ?? new Accounts(given.buyers)
  const fixtures = hasAll(given) ? given : { ...given, items: await findItems(options.base, given, accounts) }
  const run: RunState = { base: options.base, fixtures, accounts, scenes: new Map() }
  const outcomes = new Map<Check, Outcome>()
  const perform = async (check: Check) => {
    const outcome = await runOne(check, run, options.allowed)
    outcomes.set(check, outcome)
    options.onOutcome?.(outcome)
  }
  for (const check of checks.filter(({ pace }) => pace === 'alone')) await perform(check)
  options.onShared?.()
  const waiting = checks.filter(({ pace }) => pace === 'slow').map(perform)
  const queue = checks.filter(({ pace }) => pace === 'usual').values()
  const work = async () => {
    for (const check of queue) await perform(check)
  }
  await Promise.all([...waiting, ...Array.from({ length: TOGETHER_MAX }, work)])
  return checks.flatMap((check) => outcomes.get(check) ?? [])
}

async function runOne(check: Check, run: RunState, allowed: Allowed): Promise<Outcome> {
  const missing = lacking(run.fixtures, allowed, check.needs)
  if (missing !== undefined) return { check, result: 'skipped', ms: 0, message: `needs ${missing}` }
  const startedMs = performance.now()
  const tools = new Tools(run)
  const outcome = await Promise.race([check.run(tools), tooLong()]).then(
    (): Pick<Outcome, 'result' | 'message'> => ({ result: 'passed', message: '' }),
    failure,
  )
  await tools.end().catch(() => {})
  return { check, ms: performance.now() - startedMs, ...outcome }
}

const CHECK_MS_MAX = 300_000

async function tooLong(): Promise<never> {
  await sleep(CHECK_MS_MAX, undefined, { ref: false })
  throw new Mismatch(`an end within ${CHECK_MS_MAX / 1000} s`, 'none')
}

function failure(error: unknown): Pick<Outcome, 'result' | 'message' | 'expected' | 'got'> {
  if (error instanceof Mismatch) {
    return { result: 'failed', message: error.message, expected: error.expected, got: error.got }
  }
  if (error instanceof Unmet) return { result: 'skipped', message: `needs ${error.message}` }
  if (error instanceof NoAnswer) {
    const expected = 'an answer'
    return {
      result: 'failed',
      message: `expected ${expected}; got none: ${error.message}`,
      expected,
      got: error.message,
    }
  }
  // A bug of the kit, or an answer so far from the interface that it could not be read.
  const { message, stack = '' } = error as Error
  return {
    result: 'failed',
    message: `the check itself broke: ${message} ${stack.split('\n')[1]?.trim() ?? ''}`,
  }
}

const hasAll = ({ items }: Fixtures): boolean => itemKinds.every((kind) => items?.[kind] !== undefined)

const PAGE = 2_000

/** One of each kind, out of the catalogue. */
export async function findItems(base: Base, fixtures: Fixtures, accounts: Accounts) {
  const tools = new Tools({ base, fixtures, accounts, scenes: new Map() })
  try {
    const page = await tools.get(await tools.buyer(), `/catalogue?limit=${PAGE}`)
    return sortItems(page.json?.items ?? [], fixtures.items)
  } finally {
    await tools.end()
  }
}
