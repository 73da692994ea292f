import { Button } from '@mantine/core'
import { IconBraces, IconShieldCheck, IconShieldX } from '@tabler/icons-react'
import { useState } from 'react'
import { api, type Reply } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { CodeWell } from '../../components/code-well.tsx'
import { Dialog } from '../../components/dialogs.tsx'
import { DownloadButton } from '../../components/download-button.tsx'
import { Id } from '../../components/id.tsx'
import { Masked } from '../../components/masked.tsx'
import { Money } from '../../components/money.tsx'
import { Page, Section } from '../../components/page.tsx'
import { ErrorState } from '../../components/states.tsx'
import { Status } from '../../components/status.tsx'
import { Timeline } from '../../components/timeline.tsx'
import { formatMoney } from '../../lib/money.ts'
import { formatDay, formatDuration, formatTime, zoneName } from '../../lib/time.ts'
import { usePathId } from '../../lib/use-path-id.ts'
import { paths } from '../../paths.ts'
import { words } from '../../strings/common.ts'
import { orders, order as text } from '../../strings/orders.ts'
import { stationsOf } from './order-story.tsx'
import classes from './orders.module.css'

type Order = Reply<'getOrder'>

/** One order from its first attempt on: what was asked, charged, delivered, sent and read. */
export function OrderScreen() {
  const id = usePathId()
  const [isRaw, setRaw] = useState(false)
  const { data: order, error, refetch } = useRead('getOrder', { id }, { live: ['orders', 'deliveries'] })
  const breadcrumb = [
    { key: 'orders', label: orders.title, to: paths.orders },
    { key: 'order', label: <Id id={id} canCopy what="order id" /> },
  ]
  if (!order) {
    return (
      <Page title={text.tab(id)} breadcrumb={breadcrumb}>
        {error ? (
          <ErrorState what={text.tab(id)} error={error} onRetry={() => void refetch()} />
        ) : (
          <div role="status" aria-label={words.loading} />
        )}
      </Page>
    )
  }
  return (
    <Page
      title={titleOf(order)}
      tab={text.tab(id)}
      breadcrumb={breadcrumb}
      chip={<Status kind={order.status} isChip />}
      meta={metaOf(order)}
      actions={
        <>
          <Button leftSection={<IconBraces size={14} aria-hidden />} onClick={() => setRaw(true)}>
            {text.raw}
          </Button>
          <DownloadButton
            href={api.href('getProof', { id })}
            label={text.proof}
            fileName={`proof-${id}.json`}
            isFilled
          />
        </>
      }
    >
      <div className={classes.columns}>
        <Section title={text.story} aside={<span className="sw-meta">{text.storyAside}</span>}>
          <Timeline label={text.story} stations={stationsOf(order)} />
        </Section>
        <div className={classes.side}>
          <ChargedOnce order={order} />
          <Lines order={order} />
          <Links order={order} />
        </div>
      </div>
      <Dialog
        isOpen={isRaw}
        onClose={() => setRaw(false)}
        title={text.rawTitle}
        lead={text.rawLead}
        size={640}
      >
        <CodeWell code={rawOf(order)} language="json" what={text.raw} heightMax={480} />
      </Dialog>
    </Page>
  )
}

function titleOf({ status, total_cents, seconds_to_delivery: seconds }: Order): string {
  const total = formatMoney(total_cents)
  if (status === 'delivered')
    return text.title.delivered(total, seconds === null ? null : formatDuration(seconds * 1_000))
  return text.title[status](total)
}

function metaOf(order: Order): string {
  const placed = text.meta.placed(
    `${formatTime(order.created_at)} ${zoneName(new Date(order.created_at))}`,
    order.key.name ?? order.key.id,
  )
  const charged = order.proof.verdict === 'bought_once' ? text.meta.once : text.meta.notOnce
  const ended = order.status === 'cancelled' ? text.meta.nothing : text.meta.links(order.links.length)
  return `${placed} ${charged}${ended}`
}

/** As the API answers, without the links. */
function rawOf(order: Order): string {
  const { id, status, currency, total_cents, created_at, delivered_at, lines } = order
  const shown = lines.map(({ item_id, name, qty, unit_price_cents }) => ({
    id: item_id,
    name,
    qty,
    unit_price_cents,
  }))
  return JSON.stringify(
    {
      id,
      status,
      currency,
      total_cents,
      created_at,
      delivered_at,
      lines: shown,
      links: order.links.map(() => '(hidden)'),
    },
    null,
    2,
  )
}

function ChargedOnce({ order }: { readonly order: Order }) {
  const { proof } = order
  const isOnce = proof.verdict === 'bought_once'
  const Icon = isOnce ? IconShieldCheck : IconShieldX
  const facts = [
    [text.charged.key, order.idempotency_key],
    [text.charged.entry, proof.transfer_id ?? words.none],
    [text.charged.hash, `${order.cart_sha256.slice(0, 8)}…${order.cart_sha256.slice(-6)}`],
    [text.charged.request, order.request_id ?? words.none],
    [text.charged.from, order.client_address ?? words.none],
  ] as const
  return (
    <section className={classes.card} data-bad={isOnce ? undefined : true} aria-label={text.charged.title}>
      <h2 className={classes.cardHead}>
        <Icon size={18} stroke={1.75} aria-hidden />
        {isOnce ? text.charged.title : text.charged.bad}
      </h2>
      <dl className={classes.counts}>
        <Count label={text.charged.requests(proof.requests)} value={proof.requests} />
        <Count label={text.charged.charges(proof.charges)} value={proof.charges} />
        {proof.refunded_cents > 0 ? (
          <Count label={text.charged.refunded} value={formatMoney(proof.refunded_cents)} />
        ) : null}
        <Count label={text.charged.inAll} value={formatMoney(proof.charged_cents - proof.refunded_cents)} />
      </dl>
      <dl className={classes.facts} title={text.charged.note(formatDay(proof.kept_since))}>
        {facts.map(([label, value]) => (
          <div key={label} className={classes.fact}>
            <dt>{label}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}

function Count({ label, value }: { readonly label: string; readonly value: number | string }) {
  return (
    <div className={classes.count}>
      <dt>{label}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function Lines({ order }: { readonly order: Order }) {
  return (
    <Section title={text.lines} hasLine>
      <ul className={classes.rows}>
        {order.lines.map((line) => (
          <li key={line.item_id} className={classes.line}>
            <span>
              <span className={classes.name}>{line.name}</span>
              <br />
              <span className="sw-meta">{line.collection ?? text.gone}</span>
            </span>
            <span className="sw-dim sw-num">
              {line.qty} × {formatMoney(line.unit_price_cents)}
            </span>
            <span className={classes.amount}>
              <Money cents={line.qty * line.unit_price_cents} />
            </span>
          </li>
        ))}
        <li className={classes.line} data-sum>
          <span>{text.total}</span>
          <span />
          <span className={classes.amount}>
            <Money cents={order.total_cents} />
          </span>
        </li>
      </ul>
    </Section>
  )
}

function Links({ order }: { readonly order: Order }) {
  const canReveal = useMay(may.build)
  const reveal = useAct('revealLink', { refresh: ['getOrder'], failed: text.links.failed })
  return (
    <Section title={text.links.title} aside={<span className="sw-meta">{text.links.aside}</span>} hasLine>
      {order.links.length === 0 ? (
        <p className="sw-dim">{order.status === 'cancelled' ? text.links.noneCancelled : text.links.none}</p>
      ) : (
        <ol className={classes.rows}>
          {order.links.map(({ n }) => (
            <li key={n} className={classes.link}>
              <span className="sw-meta sw-num">{n}</span>
              <Masked
                prefix=""
                what={text.links.what(n)}
                canReveal={canReveal}
                onReveal={async () => (await reveal.mutateAsync({ order_id: order.id, n })).link}
              />
            </li>
          ))}
        </ol>
      )}
      {!canReveal && order.links.length > 0 ? <p className="sw-meta">{text.links.mayNot}</p> : null}
    </Section>
  )
}
