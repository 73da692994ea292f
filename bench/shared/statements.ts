import pg from 'pg'
import { say } from './figures.ts'

/** Settings of a PostgreSQL that counts its statements, which costs some of its time. */
export const COUNTED = { shared_preload_libraries: 'pg_stat_statements' }
const SHOWN = 15

type Counted = { readonly superuserUrl: string }

export const countFromNow = (system: Counted) =>
  asSuperuser(system, async (client) => {
    await client.query('create extension if not exists pg_stat_statements schema public')
    await client.query('select public.pg_stat_statements_reset()')
  })

/** Those that took longest since then: their share of the time, calls, time and rows of one. */
export const printStatements = (system: Counted) =>
  asSuperuser(system, async (client) => {
    const { rows } = await client.query<{
      share: number
      calls: string
      ms: number
      rows: number
      text: string
    }>(
      `select total_exec_time / sum(total_exec_time) over () as share, calls, mean_exec_time as ms,
              rows / calls::float8 as rows, left(regexp_replace(query, '\\s+', ' ', 'g'), 110) as text
         from public.pg_stat_statements
        order by total_exec_time desc
        limit ${SHOWN}`,
    )
    for (const { share, calls, ms, rows: returned, text } of rows)
      say(
        `${(100 * share).toFixed(1).padStart(5)} %${calls.padStart(9)} x${ms.toFixed(3).padStart(9)} ms${returned.toFixed(1).padStart(7)} rows  ${text}`,
      )
  })

async function asSuperuser({ superuserUrl }: Counted, work: (client: pg.Client) => Promise<void>) {
  const client = new pg.Client({ connectionString: superuserUrl })
  await client.connect()
  try {
    await work(client)
  } finally {
    await client.end()
  }
}
