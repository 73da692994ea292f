import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAccount } from '../../../src/accounts/account.ts'
import { type Queryable, type Statement, sql } from '../../../src/platform/database/db.ts'
import { createJobRunner, type JobEnd } from '../../../src/platform/jobs/job-runner.ts'
import {
  claimJobs,
  extendLeases,
  failJob,
  finishJob,
  type Job,
  LeaseLostError,
  postponeJob,
  retryDeadLetters,
  selectDeadLetters,
  wakeJob,
} from '../../../src/platform/jobs/jobs.ts'
import { createLog } from '../../../src/platform/observability/log.ts'
import { createMetrics } from '../../../src/programs/metrics.ts'
import { asSuperuser, openTestDatabase, type TestDatabase } from '../../../testing/database.ts'

const QUEUE = 'test'
const LEASE_MS = 60_000

let database: TestDatabase
let account_id: string
beforeAll(async () => {
  database = await openTestDatabase()
  account_id = (await database.operator.transaction((tx) => createAccount(tx, 'Jobs', Date.now()))).id
})
afterAll(() => database.close())
beforeEach(() => database.asOwner('delete from jobs'))

const add = (subject: string) => wakeJob(database.worker, account_id, QUEUE, subject)
const take = async (limit = 10, leaseMs = LEASE_MS) =>
  (await claimJobs(database.worker, QUEUE, 'usual', { limit, leaseMs })).jobs
const finish = (job: Job) => database.worker.transaction((tx) => finishJob(tx, job))
const left = () =>
  database.owner.many<{ subject: string; note: string | null; due: boolean }>(
    sql`select subject, note, run_at <= clock_timestamp() as due from jobs order by subject`,
  )
const addMany = (count: number, isBacklog = false) =>
  database.asOwner(
    `insert into jobs (account_id, queue, subject, run_at, is_backlog, created_at)
     select '${account_id}', '${QUEUE}', 'job ' || n, now(), ${isBacklog}, now() from generate_series(1, ${count}) n`,
  )
/** Pages without rows: the planner then expects one due job, however many are inserted afterwards. */
const analyseEmptyTable = async () => {
  await database.asOwner('alter table jobs set (autovacuum_enabled = false)')
  await addMany(3_000)
  await database.asOwner('delete from jobs')
  await database.asOwner('analyze jobs')
}
const countLeases = async () => {
  const { leases } = await database.owner.one<{ leases: number }>(
    sql`select count(*) as leases from jobs where leased_until > clock_timestamp()`,
  )
  return leases
}
/** The statement itself, for EXPLAIN. */
const takeJobsStatement = () => {
  let caught: Statement | undefined
  const catcher = {
    many: async (statement: Statement) => {
      caught = statement
      return []
    },
  }
  void claimJobs(catcher as unknown as Queryable, QUEUE, 'usual', { limit: 10, leaseMs: LEASE_MS }).catch(
    () => {},
  )
  return caught as unknown as { text: string; values: unknown[] }
}
const only = (jobs: readonly Job[]) => {
  expect(jobs.length).toBe(1)
  return jobs[0] as Job
}

describe('a lease', () => {
  test('hides the job from other workers until it expires; then any worker may claim it', async () => {
    await add('a')
    const first = only(await take(10, 1))
    await expect.poll(() => left()).toEqual([{ subject: 'a', note: null, due: true }])
    const second = only(await take())
    expect([first.attempts, second.attempts]).toEqual([1, 2])
    expect(await take()).toEqual([])
  })

  test('when lost, rolls back what the first worker was about to commit', async () => {
    await add('a')
    const slow = only(await take(10, 0))
    const quick = only(await take())
    await expect(finish(slow)).rejects.toThrow(LeaseLostError)
    expect(await postponeJob(database.worker, slow, { waitMs: 0, note: 'late' })).toBe(0)
    expect(await extendLeases(database.worker, QUEUE, [slow], 0)).toBe(0)
    await finish(quick)
    expect(await left()).toEqual([])
  })

  test('lasts for as long as its worker extends it', async () => {
    await add('a')
    const job = only(await take(10, 0))
    expect(await extendLeases(database.worker, QUEUE, [job], LEASE_MS)).toBe(1)
    expect(await take()).toEqual([])
  })

  test('a job that is woken while it is worked on is due again, whatever its worker decides', async () => {
    await add('a')
    const job = only(await take())
    await add('a')
    expect(await take()).toEqual([])
    await postponeJob(database.worker, job, { note: 'found nothing' })
    expect(only(await take()).attempts).toBe(2)
  })

  test('extending a lease does not undo that the job was given back', async () => {
    await add('a')
    const job = only(await take())
    await postponeJob(database.worker, job, { waitMs: 0, note: 'later' })
    expect(await extendLeases(database.worker, QUEUE, [job], LEASE_MS)).toBe(0)
    expect(only(await take()).attempts).toBe(2)
  })

  test('claiming reads only due jobs, however many are parked', async () => {
    await database.asOwner(
      `insert into jobs (account_id, queue, subject, run_at, created_at)
       select '${account_id}', '${QUEUE}', 'parked ' || n, 'infinity', now() from generate_series(1, 20000) n`,
    )
    await database.asOwner('analyze jobs')
    const plan = await asSuperuser(async (client) => {
      const { text, values } = takeJobsStatement()
      const { rows } = await client.query(`explain (analyze, format json) ${text}`, values)
      return JSON.stringify(rows)
    }, database.superuserUrl)
    expect(plan).toMatch(/"Index Cond":"[^"]*run_at <=/)
    expect(plan).not.toMatch(/"Rows Removed by (?:Filter|Index Recheck)":[1-9]\d{2}/)
  })

  test('claims exactly the requested number of jobs after the empty table was analysed', async () => {
    await analyseEmptyTable()
    await addMany(3_000)
    expect(await take(8)).toHaveLength(8)
    expect(await countLeases()).toBe(8)
  })

  test('two workers never claim the same job at the same time', async () => {
    await Promise.all(Array.from({ length: 100 }, (_, n) => add(`job ${n}`)))
    const taken = (await Promise.all(Array.from({ length: 20 }, () => take(10)))).flat()
    expect(taken.length).toBe(100)
    expect(new Set(taken.map(({ subject }) => subject)).size).toBe(100)
  })
})

describe('a dead letter', () => {
  const dead = () => selectDeadLetters(database.operator, 10)
  const failOnce = async () =>
    failJob(database.worker, only(await take()), { waitMs: 0, note: 'a bug', failuresMax: 3 })

  test('is what a job becomes that failed too often in a row; it is listed with the reason and not claimed again', async () => {
    await add('a')
    expect([await failOnce(), await failOnce()]).toEqual([{ is_dead: false }, { is_dead: false }])
    expect(await dead()).toEqual([])
    expect(await failOnce()).toEqual({ is_dead: true })
    expect(await dead()).toMatchObject([{ subject: 'a', failures: 3, note: 'a bug' }])
    expect(await take()).toEqual([])
  })

  test('is due again when an operator retries it, with all its attempts', async () => {
    await add('a')
    for (let n = 0; n < 3; n += 1) await failOnce()
    expect(await database.operator.transaction((tx) => retryDeadLetters(tx, QUEUE, 'another'))).toEqual([])
    expect(await database.operator.transaction((tx) => retryDeadLetters(tx, QUEUE, null))).toHaveLength(1)
    expect(await dead()).toEqual([])
    const [job] = (await claimJobs(database.worker, QUEUE, 'backlog', { limit: 1, leaseMs: LEASE_MS })).jobs
    expect(job).toMatchObject({ subject: 'a', failures: 0 })
  })

  test('is due again when there is something new to do', async () => {
    await add('a')
    for (let n = 0; n < 3; n += 1) await failOnce()
    await add('a')
    expect(only(await take()).failures).toBe(3)
    expect(await dead()).toEqual([])
  })

  test('is not made of a job that was woken while it failed, or that had succeeded in between', async () => {
    await add('a')
    await failOnce()
    await failOnce()
    const job = only(await take())
    await add('a')
    expect(await failJob(database.worker, job, { waitMs: 0, note: 'a bug', failuresMax: 3 })).toEqual({
      is_dead: false,
    })
    await postponeJob(database.worker, only(await take()), { waitMs: 0, note: 'worked' })
    expect(only(await take()).failures).toBe(0)
  })
})

describe('a runner', () => {
  const log = createLog('silent')
  const run = (work: (job: Job) => Promise<JobEnd>, concurrency = 4, backlogMax = 0) => {
    const runner = createJobRunner(database.worker, {
      queue: QUEUE,
      subjectName: 'subject',
      concurrency,
      backlogMax,
      failingMax: 1,
      log,
      metrics: createMetrics('test'),
      work,
    })
    runner.start()
    return runner
  }

  test('starts due jobs within a moment, and never more at once than its slots', async () => {
    let atOnce = 0
    let most = 0
    const done: string[] = []
    const runner = run(async (job) => {
      atOnce += 1
      most = Math.max(most, atOnce)
      await new Promise((resolve) => setTimeout(resolve, 2))
      await finish(job)
      done.push(job.subject)
      atOnce -= 1
      return { kind: 'done' }
    }, 3)
    await Promise.all(Array.from({ length: 50 }, (_, n) => add(`job ${n}`)))
    await expect.poll(() => done.length).toBe(50)
    expect(most).toBeLessThanOrEqual(3)
    await runner.stop(1_000)
  })

  test.each([8, 256])(
    'with %i slots never holds more of 3,000 due jobs after the empty table was analysed',
    async (slots) => {
      await analyseEmptyTable()
      await addMany(3_000)
      let running = 0
      let runningMax = 0
      let leasesMax = 0
      let begun = 0
      const runner = run(async (job) => {
        running += 1
        begun += 1
        runningMax = Math.max(runningMax, running)
        if (begun % 50 === 1) leasesMax = Math.max(leasesMax, await countLeases())
        await finish(job)
        running -= 1
        return { kind: 'done' }
      }, slots)
      try {
        await expect.poll(() => begun, { timeout: 20_000 }).toBeGreaterThan(1_000)
      } finally {
        await runner.stop(1_000)
      }
      expect(runningMax).toBeLessThanOrEqual(slots)
      expect(leasesMax).toBeLessThanOrEqual(slots)
    },
  )

  test('retries after the given wait, parks a job that waits for an operator, and records why', async () => {
    const ends: JobEnd[] = [
      { kind: 'again', waitMs: 30, note: 'not yet' },
      { kind: 'parked', note: 'needs an operator' },
    ]
    const attempts: number[] = []
    const runner = run(async (job) => {
      attempts.push(job.attempts)
      const end = ends.shift()
      if (end) return end
      await finish(job)
      return { kind: 'done' }
    })
    await add('a')
    await expect.poll(() => left()).toEqual([{ subject: 'a', note: 'needs an operator', due: false }])
    await add('a')
    await expect.poll(() => left()).toEqual([])
    expect(attempts).toEqual([1, 2, 3])
    await runner.stop(1_000)
  })

  test('delays a job that threw, and continues with the others', async () => {
    const runner = run(async (job) => {
      if (job.subject === 'bad') throw new Error('a bug')
      await finish(job)
      return { kind: 'done' }
    })
    await add('bad')
    await add('good')
    await expect
      .poll(() => left())
      .toEqual([{ subject: 'bad', note: expect.stringContaining('our side'), due: false }])
    await runner.stop(1_000)
  })

  test('failing jobs get only their share of the slots', async () => {
    const hanging = Promise.withResolvers<JobEnd>()
    const done: string[] = []
    const begun: string[] = []
    const runner = run(async (job) => {
      if (job.subject.startsWith('bad')) {
        if (job.attempts === 1) return { kind: 'again', waitMs: 0, note: 'failed', isFailing: true }
        begun.push(job.subject)
        return hanging.promise
      }
      await finish(job)
      done.push(job.subject)
      return { kind: 'done' }
    }, 2)
    for (let n = 0; n < 10; n += 1) await add(`bad ${n}`)
    await expect.poll(() => begun.length).toBe(1)
    for (let n = 0; n < 10; n += 1) await add(`good ${n}`)
    await expect.poll(() => done.length).toBe(10)
    expect(begun.length).toBe(1)
    hanging.resolve({ kind: 'parked', note: 'enough' })
    await runner.stop(1_000)
  })

  test('jobs that became due in large numbers get only their share of the slots, and all of it however much else is due', async () => {
    const released = Promise.withResolvers<void>()
    const begun: string[] = []
    const done: string[] = []
    const runner = run(
      async (job) => {
        begun.push(job.subject)
        if (job.is_backlog) await released.promise
        await finish(job)
        done.push(job.subject)
        return { kind: 'done' }
      },
      4,
      2,
    )
    await addMany(50, true)
    const ofBacklog = () => begun.filter((subject) => subject.startsWith('job ')).length
    await expect.poll(ofBacklog).toBe(2)
    for (let n = 0; n < 10; n += 1) await add(`own ${n}`)
    await expect.poll(() => done.length).toBe(10)
    expect(ofBacklog()).toBe(2)
    released.resolve()
    await expect.poll(() => done.length).toBe(60)
    await runner.stop(1_000)
  })

  test('gives back at once the jobs that do not end while it stops', async () => {
    const hanging = Promise.withResolvers<JobEnd>()
    const begun = Promise.withResolvers<void>()
    const runner = run(() => {
      begun.resolve()
      return hanging.promise
    })
    await add('slow')
    await begun.promise
    await runner.stop(20)
    expect((await left())[0]).toMatchObject({ subject: 'slow', due: true })
    hanging.resolve({ kind: 'done' })
  })
})
