import { Button } from '@mantine/core'
import { IconKey, IconPlus } from '@tabler/icons-react'
import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'
import type { Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { AppLink } from '../../components/app-link.tsx'
import { Chart } from '../../components/chart.tsx'
import { DataTable } from '../../components/data-table.tsx'
import { Page, Section } from '../../components/page.tsx'
import { EmptyState, ErrorState } from '../../components/states.tsx'
import { formatMoney } from '../../lib/money.ts'
import { formatClock, formatLongDay, zoneName } from '../../lib/time.ts'
import { paths } from '../../paths.ts'
import { reportAttention } from '../../shell/attention.ts'
import { words } from '../../strings/common.ts'
import { home } from '../../strings/home.ts'
import { orders } from '../../strings/orders.ts'
import { orderColumns, orderOnPhone } from '../orders/order-columns.tsx'
import { AttentionList } from './attention-list.tsx'
import classes from './home.module.css'
import { HomeFigures } from './home-figures.tsx'
import { SetupPage } from './setup-page.tsx'

export type Home = Reply<'getHome'>

const REFRESH_MS = 30_000
const LABEL_EVERY = 7

/** Where the account is at this moment: what it has, what flows, and what needs somebody. */
export function HomeScreen() {
  const query = { today_since: startOfToday() }
  const { data, error, refetch } = useRead(
    'getHome',
    { query },
    {
      live: ['orders', 'balance', 'deliveries', 'webhook', 'keys'],
      keepPrevious: true,
      refetchEveryMs: REFRESH_MS,
    },
  )
  const retrying = data?.webhook?.retrying ?? 0
  useEffect(() => reportAttention(paths.deliveries, retrying), [retrying])
  if (!data) {
    return (
      <Page title={home.tab}>
        {error ? (
          <ErrorState what={home.tab} error={error} onRetry={() => void refetch()} />
        ) : (
          <div role="status" aria-label={words.loading} />
        )}
      </Page>
    )
  }
  if (data.checklist) return <SetupPage home={data} checklist={data.checklist} />
  return (
    <Page
      title={data.attention.length === 0 ? home.quiet : home.needs(data.attention.length)}
      tab={home.tab}
      meta={
        home.now(formatLongDay(data.now), formatClock(data.now).slice(0, 5), zoneName(new Date(data.now))) +
        home.flowing(data.waiting)
      }
      actions={<Actions />}
    >
      <HomeFigures home={data} />
      <div className={classes.columns}>
        <Spend home={data} />
        <Section title={home.attention.title} hasLine>
          <AttentionList items={data.attention} />
        </Section>
      </div>
      <Section title={home.latest.title} aside={<AppLink to={paths.orders}>{home.latest.all}</AppLink>}>
        <DataTable
          caption={home.latest.caption}
          what={home.latest.title}
          columns={orderColumns}
          rows={data.latest}
          rowId={({ id }) => id}
          rowLink={({ id }) => paths.order(id)}
          phone={orderOnPhone}
          isFlush
          empty={<EmptyState title={orders.empty.title}>{orders.empty.body}</EmptyState>}
        />
      </Section>
    </Page>
  )
}

function Actions() {
  const navigate = useNavigate()
  const canBuild = useMay(may.build)
  const canPay = useMay(may.pay)
  return (
    <>
      {canBuild ? (
        <Button
          leftSection={<IconKey size={14} aria-hidden />}
          onClick={() => void navigate({ to: paths.keys })}
        >
          {home.createKey}
        </Button>
      ) : null}
      {canPay ? (
        <Button
          variant="filled"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => void navigate({ to: paths.topUp })}
        >
          {home.addFunds}
        </Button>
      ) : null}
    </>
  )
}

function Spend({ home: { spend } }: { readonly home: Home }) {
  return (
    <div>
      <Chart
        kind="bars"
        title={home.spend.title}
        aside={<span className="sw-meta">{home.spend.sum(spend.total_cents)}</span>}
        summary={home.spend.summary(spend.total_cents)}
        points={spend.days.map(({ day, order_cents, refund_cents }, n) => ({
          at: shortDay(day),
          spend: Math.max(0, order_cents - refund_cents),
          ...(n === spend.days.length - 1 && { isUnfinished: true }),
        }))}
        series={[{ name: 'spend', label: home.spend.series, tone: 'main' }]}
        format={formatMoney}
        formatAxis={home.spend.axis}
        labelEvery={LABEL_EVERY}
        height={210}
      />
      {spend.is_complete ? null : <p className="sw-meta">{home.spend.incomplete}</p>}
    </div>
  )
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' })
const shortDay = (day: string) => dayFormat.format(new Date(`${day}T00:00:00Z`))

/** The reader's day, which the service cannot know. */
function startOfToday(): string {
  const now = new Date()
  return new Date(now.getFullYear(), now.getMonth(), now.getDate()).toISOString()
}
