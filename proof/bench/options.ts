export interface BenchOptions {
  /** Of each measured run. */
  readonly seconds: number
  /** How often the runs are repeated, all of them in turn; the median counts. */
  readonly rounds: number
  readonly profile: boolean
}
