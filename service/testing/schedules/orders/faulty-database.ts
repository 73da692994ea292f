import pg from 'pg'
import type { Db, Queryable, Tx } from '../../../src/platform/database/db.ts'
import { Unavailable } from '../../../src/platform/trouble.ts'

/**
 * What can happen at one use of the database. A use that is `slow` has been given up by its process, and the server does it later all the
 * same; in the middle of a transaction the server rolls back instead.
 */
export const FAULTS = [
  'killed before',
  'killed after',
  'network cut',
  'answer lost',
  'disk full',
  'paused',
  'slow',
] as const
export type Fault = (typeof FAULTS)[number]

/** The process is gone. Nobody in it learns of this; its callers see a lost connection. */
export class Killed extends Error {
  override readonly name = 'Killed'
}

export interface Meeting {
  /** When the fault has happened; a process that is paused, or has given up, is there now. */
  readonly happened: Promise<void>
  hasHappened(): boolean
  /** A paused process goes on, and a slow server does what it was asked. Settles when it is done. */
  release(): Promise<void>
}

export interface FaultyDatabase {
  readonly db: Db
  /** The fault that the nth use from now meets, if there are so many before `release`. */
  meet(fault: Fault, n: number): Meeting
  isDead(): boolean
}

interface Planned {
  readonly fault: Fault
  left: number
  readonly isReleased: Promise<void>
  happen(): void
}

/** The connections of one process. */
export function faultyDatabase(real: Db): FaultyDatabase {
  let planned: Planned | undefined
  let isDead = false
  /** What the server still does for a process that no longer waits for it. */
  const unattended = new Set<Promise<unknown>>()

  function next(): Planned | undefined {
    if (!planned) return undefined
    planned.left -= 1
    if (planned.left > 0) return undefined
    const met = planned
    planned = undefined
    met.happen()
    return met
  }

  function die(): never {
    isDead = true
    throw new Killed()
  }

  /** `run` is what the server does, and `abandon` tells it that its client is gone. */
  async function use<Result>(run: () => Promise<Result>, abandon?: (error: Error) => void): Promise<Result> {
    const goneBefore = (error: Error): never => {
      abandon?.(error)
      throw error
    }
    if (isDead) goneBefore(new Killed())
    const met = next()
    switch (met?.fault) {
      case undefined:
        return run()
      case 'killed before':
        abandon?.(new Killed())
        return die()
      case 'killed after':
        await run()
        return die()
      case 'network cut':
        return goneBefore(lost())
      case 'answer lost':
        await run()
        throw lost()
      case 'disk full':
        return goneBefore(diskFull())
      case 'paused':
        await met.isReleased
        return run()
      case 'slow':
        leave(met.isReleased.then(run))
        throw lost()
    }
  }

  function leave(work: Promise<unknown>) {
    const settled = work.catch(() => {}).finally(() => unattended.delete(settled))
    unattended.add(settled)
  }

  /** Statements of a transaction: a client that gives one up has given up all of it. */
  const inTransaction = (tx: Tx): Tx => ({ ...queries(tx, (run) => useOf(run)), inTransaction: true })
  const useOf = async <Result>(run: () => Promise<Result>): Promise<Result> => {
    if (planned?.left === 1 && planned.fault === 'slow') {
      next()
      throw lost()
    }
    return use(run)
  }

  async function transaction<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> {
    const isWorkDone = Promise.withResolvers<void>()
    const mayCommit = Promise.withResolvers<void>()
    mayCommit.promise.catch(() => {})
    const whole = real.transaction(async (tx) => {
      const result = await work(inTransaction(tx))
      isWorkDone.resolve()
      await mayCommit.promise
      return result
    })
    leave(whole)
    await Promise.race([isWorkDone.promise, whole])
    return use(() => {
      mayCommit.resolve()
      return whole
    }, mayCommit.reject)
  }

  return {
    db: {
      ...real,
      ...queries(real, use),
      commit: (statement) => use(() => real.commit(statement)),
      transaction,
    },
    isDead: () => isDead,
    meet(fault, n) {
      const happening = Promise.withResolvers<void>()
      const releasing = Promise.withResolvers<void>()
      let hasHappened = false
      const mine: Planned = {
        fault,
        left: n,
        isReleased: releasing.promise,
        happen() {
          hasHappened = true
          happening.resolve()
        },
      }
      planned = mine
      return {
        happened: happening.promise,
        hasHappened: () => hasHappened,
        async release() {
          if (planned === mine) planned = undefined
          releasing.resolve()
          await Promise.all(unattended)
        },
      }
    },
  }
}

function queries(real: Queryable, use: <Result>(run: () => Promise<Result>) => Promise<Result>): Queryable {
  return {
    one: (statement) => use(() => real.one(statement)),
    maybeOne: (statement) => use(() => real.maybeOne(statement)),
    many: (statement) => use(() => real.many(statement)),
    run: (statement) => use(() => real.run(statement)),
  }
}

const lost = () =>
  new Unavailable('database', Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))

function diskFull() {
  const error = new pg.DatabaseError('could not extend file: No space left on device', 0, 'error')
  return new Unavailable('database', Object.assign(error, { code: '53100' }))
}
