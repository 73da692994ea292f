import { SegmentedControl } from '@mantine/core'
import { useMediaQuery } from '@mantine/hooks'
import { media } from '@shopwire/look'
import { useState } from 'react'
import { Chart } from '#kit/components/charts/chart.tsx'
import { formatMoney } from '#lib/money.ts'
import type { Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { balance } from '../../strings/balance.ts'
import classes from './balance.module.css'
import { utcDay } from './months.ts'

const { chart } = balance
const LABELS = 8
const LABELS_ON_PHONE = 4

type Shown = 'balance' | 'flows'
type DayCount = 30 | 90

/** The balance at the end of each day, or what went out and came in; as a table too. */
export function BalanceChart() {
  const [what, setWhat] = useState<Shown>('balance')
  const [count, setCount] = useState<DayCount>(30)
  const { data } = useRead('getSpend', { query: { days: count } }, { keepPrevious: true })
  const { data: alert } = useRead('getBalanceAlert')
  const isPhone = useMediaQuery(media.phone, undefined, { getInitialValueInEffect: false })
  const days = data?.days ?? []
  const threshold = alert?.threshold_cents ?? null
  const shared = {
    points: pointsOf(days),
    format: formatMoney,
    formatAxis,
    height: 188,
    labelEvery: Math.max(1, Math.ceil(days.length / (isPhone ? LABELS_ON_PHONE : LABELS))),
    aside: <ChartChoices what={what} onWhat={setWhat} count={count} onCount={setCount} />,
  }
  // Lines of zeros say nothing.
  if (
    data &&
    days.every((day) => day.closing_cents === 0 && day.spent_cents === 0 && day.top_ups_cents === 0)
  )
    return <p className={classes.noChart}>{chart.none}</p>
  return (
    <div className={classes.chart}>
      {what === 'balance' ? (
        <Chart
          {...shared}
          kind="step-area"
          title={chart.balance}
          summary={chart.summary(
            formatMoney(days[0]?.closing_cents ?? 0),
            formatMoney(days.at(-1)?.closing_cents ?? 0),
            count,
          )}
          series={[{ name: 'closing', label: chart.atEndOfDay, tone: 'main' }]}
          {...(threshold === null
            ? {}
            : { threshold: { value: threshold, label: chart.threshold(formatMoney(threshold)) } })}
        />
      ) : (
        // Added up over the days: a top-up is as large as weeks of spending, and one bar of it would hide the others.
        <Chart
          {...shared}
          kind="step-area"
          title={chart.flows}
          summary={chart.flowsSummary(sumOf(days, spentOf), sumOf(days, addedOf), count)}
          withLegend
          series={[
            { name: 'spent', label: chart.spent, tone: 'main' },
            { name: 'added', label: chart.added, tone: 'quiet' },
          ]}
        />
      )}
    </div>
  )
}

interface ChartChoicesProps {
  readonly what: Shown
  readonly onWhat: (what: Shown) => void
  readonly count: DayCount
  readonly onCount: (count: DayCount) => void
}

function ChartChoices({ what, onWhat, count, onCount }: ChartChoicesProps) {
  return (
    <>
      <SegmentedControl
        size="xs"
        value={what}
        onChange={(value) => onWhat(value as Shown)}
        data={[
          { value: 'balance', label: chart.balance },
          { value: 'flows', label: chart.flows },
        ]}
        aria-label={chart.choose}
      />
      <SegmentedControl
        size="xs"
        value={String(count)}
        onChange={(value) => onCount(value === '90' ? 90 : 30)}
        data={[
          { value: '30', label: chart.days(30) },
          { value: '90', label: chart.days(90) },
        ]}
        aria-label={chart.days(count)}
      />
    </>
  )
}

type Day = Reply<'getSpend'>['days'][number]

const spentOf = (day: Day) => Math.max(0, day.spent_cents - day.refunded_cents)
const addedOf = (day: Day) => day.top_ups_cents
const sumOf = (days: readonly Day[], of: (day: Day) => number) =>
  formatMoney(days.reduce((all, day) => all + of(day), 0))

function pointsOf(days: readonly Day[]) {
  let [spent, added] = [0, 0]
  return days.map((day) => {
    spent += spentOf(day)
    added += addedOf(day)
    return { at: utcDay(day.day), closing: day.closing_cents, spent, added }
  })
}

/** `$90k`, `$1.5m`: the axis has room for five characters. */
function formatAxis(cents: number): string {
  const dollars = cents / 100
  if (dollars >= 1_000_000) return `$${trim(dollars / 1_000_000)}m`
  if (dollars >= 1_000) return `$${trim(dollars / 1_000)}k`
  return `$${trim(dollars)}`
}

const trim = (value: number) => String(Math.round(value * 10) / 10)
