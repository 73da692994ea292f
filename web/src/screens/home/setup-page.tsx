import { Button } from '@mantine/core'
import { useNavigate } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { may, useMay } from '../../api/session.ts'
import { type Snippet, SnippetTabs } from '../../components/code-well.tsx'
import { Money } from '../../components/money.tsx'
import { Page } from '../../components/page.tsx'
import { type Step, Steps } from '../../components/timeline.tsx'
import { formatMoney } from '../../lib/money.ts'
import { formatRelative } from '../../lib/time.ts'
import { paths } from '../../paths.ts'
import { useStoreState } from '../../shell/store-state.ts'
import { home as text } from '../../strings/home.ts'
import classes from './home.module.css'
import type { Home } from './home-screen.tsx'

type Checklist = NonNullable<Home['checklist']>
type StepName = 'key' | 'call' | 'quote' | 'webhook' | 'order' | 'delivered'

const NAMES: readonly StepName[] = ['key', 'call', 'quote', 'webhook', 'order', 'delivered']
const { setup } = text

/** Until the first delivered order, the checklist is the page. */
export function SetupPage({ home, checklist }: { readonly home: Home; readonly checklist: Checklist }) {
  const navigate = useNavigate()
  const canBuild = useMay(may.build)
  const canPay = useMay(may.pay)
  const docs = useStoreState(true)?.docs_url
  const left = NAMES.filter((name) => !checklist[name].is_done)
  const steps = NAMES.map((name): Step => {
    const { is_done, done_at } = checklist[name]
    const isNow = name === left[0]
    return {
      key: name,
      state: is_done ? 'done' : isNow ? 'now' : 'later',
      title: setup[name].title,
      aside: is_done && done_at !== null ? asideOf(name, checklist, done_at) : undefined,
      ...(is_done
        ? {}
        : {
            children: (
              <>
                <p className={classes.stepBody}>{bodyOf(name, checklist)}</p>
                {isNow ? stepAction(name) : null}
              </>
            ),
          }),
    }
  })
  function stepAction(name: StepName): ReactNode {
    if (name === 'key')
      return canBuild ? (
        <Button variant="filled" onClick={() => void navigate({ to: paths.keys })}>
          {setup.key.action}
        </Button>
      ) : null
    if (name === 'webhook')
      return canBuild ? (
        <Button variant="filled" onClick={() => void navigate({ to: paths.webhook })}>
          {setup.webhook.action}
        </Button>
      ) : null
    const snippets = snippetsOf(name, checklist)
    return snippets.length === 0 ? null : <SnippetTabs label={setup.snippets} snippets={snippets} />
  }
  return (
    <Page title={setup.title(left.length)} tab={text.tab} meta={setup.meta}>
      <div className={classes.setup}>
        <Steps label={setup.label} steps={steps} />
        <aside className={classes.setupSide}>
          <div>
            <div className="sw-meta">{text.balance.label}</div>
            <Money cents={home.balance_cents} as="headline" size="balance" />
            <p className="sw-meta">{setup.funds}</p>
            {canPay ? (
              <Button onClick={() => void navigate({ to: paths.topUp })}>{text.addFunds}</Button>
            ) : null}
          </div>
          <div>
            <div className="sw-meta">{setup.stuck}</div>
            <p>{setup.stuckBody}</p>
            {docs ? (
              <a
                className="sw-link"
                href={`${docs}reference/signature-mistakes`}
                target="_blank"
                rel="noreferrer"
              >
                {setup.stuckLink}
              </a>
            ) : null}
          </div>
        </aside>
      </div>
    </Page>
  )
}

function asideOf(name: StepName, checklist: Checklist, done_at: string): string {
  const when = formatRelative(done_at)
  return name === 'key' && checklist.key.key_name ? `${checklist.key.key_name}, ${when}` : when
}

function bodyOf(name: StepName, { item }: Checklist): string {
  if (name !== 'order') return setup[name].body
  return item === null ? setup.order.noItem : setup.order.body(item.name, formatMoney(item.price_cents))
}

/** With an item that can be bought now; nothing to fill in but the environment. */
function snippetsOf(name: StepName, { item }: Checklist): readonly Snippet[] {
  const id = item?.id ?? '<item id>'
  const note = item === null ? '' : ` // ${item.name}`
  const sdk = (call: string) =>
    [
      "import { Shopwire } from '@shopwire/sdk'",
      '',
      '// Reads SHOPWIRE_BASE_URL, SHOPWIRE_API_KEY and SHOPWIRE_API_SECRET',
      'const shop = new Shopwire()',
      call,
    ].join('\n')
  if (name === 'call')
    return [
      { name: 'SDK', code: sdk('console.log(await shop.ping())'), language: 'ts' },
      { name: 'CLI', code: 'shopwire ping', language: 'sh' },
    ]
  if (name === 'quote')
    return [
      {
        name: 'SDK',
        code: sdk(
          `const quote = await shop.quote({ items: [{ id: '${id}', qty: 2 }] })${note}\nconsole.log(quote.total_cents)`,
        ),
        language: 'ts',
      },
      { name: 'CLI', code: `shopwire quote --item ${id}:2`, language: 'sh' },
    ]
  if (name === 'order')
    return [
      {
        name: 'SDK',
        code: sdk(
          [
            '// Keep the key with your own order: sent again with it, nothing is bought twice.',
            `const order = await shop.orders.create({ items: [{ id: '${id}' }], idempotency_key: 'first-order-1' })${note}`,
            'console.log(order.id, order.status)',
          ].join('\n'),
        ),
        language: 'ts',
      },
      { name: 'CLI', code: `shopwire orders create --item ${id} --key first-order-1`, language: 'sh' },
    ]
  return []
}
