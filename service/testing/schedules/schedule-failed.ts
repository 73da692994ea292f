/** A schedule that went wrong: what is wrong, and every step before it. */
export class ScheduleFailed extends Error {
  override readonly name = 'ScheduleFailed'
}
