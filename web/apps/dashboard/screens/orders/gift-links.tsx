import { Button } from '@mantine/core'
import { useState } from 'react'
import { Section } from '#kit/components/feedback/page.tsx'
import { Masked } from '#kit/components/values/masked.tsx'
import { formatTime } from '#lib/time.ts'
import { useAct } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { orders } from '../../strings/orders.ts'
import classes from './order.module.css'
import type { OrderDetail } from './order-types.ts'

const { links: said } = orders.order
const SHOWN_FIRST = 12

/** Masked completely. Each is revealed alone, after a second factor, for half a minute. */
export function GiftLinks({ order }: { readonly order: OrderDetail }) {
  const { id: order_id, links, status } = order
  const canReveal = useMay(may.build)
  const [isAll, setAll] = useState(false)
  const reveal = useAct('revealLink', { refresh: ['getOrder'], failed: said.notRevealed })
  if (links.length === 0) {
    return (
      <Section title={said.title}>
        <p className={classes.lead}>{status === 'cancelled' ? said.noneCancelled : said.none}</p>
      </Section>
    )
  }
  if (order.links_erased_at !== null) {
    return (
      <Section title={said.title}>
        <p className={classes.lead}>{said.erased(links.length, formatTime(order.links_erased_at))}</p>
      </Section>
    )
  }
  const shown = isAll ? links : links.slice(0, SHOWN_FIRST)
  return (
    <Section
      title={said.title}
      aside={<span className="sw-meta">{canReveal ? said.aside : said.whoMay}</span>}
    >
      <ol className={classes.links}>
        {shown.map(({ n, name }) => (
          <li key={n} className={classes.link}>
            <span className={classes.linkNumber} title={name}>
              {n}
            </span>
            <Masked
              prefix={said.prefix}
              what={said.what(n)}
              canReveal={canReveal}
              onReveal={async () => (await reveal.mutateAsync({ order_id, n })).link}
            />
          </li>
        ))}
      </ol>
      {shown.length < links.length ? (
        <Button mt="sm" size="compact-sm" onClick={() => setAll(true)}>
          {said.more(links.length)}
        </Button>
      ) : null}
    </Section>
  )
}
