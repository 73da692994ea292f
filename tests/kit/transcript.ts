import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { stripVTControlCharacters } from 'node:util'
import type { Ended } from '@shopwire/test-kit/systems'
import { say } from './command.ts'

const SOON_MS = 60_000
const AGAIN_MS = 500
/** What compose says about its own progress. */
const PROGRESS = /^(Creating|Starting|Recreating|Stopping|Removing) .*$/

/** One command of a page, as a reader pastes it. */
export interface Step {
  readonly $: string
  /** Read from what it prints, for later steps that say {account} and the like. */
  readonly reads?: Readonly<Record<string, RegExp>>
  /** Answers a prompt: the name of something that was read. It is not printed. */
  readonly types?: string
  /** Repeats the command until this is printed. */
  readonly until?: RegExp
  /** 0 unless the page shows how something fails. */
  readonly code?: number
  /** What it has to print. */
  readonly prints?: RegExp
}

/** A part of a page. */
export interface Part {
  readonly page: string
  readonly name: string
  readonly steps: readonly (Step | string)[]
  /** Run after them, and not on the page: the commands of another page, or what their readers see by themselves. */
  readonly unshown?: readonly Step[]
}

export interface Followed {
  /** For the page. */
  readonly lines: string[]
  readonly times: readonly { readonly command: string; readonly ms: number }[]
}

export interface Player {
  /** Names of values that no page shows. */
  readonly secrets: readonly string[]
  readonly values: Record<string, string>
  /** stderr goes where stdout goes. */
  run(command: string, input: string): Promise<Ended>
  /** Leaves out what only this machine has. */
  shown?(printed: string): string
}

/** Runs the commands in order; texts between them are for the page. */
export async function follow(steps: readonly (Step | string)[], player: Player): Promise<Followed> {
  const { values, secrets, shown = (text) => text } = player
  const lines: string[] = []
  const times: { command: string; ms: number }[] = []
  for (const step of steps) {
    if (typeof step === 'string') {
      lines.push(step, '')
      continue
    }
    const command = step.$.replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '')
    say(`$ ${command}`)
    const startedMs = performance.now()
    const printed = await play(step, command, player)
    times.push({ command, ms: performance.now() - startedMs })
    for (const [name, pattern] of Object.entries(step.reads ?? {})) {
      const found = pattern.exec(printed)
      assert(found, `${command} prints ${pattern}:\n${printed}`)
      values[name] = found[1] ?? found[0]
    }
    if (step.prints) assert.match(printed, step.prints)
    const hidden = secrets
      .flatMap((name) => values[name] ?? [])
      .reduce((text, secret) => text.replaceAll(secret, '(not shown here)'), shown(printed))
    lines.push(...asConsole(command, hidden), '')
  }
  return { lines, times }
}

async function play(step: Step, command: string, { run, values }: Player): Promise<string> {
  const deadlineMs = performance.now() + SOON_MS
  for (;;) {
    const { code, stdout } = await run(command, step.types === undefined ? '' : `${values[step.types]}\n`)
    if (code !== (step.code ?? 0)) throw new Error(`${command} ended with ${code}:\n${stdout}`)
    if (step.until === undefined || step.until.test(stdout)) return stdout
    if (performance.now() > deadlineMs) throw new Error(`${command} does not print ${step.until}:\n${stdout}`)
    await sleep(AGAIN_MS)
  }
}

function asConsole(command: string, printed: string): string[] {
  const shown = stripVTControlCharacters(printed)
    .split(/\r?\n|\r/)
    .filter((line) => !PROGRESS.test(line))
    .join('\n')
    .trim()
  return ['```console', `$ ${command.replaceAll('\n', '\n> ')}`, ...(shown === '' ? [] : [shown]), '```']
}
