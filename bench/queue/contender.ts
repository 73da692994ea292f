import type { Postgres } from '@shopwire/test-kit/servers'
import { superuserUrl } from '@shopwire/test-kit/systems'
import pg from 'pg'
import type { JobData } from './worker-frame.ts'

/** A job queue under test, in a database of its own. */
export interface Contender {
  readonly name: string
  /** The beginning of its names in the last line. */
  readonly field: string
  /** Of its database, with all rights. */
  readonly url: string
  /** With which its workers connect. */
  readonly workerUrl: string
  /** The file that a worker process runs. */
  readonly script: string
  /** The table that is written most. */
  readonly hotTable: string
  /** Inserts all of the jobs in one statement, or none. */
  insert(jobs: readonly JobData[]): Promise<void>
  close(): Promise<void>
}

export const DONE_TABLE = `
  create table done (
    n bigint not null,
    inserted_ms double precision not null,
    started_ms double precision not null,
    done_ms double precision not null default extract(epoch from clock_timestamp()) * 1000
  )`

/** A new database with the table `done`; returns its address, with all rights. */
export async function openDatabaseOf(postgres: Postgres, name: string): Promise<string> {
  await runStatement(postgres.superuserUrl, `create database ${name}`)
  const url = superuserUrl(postgres, name)
  await runStatement(url, DONE_TABLE)
  return url
}

async function runStatement(connectionString: string, text: string): Promise<void> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  await client.query(text).finally(() => client.end())
}
