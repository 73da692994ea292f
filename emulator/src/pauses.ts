export type Pauses = ReturnType<typeof createPauses>

/** Waiting that ends with the emulator: nobody who stops it should have to wait for what it holds back. */
export function createPauses() {
  const ending = new Set<() => void>()
  let isOver = false
  return {
    wait(ms: number): Promise<void> {
      return this.until(() => {}, ms)
    },
    /** Until `begin` was called back, the time is over, or everything is. */
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
