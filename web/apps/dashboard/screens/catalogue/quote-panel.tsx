import { ActionIcon, Button } from '@mantine/core'
import { IconMinus, IconPlus, IconX } from '@tabler/icons-react'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { EmptyState, ErrorState } from '#kit/components/feedback/states.tsx'
import { DetailPanel } from '#kit/components/lists/detail-panel.tsx'
import { SnippetTabs } from '#kit/components/values/code-well.tsx'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { Status } from '#kit/components/values/status.tsx'
import { formatMoney } from '#lib/money.ts'
import { api, type Reply } from '../../api/client.ts'
import { catalogue } from '../../strings/catalogue.ts'
import { type Cart, QTY_MAX } from './cart.ts'
import classes from './catalogue.module.css'
import { snippetsOf } from './snippets.ts'

const { quote: text } = catalogue
type Line = Reply<'quoteCart'>['lines'][number]

interface QuotePanelProps {
  readonly cart: Cart
  readonly onClose: () => void
}

/** What the cart costs now, and the code that would quote and buy it. */
export function QuotePanel({ cart, onClose }: QuotePanelProps) {
  const items = cart.lines.map(({ id, qty }) => ({ id, qty }))
  const { data, error, refetch } = useQuery({
    queryKey: ['quoteCart', items],
    queryFn: () => api.act('quoteCart', { items }),
    enabled: items.length > 0,
    placeholderData: keepPreviousData,
    refetchInterval: 30_000,
    retry: false,
  })
  const quote = items.length === 0 ? undefined : data
  return (
    <DetailPanel
      title={text.title}
      chip={
        quote ? (
          <Status kind={quote.ok ? 'accepted' : 'failed'} word={quote.ok ? text.ok : text.notOk} isChip />
        ) : null
      }
      meta={text.lead}
      onClose={onClose}
      footer={
        items.length === 0 ? null : (
          <>
            <CopyButton text={window.location.href} what="link to this cart" label={text.copy} isFilled />
            <Button onClick={cart.clear}>{text.clear}</Button>
          </>
        )
      }
    >
      {items.length === 0 ? <EmptyState title={text.empty}>{text.emptyBody}</EmptyState> : null}
      {error && items.length > 0 ? (
        <ErrorState what={text.title} error={error} onRetry={() => void refetch()} />
      ) : null}
      {quote ? (
        <>
          <ul className={classes.lines}>
            {quote.lines
              .filter(({ id }) => cart.has(id))
              .map((line) => (
                <QuoteLine key={line.id} line={line} cart={cart} />
              ))}
          </ul>
          <div className={classes.total}>
            <span>{text.total}</span>
            <Money cents={quote.total_cents} as="headline" size="sum" />
          </div>
          <h3 className={classes.snippetTitle}>{text.snippet}</h3>
          <p className={classes.snippetLead}>{text.snippetLead}</p>
          <SnippetTabs label={text.snippet} snippets={snippetsOf(quote.lines)} />
          <p className={classes.snippetLead}>{text.orderHint}</p>
        </>
      ) : items.length > 0 && !error ? (
        <p className="sw-quiet">{text.quoting}</p>
      ) : null}
    </DetailPanel>
  )
}

function QuoteLine({ line, cart }: { readonly line: Line; readonly cart: Cart }) {
  const name = line.name ?? text.unknown
  const qty = cart.lines.find(({ id }) => id === line.id)?.qty ?? line.qty
  return (
    <li className={classes.line}>
      <div className={classes.lineWords}>
        <span className={classes.name}>{name}</span>
        <span className={classes.lineNote}>
          {line.unit_price_cents === undefined ? line.id : text.each(formatMoney(line.unit_price_cents))}
          {line.status === 'ok' ? null : <span className={classes.bad}> {text.status[line.status]}</span>}
        </span>
      </div>
      <fieldset className={classes.stepper} aria-label={text.quantity(name)}>
        <ActionIcon
          size={24}
          variant="default"
          aria-label="−1"
          disabled={qty <= 1}
          onClick={() => cart.setQty(line.id, qty - 1)}
        >
          <IconMinus size={12} aria-hidden />
        </ActionIcon>
        <output className={classes.qty}>{qty}</output>
        <ActionIcon
          size={24}
          variant="default"
          aria-label="+1"
          disabled={qty >= QTY_MAX}
          onClick={() => cart.setQty(line.id, qty + 1)}
        >
          <IconPlus size={12} aria-hidden />
        </ActionIcon>
      </fieldset>
      <span className={classes.lineTotal}>
        {line.line_total_cents === undefined ? '–' : <Money cents={line.line_total_cents} />}
      </span>
      <ActionIcon
        size={24}
        variant="subtle"
        aria-label={text.remove(name)}
        onClick={() => cart.setQty(line.id, 0)}
      >
        <IconX size={14} aria-hidden />
      </ActionIcon>
    </li>
  )
}
