import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { Chart } from '#kit/components/charts/chart.tsx'
import { formatCount } from '#lib/money.ts'
import { formatClock, formatDay } from '#lib/time.ts'
import { useRead } from '../../api/hooks.ts'
import { deliveries } from '../../strings/deliveries.ts'

const { chart } = deliveries
type Range = '24h' | '7d'

/** Bars by hour: grey is normal, so that amber and red are seen. */
export function HoursChart() {
  const [range, setRange] = useState<Range>('24h')
  const { data } = useRead('deliveryHours', { query: { range } }, { keepPrevious: true })
  const bars = data?.bars ?? []
  const sum = (name: 'accepted' | 'retrying' | 'failed') => bars.reduce((all, bar) => all + bar[name], 0)
  const [accepted, retrying, failed] = [sum('accepted'), sum('retrying'), sum('failed')]
  return (
    <Chart
      kind="bars"
      title={chart.title[range]}
      summary={chart.summary(accepted, retrying, failed)}
      withLegend
      height={170}
      aside={
        <SegmentedControl
          size="xs"
          aria-label={chart.range}
          value={range}
          onChange={(value) => setRange(value as Range)}
          data={[
            { value: '24h', label: chart['24h'] },
            { value: '7d', label: chart['7d'] },
          ]}
        />
      }
      points={bars.map((bar) => ({
        at:
          range === '24h'
            ? formatClock(bar.from).slice(0, 5)
            : `${formatDay(bar.from)}, ${formatClock(bar.from).slice(0, 5)}`,
        accepted: bar.accepted,
        retrying: bar.retrying,
        failed: bar.failed,
      }))}
      series={[
        { name: 'accepted', label: chart.accepted, tone: 'quiet', count: formatCount(accepted) },
        { name: 'retrying', label: chart.retrying, tone: 'warn', count: formatCount(retrying) },
        { name: 'failed', label: chart.failed, tone: 'bad', count: formatCount(failed) },
      ]}
      format={formatCount}
      labelEvery={range === '24h' ? 4 : 8}
    />
  )
}
