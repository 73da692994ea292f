import type { Operator } from '@shopwire/service/embedded'

/** The sign on the door, which an operator turns. One turn at a time, and always to what is wanted then. */
export function createStoreSign(operator: Pick<Operator, 'setStore'>, isClosed: () => boolean) {
  // Unknown at first: a database that was kept may have been left with a closed store.
  let shown: boolean | undefined
  let turning: Promise<void> = Promise.resolve()
  const turn = async () => {
    const closed = isClosed()
    if (closed === shown) return
    await operator.setStore(!closed, closed ? 'closed in the emulator' : null)
    shown = closed
  }
  return {
    follow(): Promise<void> {
      turning = turning.then(turn, turn)
      return turning
    },
  }
}
