import { Unavailable } from './trouble.ts'

/**
 * Combines calls into batches: what arrives while a batch runs goes into the next one. When idle, a call runs at once; under
 * load the batches grow. When a batch fails for a reason other than an unavailable database, each member is retried alone, so
 * that one bad member does not fail the others.
 */
export function batched<In, Out>(
  sizeMax: number,
  run: (inputs: readonly In[]) => Promise<readonly Out[]>,
): (input: In) => Promise<Out> {
  const waiting: Member<In, Out>[] = []
  let isUnderWay = false

  async function drain() {
    isUnderWay = true
    // Lets everything that is requested in this turn of the event loop join the batch.
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
