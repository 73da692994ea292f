import type { Operator } from '@shopwire/service/embedded'

/** Opens and closes the store as the faults require. Changes run one after the other, each towards the state required at that time. */
export function createStoreState(operator: Pick<Operator, 'setStore'>, isClosed: () => boolean) {
  // Unknown at first: a kept database may contain a closed store.
  let current: boolean | undefined
  let pending: Promise<void> = Promise.resolve()
  const change = async () => {
    const closed = isClosed()
    if (closed === current) return
    await operator.setStore(!closed, closed ? 'closed in the emulator' : null)
    current = closed
  }
  return {
    sync(): Promise<void> {
      pending = pending.then(change, change)
      return pending
    },
  }
}
