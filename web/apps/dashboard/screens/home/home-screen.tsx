import { Button, Skeleton } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { Link } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { Page } from '#kit/components/feedback/page.tsx'
import { ErrorState } from '#kit/components/feedback/states.tsx'
import { reportAttention } from '#kit/shell/attention.ts'
import { words } from '#kit/words.ts'
import { usePreferences } from '#lib/preferences.ts'
import { dayKey, dayStart, formatLongDay, minuteOf, zoneName } from '#lib/time.ts'
import { useDelayed } from '#lib/use-delayed.ts'
import { useRead } from '../../api/hooks.ts'
import { readAgainEveryMs } from '../../api/routes.generated.ts'
import { may, useMay } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { home } from '../../strings/home.ts'
import { AttentionList } from './attention-list.tsx'
import classes from './home.module.css'
import { HomeFigures } from './home-figures.tsx'
import type { HomeData } from './home-types.ts'
import { LatestOrders } from './latest-orders.tsx'
import { Setup } from './setup.tsx'
import { SpendChart } from './spend-chart.tsx'

/** The state as a sentence, four figures, what needs somebody, spend and the latest orders. Until the first delivery: a checklist. */
export function HomeScreen() {
  usePreferences()
  const { data, error, refetch } = useRead(
    'getHome',
    { query: { today_since: dayStart(dayKey(new Date().toISOString())) } },
    {
      keepPrevious: true,
      refetchEveryMs: readAgainEveryMs.getHome,
    },
  )
  useEffect(() => {
    if (data) reportAttention(paths.deliveries, (data.webhook?.retrying ?? 0) + (data.webhook?.failed ?? 0))
  }, [data])
  if (error && !data) {
    return (
      <Page title={home.tab} tab={home.tab}>
        <ErrorState what={home.what} error={error} onRetry={() => void refetch()} />
      </Page>
    )
  }
  if (!data) return <Loading />
  if (data.checklist) return <Setup data={data} checklist={data.checklist} />
  return (
    <Page
      title={home.headline(data.attention.length)}
      tab={home.tab}
      meta={home.meta(`${formatLongDay(data.now)}, ${minuteOf(data.now)} ${zoneName()}`, stateOf(data))}
      actions={<Actions />}
    >
      <HomeFigures data={data} />
      <div className={classes.middle}>
        <SpendChart spend={data.spend} />
        <AttentionList attention={data.attention} />
      </div>
      <LatestOrders rows={data.latest} />
    </Page>
  )
}

function stateOf({ attention, waiting, today }: HomeData): string {
  if (attention.some(({ kind }) => kind === 'store_closed')) return home.closed
  return today.orders === 0 && waiting === 0 ? home.noneToday : home.flowing(waiting)
}

function Actions(): ReactNode {
  const [canBuild, canPay] = [useMay(may.build), useMay(may.pay)]
  return (
    <>
      {canBuild ? (
        <Button component={Link} to={paths.keys}>
          {home.createKey}
        </Button>
      ) : null}
      {canPay ? (
        <Button
          component={Link}
          to={paths.topUp}
          variant="filled"
          leftSection={<IconPlus size={14} aria-hidden />}
        >
          {home.addFunds}
        </Button>
      ) : null}
    </>
  )
}

function Loading() {
  const isSlow = useDelayed(true)
  return (
    <Page title={home.tab} tab={home.tab}>
      {isSlow ? (
        <div role="status" aria-label={words.loading} className={classes.loading}>
          <Skeleton height={120} radius="sm" />
          <Skeleton height={220} radius="sm" />
          <Skeleton height={260} radius="sm" />
        </div>
      ) : null}
    </Page>
  )
}
