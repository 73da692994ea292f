export type Pauses = ReturnType<typeof createPauses>

/** Delays that end when the emulator stops, so that stopping does not wait for delayed work. */
export function createPauses() {
  const ending = new Set<() => void>()
  let isOver = false
  return {
    wait(ms: number): Promise<void> {
      return this.until(() => {}, ms)
    },
    /** Resolves when `begin` calls back, the time is over, or the emulator stops. */
    until(begin: (done: () => void) => void, ms: number): Promise<void> {
      if (isOver) return Promise.resolve()
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer)
          ending.delete(done)
          resolve()
        }
        const timer = setTimeout(done, ms)
        ending.add(done)
        begin(done)
      })
    },
    end() {
      isOver = true
      for (const done of ending) done()
    },
  }
}
