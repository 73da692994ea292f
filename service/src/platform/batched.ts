import { Unavailable } from './trouble.ts'

/**
 * Makes one call of many: what comes while a batch is under way goes together into the next. At rest nobody waits; under load
 * batches grow by themselves. When a batch fails for another reason than a database that is away, each of its members is
 * tried alone, so that one bad member spoils nobody else's.
 */
export function batched<In, Out>(
  sizeMax: number,
  run: (inputs: readonly In[]) => Promise<readonly Out[]>,
): (input: In) => Promise<Out> {
  const waiting: Member<In, Out>[] = []
  let isUnderWay = false

  async function drain() {
    isUnderWay = true
    // Whatever is being asked for in this turn of the loop comes along.
    await undefined
    while (waiting.length > 0) await settle(waiting.splice(0, sizeMax))
    isUnderWay = false
  }

  async function settle(members: readonly Member<In, Out>[]): Promise<void> {
    try {
      const outputs = await run(members.map(({ input }) => input))
      for (const [n, { resolve }] of members.entries()) resolve(outputs[n] as Out)
    } catch (error) {
      if (members.length === 1 || error instanceof Unavailable) {
        for (const { reject } of members) reject(error)
      } else {
        for (const member of members) await settle([member])
      }
    }
  }

  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject })
      if (!isUnderWay) void drain()
    })
}

interface Member<In, Out> {
  readonly input: In
  resolve(output: Out): void
  reject(error: unknown): void
}
