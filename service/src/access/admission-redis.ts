import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Cluster, type Redis } from 'ioredis'
import { type BatchingMode, batched, MUST_WAIT, type MustWait } from '../platform/batching/batched.ts'
import type { Db } from '../platform/database/db.ts'
import { Unavailable } from '../platform/trouble.ts'
import type { Admission, AdmissionLimits, Attempt, Verdict } from './admission.ts'
import { PURGE_EVERY_MS, purge, witnessNonce, witnessRefusal } from './admission-postgres.ts'
import { connected, connectRedis, type RedisClient } from './redis-client.ts'
import { SLOT_COUNT, slotOf, tagsBySlot } from './redis-slots.ts'
import type { RedisSettings } from './redis-urls.ts'

export interface RedisAdmissionOptions extends RedisSettings {
  readonly timeoutMs: number
  readonly limits: AdmissionLimits
  readonly batching?: BatchingMode
  onBatch?(size: number, mustWait: number): void
  onError(error: Error): void
  onDataLost(): void
}

/** What the database has durably recorded ("witnessed") of a request when Redis is called for the second time. */
type Witnessed = 'nonce' | 'refusal'
interface Question {
  readonly attempt: Attempt
  readonly witnessed?: Witnessed
  /** With a witnessed refusal: the time up to which requests are refused. */
  readonly refusedTo?: number
}
type Reply = [verdict: string, epoch: string, ...numbers: number[]]
type Client = RedisClient & {
  /** One script under two names: in a cluster the client finds the server by a command's first key, so the count of keys must be fixed. */
  admit(...keysAndArguments: (string | number)[]): Promise<string[]>
  admitMany(keyCount: number, ...keysAndArguments: (string | number)[]): Promise<string[]>
  startEpoch(slotStateKey: string): Promise<number>
  raiseAccessVersion(accessVersionKey: string, access_version: number, ttlS: number): Promise<number>
}

const PREFIX = 'shopwire'
const WATCH_EVERY_MS = 500
/** Longer than any process caches a key (see known-keys.ts), so that an announcement outlives every cache it invalidates. */
const ACCESS_VERSION_TTL_S = 3_600
/** One lost answer does not count as an outage. */
const SILENT_LOOKS_MAX = 1
const SLOT_BATCH = 512
/** In admission.lua. */
const KEYS_PER_REQUEST = 6
/** As measured in decision 0008. */
const ADMIT_LANES = 3
const ADMIT_BATCH_MAX = 16
/** One slot in each of sixteen ranges, so that every master of a cluster of up to that size is checked each time. */
const WATCHED_SLOTS = Array.from({ length: 16 }, (_, n) => (n * SLOT_COUNT) / 16)
const REDIS_SILENT =
  'Redis does not answer, so signed requests cannot be admitted and get 503. Start it, or repair the connection to it; it is used again within a second'
/** A store in a new epoch admits no request for the rest of this second and the next two. */
const WARMING_MS = 3_000

const ADMIT_LUA = readFileSync(new URL('./admission.lua', import.meta.url), 'utf8')
/** Starts an epoch in a slot that has none; returns 1 if it did. The same as the start of admission.lua. */
const START_EPOCH_LUA = `
local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
if redis.call('HGET', KEYS[1], 'run') == run then return 0 end
local purged_to = redis.call('HGET', KEYS[1], 'purged_to') or '0'
redis.call('HSET', KEYS[1], 'run', run, 'lost_at', tonumber(redis.call('TIME')[1]) + 2, 'purged_to', purged_to)
return 1`
const RAISE_ACCESS_VERSION_LUA = `
local known = tonumber(redis.call('GET', KEYS[1]) or '0')
redis.call('SET', KEYS[1], math.max(known, tonumber(ARGV[1])), 'EX', ARGV[2])
return 1`

/** Admission in Redis, single, with sentinels or cluster: takes the most frequent writes off the database. */
export function redisAdmission(db: Db, options: RedisAdmissionOptions): Admission {
  const client = connect(options)
  const slotTags = tagsBySlot()
  const slotStateKey = (slot: number) => `${PREFIX}:memory:{${slotTags[slot]}}`
  let watching: NodeJS.Timeout | undefined
  let purging: NodeJS.Timeout | undefined
  let areAllStarted = false
  let isClosed = false
  let silentLooks = 0

  /** Starts an epoch in those of the slots that lost their data; returns whether there were any. */
  async function startEpochs(slots: readonly number[]): Promise<boolean> {
    const replies = await answered(Promise.all(slots.map((slot) => client.startEpoch(slotStateKey(slot)))))
    return replies.includes(1)
  }

  /** All slots at once, so that callers see one short pause instead of one per slot. */
  async function startAllEpochs(): Promise<boolean> {
    let isAnyLost = false
    for (let first = 0; first < SLOT_COUNT; first += SLOT_BATCH) {
      isAnyLost = (await startEpochs(Array.from({ length: SLOT_BATCH }, (_, n) => first + n))) || isAnyLost
    }
    areAllStarted = true
    return isAnyLost
  }

  async function watch(): Promise<void> {
    if (await startEpochs(WATCHED_SLOTS)) {
      areAllStarted = false
      options.onDataLost()
    }
    // Repeated until it succeeds: a failover may be only half done.
    if (!areAllStarted) await startAllEpochs()
  }

  /** One check at a time, each started some time after the last one ended. */
  function keepWatching() {
    if (isClosed) return
    watching = setTimeout(
      () => void watch().then(onWatched, onWatchError).finally(keepWatching),
      WATCH_EVERY_MS,
    ).unref()
  }

  function onWatched() {
    silentLooks = 0
  }

  function onWatchError(error: Error) {
    silentLooks += 1
    options.onError(error)
    // A master that hangs keeps its connections open; a new connection makes the client ask the sentinels again for the master.
    if (options.sentinels !== undefined && client.status === 'ready') client.disconnect(true)
  }

  /** Requests of any accounts; in a cluster only one at a time. */
  async function ask(questions: readonly Question[]): Promise<Reply[]> {
    const keysAndArguments: (string | number)[] = []
    for (const { attempt } of questions) {
      const own = `${PREFIX}:{${attempt.account_id}}`
      keysAndArguments.push(
        slotStateKey(slotOf(attempt.account_id)),
        `${own}:nonce:${attempt.key_id}:${attempt.nonce}`,
        `${own}:requests`,
        `${own}:orders`,
        `${own}:access-version`,
        `${own}:refusals`,
      )
    }
    keysAndArguments.push(options.limits.requestsMax, options.limits.ordersMax)
    for (const { attempt, witnessed = '', refusedTo = 0 } of questions) {
      const { signed_at, access_version, epoch = '', isOrder } = attempt
      keysAndArguments.push(signed_at, access_version, epoch, isOrder ? 1 : 0, witnessed, refusedTo)
    }
    const replies = await answered(
      questions.length === 1
        ? client.admit(...keysAndArguments)
        : client.admitMany(questions.length * KEYS_PER_REQUEST, ...keysAndArguments),
    )
    return replies.map(readReply)
  }

  async function askOne(question: Question): Promise<Reply> {
    const [reply] = await ask([question])
    return reply as Reply
  }

  async function admitOne(attempt: Attempt): Promise<Verdict> {
    const reply = await askOne({ attempt })
    const [verdict, epoch] = reply
    const again = { ...attempt, epoch }
    if (verdict === 'witness_refusal') {
      const refusedTo = await witnessRefusal(db, attempt)
      return toVerdict(await askOne({ attempt: again, witnessed: 'refusal', refusedTo }), options.limits)
    }
    if (verdict !== 'witness') return toVerdict(reply, options.limits)
    const { isNew, refusedTo } = await witnessNonce(db, attempt)
    if (!isNew) return { kind: 'replayed' }
    return toVerdict(
      await askOne(
        refusedTo === null
          ? { attempt: again, witnessed: 'nonce' }
          : { attempt: again, witnessed: 'refusal', refusedTo },
      ),
      options.limits,
    )
  }

  /** A request that has to be witnessed repeats the call itself: nothing was recorded for it yet. */
  async function admitMany(attempts: readonly Attempt[]): Promise<(Verdict | MustWait)[]> {
    const replies = await ask(attempts.map((attempt) => ({ attempt })))
    return replies.map((reply) =>
      reply[0].startsWith('witness') ? MUST_WAIT : toVerdict(reply, options.limits),
    )
  }

  return {
    admit: batched<Attempt, Verdict>({
      part: 'admission',
      lanes: ADMIT_LANES,
      sizeMax: ADMIT_BATCH_MAX,
      runOne: admitOne,
      runMany: admitMany,
      // The script may have run for some requests of the batch; how many is unknown.
      isUndone: () => false,
      // A cluster spreads keys over servers; commands sent at once to one of them are pipelined anyway.
      mode: options.isCluster ? 'off' : (options.batching ?? 'adaptive'),
      ...(options.onBatch && { onBatch: options.onBatch }),
    }),
    async announce(account_id, access_version) {
      await answered(connected(client, options, options.timeoutMs))
      await answered(
        client.raiseAccessVersion(
          `${PREFIX}:{${account_id}}:access-version`,
          access_version,
          ACCESS_VERSION_TTL_S,
        ),
      )
    },
    problem: () => (silentLooks > SILENT_LOOKS_MAX ? REDIS_SILENT : undefined),
    async open() {
      await connected(client, options, options.timeoutMs)
      await refuseEvictingServers(client)
      if (options.sentinels !== undefined) await refuseLoneMaster(client)
      if (await startAllEpochs()) await sleep(WARMING_MS)
      if (watching === undefined) keepWatching()
      purging ??= setInterval(() => void purge(db).catch(options.onError), PURGE_EVERY_MS).unref()
    },
    async close() {
      clearTimeout(watching)
      clearInterval(purging)
      isClosed = true
      client.disconnect()
    },
  }
}

function connect(options: RedisAdmissionOptions): Client {
  const client = connectRedis(options, options.timeoutMs)
  client.on('error', options.onError)
  client.defineCommand('admit', { numberOfKeys: KEYS_PER_REQUEST, lua: ADMIT_LUA })
  client.defineCommand('admitMany', { lua: ADMIT_LUA })
  client.defineCommand('startEpoch', { numberOfKeys: 1, lua: START_EPOCH_LUA })
  client.defineCommand('raiseAccessVersion', { numberOfKeys: 1, lua: RAISE_ACCESS_VERSION_LUA })
  return client as Client
}

async function answered<Result>(reply: Promise<Result>): Promise<Result> {
  try {
    return await reply
  } catch (error) {
    throw error instanceof Unavailable ? error : new Unavailable('admission', error)
  }
}

function readReply(text: string): Reply {
  const [verdict = '', epoch = '', ...numbers] = text.split(' ')
  return [verdict, epoch, ...numbers.map(Number)]
}

function toVerdict([kind, epoch, ...n]: Reply, limits: AdmissionLimits): Verdict {
  if (kind !== 'admitted' && kind !== 'limited') return { kind } as Verdict
  const [requestsUsed = 0, requestsOldest = 0, ordersUsed = 0, ordersOldest = 0, waitMs = 0] = n
  return {
    kind,
    epoch,
    usage: {
      requests: { max: limits.requestsMax, used: requestsUsed, oldestLeavesMs: requestsOldest },
      orders: { max: limits.ordersMax, used: ordersUsed, oldestLeavesMs: ordersOldest },
      waitMs,
    },
  }
}

/** A server that evicts keys when memory is short would lose single nonces, which cannot be detected. */
async function refuseEvictingServers(client: Client): Promise<void> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client]
  for (const node of nodes) {
    const info = await answered(node.info('memory'))
    const policy = /maxmemory_policy:(\S+)/.exec(info)?.[1]
    if (policy !== 'noeviction') {
      throw new Error(
        `Redis is set to maxmemory-policy "${policy}". Nonces must not be evicted: set it to "noeviction".`,
      )
    }
  }
}

/**
 * A master that is cut off from its replicas and the sentinels continues while they promote another one. During that time a nonce
 * could be used once on each, unless the old master stops accepting writes without a replica.
 */
async function refuseLoneMaster(client: Client): Promise<void> {
  const info = await answered((client as Redis).info('replication'))
  // Reported only when the number and the lag are set.
  if (/^min_slaves_good_slaves:/m.test(info)) return
  throw new Error(
    'The Redis master that the sentinels name accepts writes without a replica. After a failover it could admit a request a second time: ' +
      'set "min-replicas-to-write 1" and "min-replicas-max-lag 10" on every server.',
  )
}
