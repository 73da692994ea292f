import { Unavailable } from '../trouble.ts'

export interface BatchedOptions<In, Out> {
  /** The dependency that it calls; named in the error when too many calls are waiting. */
  readonly part: string
  readonly sizeMax: number
  /**
   * Batches in progress at a time. With one, every call waits for the batch before its own; with many, there is little left to
   * combine.
   */
  readonly lanes?: number
  /**
   * A call that takes longer probably waits for a lock; its lane is released, so that other calls do not wait for it too. By
   * default only when there are several lanes; with one, batches never overlap.
   */
  readonly laneMsMax?: number
  readonly waitingMax?: number
  /** Two inputs with one key never share a batch; the key is usually the account. Without it, any two may. */
  keyOf?(input: In): string
  /**
   * All or nothing, results in the order of the inputs. Must not wait for anything that only one input needs: it skips that input
   * and returns MUST_WAIT for it.
   */
  runMany(inputs: readonly In[]): Promise<readonly (Out | MustWait)[]>
  /** Runs one input by itself, and may wait. By default a batch of one. */
  runOne?(input: In): Promise<Out>
  /** Whether this error of `runMany` proves that nothing was done, so that each input can be run by itself. */
  isUndone?(error: unknown): boolean
  /** Called with the number of calls that ran together, and how many of them had to wait. */
  onBatch?(size: number, mustWait: number): void
  readonly mode?: BatchingMode
}

export const MUST_WAIT = Symbol('must wait')
export type MustWait = typeof MUST_WAIT

/** `always` is for tests: every call goes through `runMany`, and waits a moment for others to join its batch. */
export type BatchingMode = 'adaptive' | 'off' | 'always'

const WAITING_MAX = 10_000
const JOIN_MS = 5
const LANE_MS_MAX = 50

/**
 * Combines calls into batches without delaying any: a call that finds a free lane starts at once, by itself; calls that arrive while all
 * lanes are in use go into the next batch. So batches grow with the load and disappear with it.
 *
 * Calls with one key run one after the other, and keys take turns, so that an account with many waiting calls delays only itself. While
 * there is a lane to spare, a second call of the same key starts beside the first and waits for its lock in the database: that saves a
 * busy account a round trip between two calls.
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
  const queues = new Map<string, KeyQueue<In, Out>>()
  /** Keys with a call waiting and none in progress, in turn. */
  const ready: KeyQueue<In, Out>[] = []
  let waiting = 0
  let lanesInUse = 0
  let isPlanned = false

  function plan() {
    if (isPlanned || lanesInUse >= lanes || ready.length === 0) return
    isPlanned = true
    // After everything that this turn of the event loop still reads from its sockets.
    if (mode === 'always') setTimeout(start, JOIN_MS)
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

  function next(queue: KeyQueue<In, Out>): Member<In, Out> {
    waiting -= 1
    queue.inProgress += 1
    return queue.waiting.shift() as Member<In, Out>
  }

  /** Called when a call of this key is waiting. */
  function advance(queue: KeyQueue<In, Out>) {
    if (queue.inProgress === 0) {
      ready.push(queue)
      plan()
    } else if (queue.inProgress === 1 && mode === 'adaptive' && lanesInUse < lanes && ready.length === 0) {
      void settleAlone(next(queue))
    }
  }

  /** Resolves when no call of the batch needs its lane any more; those that have to wait continue without one. */
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
      // In parallel: one of them may have to wait for what made the batch fail.
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

  function end({ queue }: Member<In, Out>, answer: () => void) {
    answer()
    queue.inProgress -= 1
    if (queue.waiting.length > 0) advance(queue)
    else if (queue.inProgress === 0 && queue.key !== undefined) queues.delete(queue.key)
  }

  function queueOf(input: In): KeyQueue<In, Out> {
    const key = keyOf?.(input)
    const known = key === undefined ? undefined : queues.get(key)
    if (known) return known
    const queue: KeyQueue<In, Out> = { key, waiting: [], inProgress: 0 }
    if (key !== undefined) queues.set(key, queue)
    return queue
  }

  return (input) =>
    new Promise((resolve, reject) => {
      if (waiting >= waitingMax) {
        reject(new Unavailable(options.part, new Error(`${waiting} calls are waiting already`)))
        return
      }
      const queue = queueOf(input)
      queue.waiting.push({ input, queue, resolve, reject })
      waiting += 1
      // A key whose turn has not come yet is in `ready` already.
      if (queue.inProgress > 0 || queue.waiting.length === 1) advance(queue)
    })
}

/** The calls with one key. */
interface KeyQueue<In, Out> {
  readonly key: string | undefined
  readonly waiting: Member<In, Out>[]
  inProgress: number
}

interface Member<In, Out> {
  readonly input: In
  readonly queue: KeyQueue<In, Out>
  resolve(output: Out): void
  reject(error: unknown): void
}
