/** The integrator's code failed the scenario. */
export class Problem extends Error {
  override name = 'Problem'
  readonly evidence: readonly string[]

  constructor(message: string, evidence: readonly string[] = []) {
    super(message)
    this.evidence = evidence
  }
}

/** The scenario could not be judged, because a precondition failed. */
export class NotRun extends Error {
  override name = 'NotRun'
}
