import { tmpdir } from 'node:os'
import { makeTemporaryFolder, removeTemporaryFolder, startPostgres } from '@shopwire/test-kit/servers'
import { CELLS, type Cell } from './queue/cells.ts'
import type { Contender } from './queue/contender.ts'
import { openGraphile } from './queue/graphile.ts'
import { openOurs } from './queue/ours.ts'
import { openPgBoss } from './queue/pg-boss.ts'
import { type CellOutcome, onDatabase, runCell, runPeak } from './queue/run-cell.ts'
import { quantile, rounded, say } from './shared/figures.ts'
import type { BenchOptions } from './shared/options.ts'

interface Result {
  readonly contender: Contender
  readonly cell: Cell
  readonly outcome: CellOutcome
}

const PEAK_SLOTS = 16

/**
 * The nine cells of the public benchmark of job queues: what worker crashes, database outages and pressure do to the rate and the start
 * delay of ours, pg-boss and graphile-worker. The contenders take turns, so that other work on the machine affects all of them.
 */
export async function queue({ seconds }: BenchOptions): Promise<void> {
  const folder = await makeTemporaryFolder(tmpdir(), 'bench')
  say('starting PostgreSQL')
  const postgres = await startPostgres({ durable: true })
  const contenders: Contender[] = []
  try {
    for (const open of [openOurs, openPgBoss, openGraphile]) contenders.push(await open(postgres))
    const peaks = new Map<Contender, number>()
    for (const contender of contenders) {
      peaks.set(contender, await runPeak(contender, PEAK_SLOTS, seconds, folder))
      say(`${contender.name.padEnd(NAME_WIDTH)}${whole(peaks.get(contender) ?? 0)} jobs/s at most`)
    }
    const results: Result[] = []
    say(`\n${HEADINGS}`)
    for (const cell of CELLS) {
      for (const contender of contenders) {
        const outcome = await runCell(postgres, contender, cell, seconds, folder)
        results.push({ contender, cell, outcome })
        say(columns({ contender, cell, outcome }))
      }
    }
    print(results, contenders)
    for (const contender of contenders) say(await describeTables(contender))
    say('')
    say(lastLine(results, peaks))
  } finally {
    for (const contender of contenders) await contender.close()
    await postgres.stop()
    await removeTemporaryFolder(folder)
  }
}

const NAME_WIDTH = 17
const CELL_WIDTH = 21
const HEADINGS = [
  'cell'.padEnd(CELL_WIDTH),
  'queue'.padEnd(NAME_WIDTH),
  'before/s',
  ' during/s',
  '  after/s',
  '  ratio',
  '  start p50',
  '   p99 ms',
  '  claim p99',
  '  lost',
  '  twice',
  '  exits',
  '  verdict',
].join('')

function columns({ contender, cell, outcome }: Result): string {
  const { before, during, after, ratio, startP50Ms, startP99Ms, claimsMs, lost, doneTwice, exits } = outcome
  return [
    cell.name.padEnd(CELL_WIDTH),
    contender.name.padEnd(NAME_WIDTH),
    whole(before).padStart(8),
    whole(during).padStart(9),
    whole(after).padStart(9),
    ratio.toFixed(2).padStart(7),
    whole(startP50Ms).padStart(11),
    whole(startP99Ms).padStart(9),
    (claimsMs.length === 0 ? '-' : quantile(claimsMs, 0.99).toFixed(1)).padStart(11),
    whole(lost).padStart(6),
    whole(doneTwice).padStart(7),
    whole(exits).padStart(7),
    outcome.isPassed ? '  passed' : '  failed',
  ].join('')
}

/** All cells with the contenders side by side: the ratio, the p99 of the start delay, and whether it passed. */
function print(results: readonly Result[], contenders: readonly Contender[]): void {
  say(`\n${''.padEnd(CELL_WIDTH)}${contenders.map(({ name }) => name.padStart(24)).join('')}`)
  for (const cell of CELLS) {
    const groups = results
      .filter((result) => result.cell === cell)
      .map(({ outcome: { ratio, startP99Ms, lost, isPassed } }) =>
        [
          `${(100 * ratio).toFixed(0)}%`.padStart(8),
          `${whole(startP99Ms)} ms`.padStart(9),
          lost > 0 ? ' lost' : isPassed ? ' pass' : ' fail',
        ]
          .join('')
          .padStart(24),
      )
    say(`${cell.name.padEnd(CELL_WIDTH)}${groups.join('')}`)
  }
  say('rate after chaos, or under pressure, of the rate before; start delay p99; verdict\n')
}

/** What the run left behind in the database. */
async function describeTables(contender: Contender): Promise<string> {
  return onDatabase(contender, async (client) => {
    await client.query('select pg_stat_force_next_flush()').catch(() => {})
    const { rows } = await client.query<{ dead: string; kb: string }>(
      `select sum(n_dead_tup) as dead, sum(pg_total_relation_size(relid)) / 1024 as kb
         from pg_stat_user_tables
        where relname <> 'done' and n_tup_ins > 1000`,
    )
    const [{ dead, kb } = { dead: '0', kb: '0' }] = rows
    return `${contender.name.padEnd(NAME_WIDTH)}${whole(Number(kb))} kB in its tables at the end, ${dead} dead rows`
  })
}

function lastLine(results: readonly Result[], peaks: ReadonlyMap<Contender, number>): string {
  const [ours, ...others] = [...peaks].map(([contender, perSecond]) => {
    const own = results.filter((result) => result.contender === contender)
    const passed = (kind: Cell['kind']) =>
      own.filter(({ cell, outcome }) => cell.kind === kind && outcome.isPassed).length
    return {
      contender,
      chaos: passed('chaos'),
      pressure: passed('pressure'),
      lost: own.reduce((sum, { outcome }) => sum + outcome.lost, 0),
      perSecond: rounded(perSecond, 0),
    }
  })
  if (!ours) throw new Error('nothing was measured')
  const { chaos, pressure, lost, perSecond } = ours
  const speeds = others.map((other) => [`${other.contender.field}_per_s`, other.perSecond])
  const passes = others.flatMap(({ contender: { field }, ...other }) => [
    [`${field}_chaos`, other.chaos],
    [`${field}_pressure`, other.pressure],
    [`${field}_lost`, other.lost],
  ])
  return JSON.stringify({
    bench: 'queue',
    chaos,
    pressure,
    lost,
    jobs_per_s: perSecond,
    ...Object.fromEntries([...speeds, ...passes]),
  })
}

function whole(value: number): string {
  return Number.isFinite(value) ? value.toFixed(0) : '-'
}
