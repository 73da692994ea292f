import { Unavailable } from '../trouble.ts'

export interface BatchedOptions<In, Out> {
  /** Which part of the system it calls; named to callers that find too many others waiting. */
  readonly part: string
  readonly sizeMax: number
  /** Batches in progress at a time. One makes all callers march in step; with many there is nothing left to combine. */
  readonly lanes?: number
  /**
   * A call that takes longer waits for something; others may use its lane then, so that they do not wait for it too. By default that
   * is so where there are several lanes; with one, batches never overlap.
   */
  readonly laneMsMax?: number
  readonly waitingMax?: number
  /** Two inputs with one key never share a batch; usually the account. Without it, any two may. */
  keyOf?(input: In): string
  /**
   * All or nothing, results in the order of the inputs. It waits for nothing that only one of the inputs needs: it leaves that
   * input undone and answers MUST_WAIT for it.
   */
  runMany(inputs: readonly In[]): Promise<readonly (Out | MustWait)[]>
  /** One input by itself. It may wait. Without it, a batch of one. */
  runOne?(input: In): Promise<Out>
  /** Whether this error of `runMany` means for certain that nothing was done, so that each input can be run by itself. */
  isUndone?(error: unknown): boolean
  /** With the number of calls that run together, and of those among them that had to wait. */
  onBatch?(size: number, mustWait: number): void
  readonly mode?: BatchingMode
}

export const MUST_WAIT = Symbol('must wait')
export type MustWait = typeof MUST_WAIT

/** `always` is for tests: everything goes through `runMany`, and each call waits a moment for others to join it. */
export type BatchingMode = 'adaptive' | 'off' | 'always'

const WAITING_MAX = 10_000
const COMPANY_MS = 5
const LANE_MS_MAX = 50

/**
 * Combines calls into batches without making anybody wait for company: a call that finds a free lane starts at once, by itself;
 * what arrives while all lanes are in use goes into the next batch. So batches grow with the load and disappear with it.
 *
 * Calls with one key run one after the other, and keys take turns, so that an account with many calls waiting delays only itself.
 * While there is a lane to spare, a second call of the same key starts beside the first and waits for it where the work is done:
 * that saves one busy account the way there and back between two calls.
 */
export function batched<In, Out>(options: BatchedOptions<In, Out>): (input: In) => Promise<Out> {
  const {
    sizeMax,
    keyOf,
    runMany,
    mode = 'adaptive',
    lanes = 1,
    laneMsMax = lanes > 1 ? LANE_MS_MAX : undefined,
    waitingMax = WAITING_MAX,
  } = options
  const runOne = options.runOne ?? (async (input: In) => (await runMany([input]))[0] as Out)
  if (mode === 'off') return runOne
  const isUndone = options.isUndone ?? ((error: unknown) => !(error instanceof Unavailable))
  const lines = new Map<string, Line<In, Out>>()
  /** Lines that have somebody waiting and nobody in progress, in turn. */
  const ready: Line<In, Out>[] = []
  let waiting = 0
  let lanesInUse = 0
  let isPlanned = false

  function plan() {
    if (isPlanned || lanesInUse >= lanes || ready.length === 0) return
    isPlanned = true
    // After everything that this turn of the event loop still reads from its sockets.
    if (mode === 'always') setTimeout(start, COMPANY_MS)
    else setImmediate(start)
  }

  function start() {
    isPlanned = false
    while (lanesInUse < lanes && ready.length > 0) {
      const release = takeLane()
      void settle(ready.splice(0, sizeMax).map(next)).finally(release)
    }
  }

  function takeLane(): () => void {
    let isTaken = true
    const release = () => {
      if (!isTaken) return
      isTaken = false
      clearTimeout(timer)
      lanesInUse -= 1
      plan()
    }
    const timer = laneMsMax === undefined ? undefined : setTimeout(release, laneMsMax)
    lanesInUse += 1
    return release
  }

  function next(line: Line<In, Out>): Member<In, Out> {
    waiting -= 1
    line.inProgress += 1
    return line.waiting.shift() as Member<In, Out>
  }

  /** For a line that has somebody waiting. */
  function advance(line: Line<In, Out>) {
    if (line.inProgress === 0) {
      ready.push(line)
      plan()
    } else if (line.inProgress === 1 && mode === 'adaptive' && lanesInUse < lanes && ready.length === 0) {
      void settleAlone(next(line))
    }
  }

  /** Resolves when no call of the batch needs its lane any more; those that have to wait go on without one. */
  async function settle(members: readonly Member<In, Out>[]): Promise<void> {
    if (members.length === 1 && mode !== 'always') {
      options.onBatch?.(1, 0)
      return settleAlone(members[0] as Member<In, Out>)
    }
    let outputs: readonly (Out | MustWait)[]
    try {
      outputs = await runMany(members.map(({ input }) => input))
    } catch (error) {
      if (!isUndone(error)) for (const member of members) end(member, () => member.reject(error))
      // Side by side: one of them may have to wait for what made the batch fail.
      else await Promise.all(members.map(settleAlone))
      return
    }
    let mustWait = 0
    for (const [n, member] of members.entries()) {
      const output = outputs[n] as Out | MustWait
      if (output !== MUST_WAIT) end(member, () => member.resolve(output))
      else {
        mustWait += 1
        void settleAlone(member)
      }
    }
    options.onBatch?.(members.length, mustWait)
  }

  async function settleAlone(member: Member<In, Out>): Promise<void> {
    try {
      const output = await runOne(member.input)
      end(member, () => member.resolve(output))
    } catch (error) {
      end(member, () => member.reject(error))
    }
  }

  function end({ line }: Member<In, Out>, answer: () => void) {
    answer()
    line.inProgress -= 1
    if (line.waiting.length > 0) advance(line)
    else if (line.inProgress === 0 && line.key !== undefined) lines.delete(line.key)
  }

  function lineOf(input: In): Line<In, Out> {
    const key = keyOf?.(input)
    const known = key === undefined ? undefined : lines.get(key)
    if (known) return known
    const line: Line<In, Out> = { key, waiting: [], inProgress: 0 }
    if (key !== undefined) lines.set(key, line)
    return line
  }

  return (input) =>
    new Promise((resolve, reject) => {
      if (waiting >= waitingMax) {
        reject(new Unavailable(options.part, new Error(`${waiting} calls are waiting already`)))
        return
      }
      const line = lineOf(input)
      line.waiting.push({ input, line, resolve, reject })
      waiting += 1
      // A line whose turn has not come yet is in `ready` already.
      if (line.inProgress > 0 || line.waiting.length === 1) advance(line)
    })
}

/** The calls with one key. */
interface Line<In, Out> {
  readonly key: string | undefined
  readonly waiting: Member<In, Out>[]
  inProgress: number
}

interface Member<In, Out> {
  readonly input: In
  readonly line: Line<In, Out>
  resolve(output: Out): void
  reject(error: unknown): void
}
