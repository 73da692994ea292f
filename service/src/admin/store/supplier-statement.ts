import { csvText } from '@shopwire/contract/csv'
import { printable } from '../../platform/text/plain-text.ts'
import type { SupplierStatement } from '../../supply/house-ledger.ts'
import { day, dollars, table } from '../terminal/print.ts'

const NO_COST = 'unknown'

/** For people: the requests, then the payments, then the sums. */
export function statementText(statement: SupplierStatement): string {
  const { supplier, month, obligations, payments, now } = statement
  const requests = table(
    ['REQUEST', 'SKU', 'QTY', 'LINKS', 'STATE', 'REQUESTED (UTC)', 'ENDED (UTC)', 'COST', 'NOTE'],
    obligations.map((one) => [
      one.id,
      one.sku,
      String(one.qty),
      one.links === null ? '' : String(one.links),
      one.stage,
      day(one.first_at),
      one.ended_at === null ? '' : day(one.ended_at),
      costText(one),
      one.is_over_cost ? 'more than configured' : (one.error ?? ''),
    ]),
    `Nothing was requested of "${supplier}" in ${month}.`,
  )
  const paid = payments.map(
    ({ reference, amount_cents, booked_at }) => `  ${day(booked_at)}  ${dollars(amount_cents)}  ${reference}`,
  )
  return [
    `Supplier "${supplier}", ${month} (UTC)`,
    '',
    requests,
    '',
    ...(paid.length > 0 ? ['Payments', ...paid, ''] : []),
    `Owed when the month began  ${dollars(statement.owed_before_cents)}`,
    `Booked for links           ${dollars(statement.booked_cents)}`,
    `Paid                       ${dollars(statement.paid_cents)}`,
    `Owed when it ended         ${dollars(statement.owed_after_cents)}`,
    '',
    `Now: ${dollars(now.owed_cents)} owed; open requests ${dollars(now.open_cents)} (${now.open_requests}); ` +
      `given up, may still be charged ${dollars(now.written_off_cents)} (${now.written_off_requests}).`,
  ].join('\n')
}

/** A fulfilled request has a cost; an open one, or one that was given up, has an expected cost, in brackets. */
function costText({
  stage,
  cost_cents,
  unit_cost_cents,
  qty,
}: SupplierStatement['obligations'][number]): string {
  if (stage === 'refused' || stage === 'unsent') return dollars(0)
  if (stage === 'fulfilled' || stage === 'collected')
    return cost_cents === null ? NO_COST : dollars(cost_cents)
  return unit_cost_cents === null ? NO_COST : `(${dollars(unit_cost_cents * qty)})`
}

const COLUMNS = [
  'request_id',
  'sku',
  'qty',
  'links',
  'state',
  'requested_at',
  'ended_at',
  'expected_cents',
  'said_cents',
  'cost_cents',
  'more_than_configured',
] as const

/** For a spreadsheet. */
export function statementCsv({ obligations }: SupplierStatement): string {
  const rows = obligations.map((one) => [
    one.id,
    printable(one.sku),
    one.qty,
    one.links,
    one.stage,
    one.first_at.toISOString(),
    one.ended_at?.toISOString(),
    one.unit_cost_cents === null ? null : one.unit_cost_cents * one.qty,
    one.said_cents,
    one.cost_cents,
    one.is_over_cost ? 'yes' : 'no',
  ])
  return csvText([COLUMNS, ...rows])
}
