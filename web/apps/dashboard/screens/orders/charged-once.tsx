import { IconShieldCheck, IconShieldX } from '@tabler/icons-react'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { formatCount, formatMoney } from '#lib/money.ts'
import { formatTime } from '#lib/time.ts'
import { paths } from '../../paths.ts'
import { orders } from '../../strings/orders.ts'
import classes from './order.module.css'
import type { OrderDetail } from './order-types.ts'

const { card } = orders.order
const HASH_ENDS = 8

/** The proof in short: so many requests, one charge. An object that can be handed over, so it has a border. */
export function ChargedOnce({ order }: { readonly order: OrderDetail }) {
  const { proof, idempotency_key, cart_sha256, key, client_address, created_at } = order
  const isOnce = proof.verdict === 'bought_once'
  const isRefunded = proof.refunded_cents > 0
  return (
    <section className={classes.card} aria-label={isOnce ? card.once : card.notOnce}>
      <h2 className={classes.cardTitle} data-bad={!isOnce || undefined}>
        {isOnce ? (
          <IconShieldCheck size={18} stroke={1.75} aria-hidden />
        ) : (
          <IconShieldX size={18} stroke={1.75} aria-hidden />
        )}
        {isOnce ? card.once : card.notOnce}
      </h2>
      {isOnce ? null : <p className={classes.cardNote}>{card.notOnceBody}</p>}
      <dl className={classes.sums}>
        <Sum value={formatCount(proof.requests)} label={card.requests(proof.requests)} />
        <Sum value={formatCount(proof.charges)} label={card.charges(proof.charges)} />
        <Sum value={formatMoney(proof.charged_cents)} label={isRefunded ? card.backInAll : card.inAll} />
      </dl>
      <dl className={classes.facts}>
        <dt>{card.key}</dt>
        <dd className={classes.fact}>
          <span className="sw-mono" translate="no">
            {idempotency_key}
          </span>
          <CopyButton text={idempotency_key} what={card.key} size={20} />
        </dd>
        {proof.transfer_id === null ? null : (
          <>
            <dt>{card.entry}</dt>
            <dd className={classes.fact}>
              <Id id={proof.transfer_id} as="short" to={paths.transfer(proof.transfer_id, created_at)} />
            </dd>
          </>
        )}
        <dt>{card.hash}</dt>
        <dd className={classes.fact}>
          <span className="sw-mono" title={cart_sha256}>
            {cart_sha256.slice(0, HASH_ENDS)}…{cart_sha256.slice(-HASH_ENDS)}
          </span>
          <CopyButton text={cart_sha256} what={card.hash} size={20} />
        </dd>
        {client_address === null ? null : (
          <>
            <dt>{card.apiKey}</dt>
            <dd className={classes.fact}>
              <AppLink to={paths.key(key.id)}>{key.name ?? key.id}</AppLink>
            </dd>
            <dt>{card.from}</dt>
            <dd className={classes.fact}>
              <span className="sw-mono">{client_address}</span>
            </dd>
          </>
        )}
      </dl>
      {created_at < proof.kept_since ? (
        <p className={classes.cardNote}>{card.kept(formatTime(proof.kept_since))}</p>
      ) : null}
    </section>
  )
}

const Sum = ({ value, label }: { readonly value: string; readonly label: string }) => (
  <div className={classes.sum}>
    <dd>{value}</dd>
    <dt>{label}</dt>
  </div>
)
