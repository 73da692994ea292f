/** A problem with a backup: what it is, and what to do about it. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
  readonly advice: string

  constructor(what: string, advice: string) {
    super(what)
    this.advice = advice
  }
}
