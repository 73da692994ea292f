/** Something about a backup is not as it should be: what, and what to do about it. */
export class BackupError extends Error {
  override readonly name = 'BackupError'
  readonly advice: string

  constructor(what: string, advice: string) {
    super(what)
    this.advice = advice
  }
}
