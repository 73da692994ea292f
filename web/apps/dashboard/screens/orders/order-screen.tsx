import { Button, Skeleton } from '@mantine/core'
import { IconBraces } from '@tabler/icons-react'
import { useState } from 'react'
import { Dialog } from '#kit/components/feedback/dialogs.tsx'
import { Page, Section } from '#kit/components/feedback/page.tsx'
import { EmptyState, ErrorState } from '#kit/components/feedback/states.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { CodeWell } from '#kit/components/values/code-well.tsx'
import { DownloadButton } from '#kit/components/values/download-button.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Status } from '#kit/components/values/status.tsx'
import { formatMoney } from '#lib/money.ts'
import { RequestError } from '#lib/request-error.ts'
import { dayKey, formatClock, formatDuration, formatTime, zoneName } from '#lib/time.ts'
import { useDelayed } from '#lib/use-delayed.ts'
import { usePathId } from '#lib/use-path-id.ts'
import { api } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { paths } from '../../paths.ts'
import { orders } from '../../strings/orders.ts'
import { ChargedOnce } from './charged-once.tsx'
import { GiftLinks } from './gift-links.tsx'
import classes from './order.module.css'
import { OrderLines } from './order-lines.tsx'
import { OrderStory } from './order-story.tsx'
import type { OrderDetail } from './order-types.ts'

const { order: said } = orders
const SKELETON_ROWS = 6

/** One order: what happened to it from the first attempt on, that it was charged once, its lines and its links. */
export function OrderScreen() {
  const id = usePathId()
  const { data, error, refetch } = useRead('getOrder', { id })
  const [isRawOpen, setRawOpen] = useState(false)
  const breadcrumb = [
    { key: 'orders', label: orders.title, to: paths.orders },
    { key: 'order', label: <Id id={id} canCopy what={orders.id} /> },
  ]
  if (error && !data) {
    const isMissing = error instanceof RequestError && error.status === 404
    return (
      <Page title={orders.title} tab={said.tab(id)} breadcrumb={breadcrumb}>
        {isMissing ? (
          <EmptyState title={said.notFound} actions={<AppLink to={paths.orders}>{said.back}</AppLink>}>
            {said.notFoundBody}
          </EmptyState>
        ) : (
          <ErrorState what={said.what} error={error} onRetry={() => void refetch()} />
        )}
      </Page>
    )
  }
  if (!data) return <Loading id={id} breadcrumb={breadcrumb} />
  return (
    <Page
      title={titleOf(data)}
      tab={said.tab(id)}
      breadcrumb={breadcrumb}
      chip={<Status kind={data.status} isChip />}
      meta={metaOf(data)}
      actions={
        <>
          <Button leftSection={<IconBraces size={14} aria-hidden />} onClick={() => setRawOpen(true)}>
            {said.rawJson}
          </Button>
          <DownloadButton href={api.href('getProof', { id })} label={said.proof} />
        </>
      }
    >
      <div className={classes.columns}>
        <Section title={said.story} aside={<span className="sw-meta">{said.elapsed}</span>}>
          <OrderStory order={data} />
        </Section>
        <div className={classes.side}>
          <ChargedOnce order={data} />
          <OrderLines order={data} />
          <GiftLinks order={data} />
        </div>
      </div>
      <Dialog
        title={said.rawTitle}
        isOpen={isRawOpen}
        onClose={() => setRawOpen(false)}
        size={720}
        lead={said.rawLead}
      >
        <CodeWell code={JSON.stringify(data, null, 2)} language="json" what="JSON" heightMax={480} />
      </Dialog>
    </Page>
  )
}

function titleOf({ status, total_cents, seconds_to_delivery }: OrderDetail): string {
  const total = formatMoney(total_cents)
  return status === 'delivered'
    ? said.titles.delivered(total, longDuration((seconds_to_delivery ?? 0) * 1000))
    : said.titles[status](total)
}

/** In a headline, units are words: "41 seconds". */
function longDuration(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (ms >= 9_950 && seconds < 60) return said.seconds(seconds)
  return formatDuration(ms)
}

function metaOf({ created_at, key, request_id, status, links }: OrderDetail): string {
  const isToday = dayKey(created_at) === dayKey(new Date().toISOString())
  const when = isToday ? said.today(formatClock(created_at)) : said.on(formatTime(created_at))
  const by = request_id === null ? said.byOperator : said.withKey(key.name ?? key.id)
  const end = { paid: said.waiting, delivered: said.handed(links.length), cancelled: said.refunded }[status]
  return `${said.placed(`${when} ${zoneName()}`)}${by}${end}`
}

function Loading({
  id,
  breadcrumb,
}: {
  readonly id: string
  readonly breadcrumb: Parameters<typeof Page>[0]['breadcrumb']
}) {
  const isSlow = useDelayed(true)
  return (
    <Page title={orders.loading} tab={said.tab(id)} {...(breadcrumb ? { breadcrumb } : {})}>
      {isSlow ? (
        <div className={classes.loading} role="status" aria-label={orders.loading}>
          {Array.from({ length: SKELETON_ROWS }, (_, row) => (
            <Skeleton key={row} height={12} width={`${40 + ((row * 17) % 30)}%`} radius="xs" />
          ))}
        </div>
      ) : null}
    </Page>
  )
}
