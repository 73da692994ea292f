import { Button, Loader } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { Page } from '#kit/components/feedback/page.tsx'
import { CodeWell, SnippetTabs } from '#kit/components/values/code-well.tsx'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { Money } from '#kit/components/values/money.tsx'
import { type Step, Steps } from '#kit/components/values/timeline.tsx'
import { formatMoney } from '#lib/money.ts'
import { usePreferences } from '#lib/preferences.ts'
import { formatRelative } from '#lib/time.ts'
import { may, useMay } from '../../api/session.ts'
import { paths } from '../../paths.ts'
import { useStoreState } from '../../shell/store-state.ts'
import { home } from '../../strings/home.ts'
import classes from './home.module.css'
import type { HomeData } from './home-types.ts'
import { snippetsFor } from './setup-snippets.ts'

type Checklist = NonNullable<HomeData['checklist']>
const NAMES = ['key', 'call', 'quote', 'webhook', 'order', 'delivered'] as const
type StepName = (typeof NAMES)[number]

const { setup: said } = home

/** Before the first delivered order the checklist is the page. */
export function Setup({ data, checklist }: { readonly data: HomeData; readonly checklist: Checklist }) {
  const current = NAMES.find((name) => !checklist[name].is_done) ?? 'delivered'
  const left = NAMES.slice(0, NAMES.indexOf('order')).filter((name) => !checklist[name].is_done).length
  const steps = NAMES.map((name): Step => {
    const state = checklist[name].is_done ? 'done' : name === current ? 'now' : 'later'
    return {
      key: name,
      state,
      title: said[name][0],
      aside: state === 'done' ? seen(name, checklist) : undefined,
      children:
        state === 'done' ? undefined : <Body name={name} checklist={checklist} isNow={state === 'now'} />,
    }
  })
  return (
    <Page title={checklist.order.is_done ? said.ordered : said.title(left)} tab={home.tab} meta={said.meta}>
      <div className={classes.setup}>
        <Steps label={said.label} steps={steps} />
        <Aside balance_cents={data.balance_cents} />
      </div>
    </Page>
  )
}

function seen(name: StepName, checklist: Checklist): string | undefined {
  const { done_at } = checklist[name]
  const when = done_at === null ? undefined : formatRelative(done_at)
  const key = name === 'key' ? checklist.key.key_name : null
  return [key, when].filter(Boolean).join(', ') || undefined
}

function Body({
  name,
  checklist,
  isNow,
}: {
  readonly name: StepName
  readonly checklist: Checklist
  readonly isNow: boolean
}) {
  const { item } = checklist
  return (
    <div className={classes.step}>
      <p className="sw-dim">
        {said[name][1]}
        {name === 'webhook' ? (
          <>
            {' '}
            <code>{said.listen}</code>.
          </>
        ) : null}
        {name === 'order'
          ? item
            ? said.cheapest(item.name, formatMoney(item.price_cents))
            : said.noItem
          : null}
      </p>
      {isNow ? <Now name={name} checklist={checklist} /> : null}
    </div>
  )
}

/** The step to do now: what to run or where to go, and that our side waits for it. */
function Now({ name, checklist }: { readonly name: StepName; readonly checklist: Checklist }): ReactNode {
  const canBuild = useMay(may.build)
  const { snippet } = usePreferences()
  const snippets = snippetsFor(name, checklist.item)
  const chosen = snippets.find((one) => one.name === snippet) ?? snippets[0]
  return (
    <>
      {snippets.length > 1 ? <SnippetTabs snippets={snippets} label={said.snippets} /> : null}
      {snippets.length === 1 && chosen ? <CodeWell {...chosen} /> : null}
      <div className={classes.now}>
        {chosen ? <CopyButton text={chosen.code} what="snippet" label={said.copy} isFilled /> : null}
        {name === 'key' && canBuild ? (
          <Button component={Link} to={paths.keys} variant="filled">
            {said.createKey}
          </Button>
        ) : null}
        {name === 'webhook' && canBuild ? (
          <Button component={Link} to={paths.webhook} variant="filled">
            {said.setWebhook}
          </Button>
        ) : null}
        {name === 'delivered' && checklist.order.order_id !== null ? (
          <Button component={Link} to={paths.order(checklist.order.order_id)} variant="filled">
            {said.openOrder}
          </Button>
        ) : null}
        <span className={classes.waiting} role="status">
          <Loader size={12} aria-hidden />
          {said.waiting[name]}
        </span>
      </div>
    </>
  )
}

function Aside({ balance_cents }: { readonly balance_cents: number }) {
  const canPay = useMay(may.pay)
  const store = useStoreState(true)
  return (
    <aside className={classes.aside}>
      <h2 className={classes.asideTitle}>{said.balance}</h2>
      <Money cents={balance_cents} as="headline" size="balance" />
      <p className="sw-meta">{balance_cents === 0 ? said.noFunds : said.funds}</p>
      {canPay ? (
        <Button component={Link} to={paths.topUp} mt="xs">
          {home.addFunds}
        </Button>
      ) : null}
      <h2 className={classes.asideTitle}>{said.stuck}</h2>
      <p className="sw-dim">{said.stuckBody}</p>
      {store?.docs_url ? (
        <a
          className="sw-link"
          href={new URL('reference/signature-mistakes', store.docs_url).href}
          target="_blank"
          rel="noreferrer"
        >
          {said.fix401}
        </a>
      ) : null}
    </aside>
  )
}
