/** Things made ahead of need, because making one takes longer than what is done with it. */
export interface Reserve<Thing> {
  /** The next one; another is begun in its place. */
  take(): Promise<Thing>
  /** Ends the ones nobody took. */
  close(): Promise<void>
}

export function keepReserve<Thing>(
  size: number,
  total: number,
  make: () => Promise<Thing>,
  end: (thing: Thing) => Promise<unknown>,
): Reserve<Thing> {
  const waiting: Promise<Thing>[] = []
  let made = 0
  const fill = () => {
    for (; waiting.length < size && made < total; made += 1) {
      const making = make()
      // The caller of take() gets the rejection; until then it must not count as unhandled.
      making.catch(() => {})
      waiting.push(making)
    }
  }
  fill()
  return {
    take() {
      const next = waiting.shift() ?? make()
      fill()
      return next
    },
    async close() {
      made = total
      await Promise.all(waiting.splice(0).map(async (making) => end(await making)))
    },
  }
}
