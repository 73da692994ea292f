import type { Harness } from './harness.ts'

/** What a scenario requires besides the buy endpoint. */
export type Need = 'webhook' | 'state' | 'reconcile' | 'previous_secret'

export interface Scenario {
  readonly id: string
  /** The expected behaviour. */
  readonly title: string
  readonly needs: readonly Need[]
  /** What the emulator does, or what is sent. */
  readonly does: string
  /** The consequence of a failure. */
  readonly means: string
  readonly fix: string
  /** Path below docs/. */
  readonly docs: string
  /** Throws a Problem when the integrator's code fails, NotRun when the scenario cannot be judged. */
  readonly run: (harness: Harness) => Promise<void>
}

export type Verdict = 'passed' | 'failed' | 'not_run'

export interface ScenarioResult {
  readonly id: string
  readonly title: string
  readonly verdict: Verdict
  readonly duration_ms: number
  /** What went wrong, or why it was not run. */
  readonly reason: string | null
  /** The recorded requests, one per line. */
  readonly evidence: readonly string[]
  readonly does: string
  readonly means: string
  readonly fix: string
  readonly docs: string
}
