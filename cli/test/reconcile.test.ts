import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { readOwnFile } from '../src/reconcile/own-file.ts'
import { folder, shopwire } from './support.ts'

let here: string
beforeAll(async () => {
  here = await folder()
})

const NOW = new Date().toISOString()
const LONG_AGO = '2026-01-01T00:00:00.000Z'
const FULL = 'id,status,total_cents,currency,created_at,idempotency_key,delivered_at,refunded_at'

async function files(mine: string, theirs: string): Promise<string[]> {
  const paths = [join(here, `mine-${Math.random()}.csv`), join(here, `theirs-${Math.random()}.csv`)]
  await writeFile(paths[0] as string, mine)
  await writeFile(paths[1] as string, theirs)
  return ['reconcile', paths[0] as string, '--export', paths[1] as string]
}

async function differences(mine: string, theirs: string, ...more: string[]) {
  const { code, stdout, stderr } = await shopwire([...(await files(mine, theirs)), '--json', ...more])
  expect(stderr).toBe('')
  const report = JSON.parse(stdout)
  expect(code).toBe(report.ok ? 0 : 1)
  return report.differences.map(({ kind, order_id, idempotency_key }: Record<string, string>) => [
    kind,
    order_id ?? idempotency_key,
  ])
}

describe('names every kind of difference', () => {
  test('by order id', async () => {
    const mine = `order_id,total_cents,status,created_at
ord_same,499,delivered,${NOW}
ord_amount,500,delivered,${NOW}
ord_status,499,paid,${NOW}
ord_refunded,499,delivered,${NOW}
ord_refunded_known,499,refunded,${NOW}
ord_mine,499,paid,${NOW}
ord_twice,499,delivered,${NOW}
ord_twice,499,delivered,${NOW}
`
    const theirs = `id,status,total_cents,currency,created_at
ord_same,delivered,499,USD,${NOW}
ord_amount,delivered,499,USD,${NOW}
ord_status,delivered,499,USD,${NOW}
ord_refunded,cancelled,499,USD,${NOW}
ord_refunded_known,cancelled,499,USD,${NOW}
ord_twice,delivered,499,USD,${NOW}
ord_theirs,delivered,499,USD,${NOW}
ord_waiting,paid,499,USD,${LONG_AGO}
`
    expect(await differences(mine, theirs)).toEqual([
      ['missing_in_mine', 'ord_theirs'],
      ['missing_in_mine', 'ord_waiting'],
      ['missing_at_store', 'ord_mine'],
      ['amount_differs', 'ord_amount'],
      ['status_differs', 'ord_status'],
      ['refunded_unnoticed', 'ord_refunded'],
      ['paid_too_long', 'ord_waiting'],
      ['duplicate_in_mine', 'ord_twice'],
    ])
  })

  test('by idempotency key, where the export has them', async () => {
    const mine = 'idempotency_key,total_cents\nkey-1,499\nkey-2,1\nkey-4,5\n'
    const theirs = `${FULL}
ord_1,delivered,499,USD,${NOW},key-1,${NOW},
ord_2,delivered,2,USD,${NOW},key-2,${NOW},
ord_3,delivered,3,USD,${NOW},key-3,${NOW},
`
    expect(await differences(mine, theirs)).toEqual([
      ['missing_in_mine', 'ord_3'],
      ['missing_at_store', 'key-4'],
      ['amount_differs', 'ord_2'],
    ])
  })

  test('an id and a key that name two orders', async () => {
    const theirs = `${FULL}\nord_1,delivered,499,USD,${NOW},key-1,${NOW},\n`
    expect(await differences('order_id,idempotency_key\nord_1,key-other\n', theirs)).toEqual([
      ['ids_disagree', 'ord_1'],
    ])
  })

  test('ignores orders outside the window, and a shorter --paid-too-long finds more', async () => {
    const theirs = `id,status,total_cents,currency,created_at\nord_old,delivered,1,USD,${LONG_AGO}\nord_1,delivered,499,USD,${NOW}\n`
    const mine = 'order_id\nord_1\n'
    expect(await differences(mine, theirs, '--since', '2026-06-01')).toEqual([])
    expect(await differences(mine, theirs, '--until', '2026-06-01')).toEqual([['missing_in_mine', 'ord_old']])
    const waiting = `id,status,total_cents,currency,created_at\nord_1,paid,499,USD,${new Date(Date.now() - 120_000).toISOString()}\n`
    expect(await differences(mine, waiting)).toEqual([])
    expect(await differences(mine, waiting, '--paid-too-long', '1m')).toEqual([['paid_too_long', 'ord_1']])
  })
})

test('maps own columns, statuses and amounts; reads quotes, CRLF and a byte order mark', async () => {
  const mine = '\ufeff"Shop Ref";"Note";"Paid";"State"\r\n"ord_1";"a; ""quoted""\r\nnote";"4.99";"Done"\r\n'
  const theirs = `id,status,total_cents,currency,created_at\nord_1,delivered,499,USD,${NOW}\n`
  const more = [
    '--map',
    'order_id=Shop Ref',
    '--map',
    'total_cents=Paid',
    '--map',
    'status=state',
    '--map-status',
    'Done=delivered',
    '--amounts',
    'dollars',
  ]
  expect(await differences(mine, theirs, ...more)).toEqual([])
})

test('prints a summary, and writes every row to --out', async () => {
  const out = join(here, 'differences.csv')
  const args = await files(
    'order_id,total_cents\nord_1,1\n',
    `id,status,total_cents,currency,created_at\nord_1,delivered,499,USD,${NOW}\n`,
  )
  const { code, stdout } = await shopwire([...args, '--out', out])
  expect(code).toBe(1)
  expect(stdout).toContain('1 with another amount')
  expect(stdout).toMatch(/ord_1 +2 +\$0\.01 +\$4\.99/)
  expect(await readFile(out, 'utf8')).toBe(
    'kind,order_id,idempotency_key,line,mine,store\r\namount_differs,ord_1,,2,1,499\r\n',
  )
})

test.each([
  ['no id and no key', 'a,b\n1,2\n', [], /neither a column order_id nor idempotency_key/],
  ['an amount with a point', 'order_id,total_cents\nord_1,4.99\n', [], /line 2.*--amounts dollars/s],
  ['a column that is not there', 'order_id\nord_1\n', ['--map', 'total_cents=nope'], /no column "nope"/],
  ['an empty file', '', [], /is empty/],
  ['an odd time', 'order_id\nord_1\n', ['--paid-too-long', 'soon'], /is not a duration/],
  ['no CSV', 'order_id\n"x\n', [], /line 2/],
  ['several rows that are no CSV', 'order_id\n"x"y\nord_1\n5"\n', [], /line 2: .*line 4: /s],
  ['a header that is no CSV', 'order_id,"total"_cents\nord_1,1\n', [], /line 1: /],
  ['a column twice', 'order_id,status,Order_ID\n1,2,3\n', [], /column "order_id" twice/],
])('exits with 2 for a list that cannot be compared: %s', async (_name, mine, more, expected) => {
  const args = await files(
    mine,
    `id,status,total_cents,currency,created_at\nord_1,delivered,499,USD,${NOW}\n`,
  )
  const ended = await shopwire([...args, ...more])
  expect(ended).toMatchObject({ code: 2, stdout: '' })
  expect(ended.stderr).toMatch(expected)
})

test('10,000 orders with an export take less than ten seconds', async () => {
  const rows = Array.from({ length: 10_000 }, (_, n) => `ord_${String(n).padStart(26, '0')}`)
  const mine = `order_id,total_cents,status\n${rows.map((id) => `${id},499,delivered`).join('\n')}\n`
  const theirs = `id,status,total_cents,currency,created_at\n${rows.map((id) => `${id},delivered,${id.endsWith('777') ? 500 : 499},USD,${NOW}`).join('\n')}\n`
  const args = await files(mine, theirs)
  const startedMs = performance.now()
  const { stdout, code } = await shopwire([...args, '--json'])
  expect(performance.now() - startedMs).toBeLessThan(10_000)
  expect(code).toBe(1)
  expect(JSON.parse(stdout)).toMatchObject({
    mine: 10_000,
    store: 10_000,
    matched: 10_000,
    counts: { amount_differs: 10 },
  })
})

test('a status such as `constructor` or `__proto__` is treated like any other', async () => {
  const file = join(await folder(), 'mine.csv')
  await writeFile(file, 'order_id,status\nord_1,constructor\nord_2,__proto__\n')
  const own = await readOwnFile(file, { map: new Map(), statusMap: new Map(), amounts: 'cents' })
  expect(own.orders.map(({ status }) => status)).toEqual(['constructor', '__proto__'])
})
