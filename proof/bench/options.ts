export const scales = ['small', 'full'] as const

export interface BenchOptions {
  /** Of each measured run. */
  readonly seconds: number
  /** How often the runs are repeated, all of them in turn; the median counts. */
  readonly rounds: number
  readonly profile: boolean
  /** Of `orders`: also with a worker that takes up what was bought. */
  readonly worker: boolean
  /** Of `growth`: how large the large shop is. */
  readonly scale: (typeof scales)[number]
  /** Of `growth`: writes the picture even at the small scale. */
  readonly plot: boolean
}
