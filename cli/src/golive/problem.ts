/** The integrator's code did what it must not. */
export class Problem extends Error {
  override name = 'Problem'
  readonly evidence: readonly string[]

  constructor(message: string, evidence: readonly string[] = []) {
    super(message)
    this.evidence = evidence
  }
}

/** Nothing can be said, because something else is in the way. */
export class NotRun extends Error {
  override name = 'NotRun'
}
