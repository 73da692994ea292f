import { Chart } from '#kit/components/charts/chart.tsx'
import { formatDollars, formatMoney } from '#lib/money.ts'
import { home } from '../../strings/home.ts'
import type { HomeData } from './home-types.ts'

const { spend: said } = home
const LABEL_EVERY = 7
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })

/** What orders cost, day by day; today is not over and drawn quietly. */
export function SpendChart({ spend }: { readonly spend: HomeData['spend'] }) {
  const sum = formatMoney(spend.total_cents)
  return (
    <div>
      <Chart
        kind="bars"
        title={said.title}
        summary={said.summary(sum)}
        aside={<span className="sw-meta">{said.sum(sum)}</span>}
        height={240}
        labelEvery={LABEL_EVERY}
        points={spend.days.map(({ day: at, order_cents }, n) => ({
          at: day.format(new Date(`${at}T00:00:00Z`)),
          orders: order_cents,
          isUnfinished: n === spend.days.length - 1,
        }))}
        series={[{ name: 'orders', label: said.series, tone: 'main' }]}
        format={formatMoney}
        formatAxis={formatAxis}
      />
      {spend.is_complete ? null : <p className="sw-meta">{said.incomplete}</p>}
    </div>
  )
}

/** `$6k`, `$600`, `$0`. */
const formatAxis = (cents: number) =>
  cents >= 100_000_00 ? `$${Math.round(cents / 100_000)}k` : shortDollars(cents)
const shortDollars = (cents: number) =>
  cents >= 1_000_00 ? `$${Number((cents / 100_000).toFixed(1))}k` : formatDollars(cents)
