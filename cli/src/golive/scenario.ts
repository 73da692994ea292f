import type { Bench } from './bench.ts'

/** What a scenario cannot be run without, besides the buy endpoint. */
export type Need = 'webhook' | 'state' | 'reconcile' | 'previous_secret'

export interface Scenario {
  readonly id: string
  /** What must be true. */
  readonly title: string
  readonly needs: readonly Need[]
  /** What the emulator does, or what is sent. */
  readonly does: string
  /** What it costs when it fails. */
  readonly means: string
  readonly fix: string
  /** Below docs/. */
  readonly docs: string
  /** Throws a Problem when the integrator's code fails, NotRun when nothing can be said. */
  readonly run: (bench: Bench) => Promise<void>
}

export type Verdict = 'passed' | 'failed' | 'not_run'

export interface ScenarioResult {
  readonly id: string
  readonly title: string
  readonly verdict: Verdict
  readonly duration_ms: number
  /** What went wrong, or why it was not run. */
  readonly reason: string | null
  /** What was seen on the wire, a line each. */
  readonly evidence: readonly string[]
  readonly does: string
  readonly means: string
  readonly fix: string
  readonly docs: string
}
