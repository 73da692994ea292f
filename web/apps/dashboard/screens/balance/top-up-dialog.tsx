import { Button, Radio, Skeleton, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { Dialog, DialogActions, Facts } from '#kit/components/feedback/dialogs.tsx'
import { ErrorState, NoPermission } from '#kit/components/feedback/states.tsx'
import { CopyButton } from '#kit/components/values/copy-button.tsx'
import { editable, formatChange, formatDollars, formatMoney, parseDollars } from '#lib/money.ts'
import type { Reply } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { balance } from '../../strings/balance.ts'
import classes from './balance.module.css'

const { topUp: said } = balance
const PRESETS = [1_000_00, 5_000_00, 10_000_00, 50_000_00] as const

type View = Reply<'getBalance'>
type Funding = Reply<'getFunding'>
type Provider = Funding['providers'][number]
interface Wish {
  readonly provider: Provider
  readonly amount_cents: number
}

interface TopUpDialogProps {
  readonly isOpen: boolean
  /** Shows where to transfer the money for this one, instead of asking for a new one. */
  readonly topUpId: string | undefined
  readonly onClose: () => void
  readonly view: View | undefined
}

/** How much and how, then what it means, then where to pay. */
export function TopUpDialog({ isOpen, topUpId, onClose, view }: TopUpDialogProps) {
  // A new one each time: a half-filled amount from yesterday is not what somebody means today.
  return isOpen && view ? (
    <OpenDialog key={topUpId ?? 'new'} topUpId={topUpId} onClose={onClose} view={view} />
  ) : null
}

function OpenDialog({
  topUpId,
  onClose,
  view,
}: Omit<TopUpDialogProps, 'isOpen' | 'view'> & { readonly view: View }) {
  const canPay = useMay(may.pay)
  const [wish, setWish] = useState<Wish>()
  const [startedId, setStartedId] = useState<string>()
  const { data: funding, error, refetch } = useRead('getFunding')
  const shownId = topUpId ?? startedId
  if (shownId !== undefined) return <Instructions id={shownId} onClose={onClose} />
  if (!canPay)
    return (
      <Dialog isOpen onClose={onClose} title={said.title}>
        <NoPermission title={said.onlyTreasurers} />
      </Dialog>
    )
  if (!funding)
    return (
      <Dialog isOpen onClose={onClose} title={said.title}>
        {error ? (
          <ErrorState what={said.title} error={error} onRetry={() => void refetch()} />
        ) : (
          <Skeleton height={160} radius="sm" />
        )}
      </Dialog>
    )
  if (funding.providers.length === 0) return <NotOffered contact={funding.contact} onClose={onClose} />
  return wish ? (
    <Confirm wish={wish} view={view} onClose={onClose} onStarted={setStartedId} />
  ) : (
    <Choose funding={funding} onClose={onClose} onChosen={setWish} />
  )
}

function NotOffered({ contact, onClose }: { readonly contact: string | null; readonly onClose: () => void }) {
  return (
    <Dialog isOpen onClose={onClose} title={said.offTitle} lead={said.offBody(contact)}>
      <DialogActions>
        {contact === null ? null : <CopyButton text={contact} what={contact} label={said.copyContact} />}
        <Button onClick={onClose} data-autofocus>
          {said.close}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

interface ChooseProps {
  readonly funding: Funding
  readonly onClose: () => void
  readonly onChosen: (wish: Wish) => void
}

function Choose({ funding, onClose, onChosen }: ChooseProps) {
  const { providers, min_cents, max_cents } = funding
  const [provider, setProvider] = useState<Provider>(providers.at(-1) as Provider)
  const [amount, setAmount] = useState('')
  const [isTried, setTried] = useState(false)
  const cents = parseDollars(amount)
  const problem =
    cents === undefined
      ? said.wrong
      : cents < min_cents
        ? said.tooSmall(formatMoney(min_cents))
        : cents > max_cents
          ? said.tooLarge(formatMoney(max_cents))
          : undefined
  return (
    <Dialog isOpen onClose={onClose} title={said.title} lead={said.lead}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          setTried(true)
          if (problem === undefined && cents !== undefined) onChosen({ provider, amount_cents: cents })
        }}
      >
        <Stack gap="md">
          <div>
            <TextInput
              label={said.amount}
              description={said.limits(formatMoney(min_cents), formatMoney(max_cents))}
              inputMode="decimal"
              leftSection="$"
              placeholder="0.00"
              value={amount}
              onChange={(event) => setAmount(event.currentTarget.value)}
              error={isTried ? problem : undefined}
              data-autofocus
            />
            <div className={classes.presets}>
              {PRESETS.filter((preset) => preset >= min_cents && preset <= max_cents).map((preset) => (
                <Button key={preset} size="compact-sm" onClick={() => setAmount(editable(preset))}>
                  {formatDollars(preset)}
                </Button>
              ))}
            </div>
          </div>
          <Radio.Group label={said.how} value={provider} onChange={(value) => setProvider(value as Provider)}>
            <Stack gap={8} mt={4}>
              {providers.map((name) => (
                <Radio
                  key={name}
                  value={name}
                  label={said.providers[name][0]}
                  description={said.providers[name][1]}
                />
              ))}
            </Stack>
          </Radio.Group>
        </Stack>
        <DialogActions>
          <Button onClick={onClose}>{said.keep}</Button>
          <Button type="submit" variant="filled">
            {said.go}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  )
}

interface ConfirmProps {
  readonly wish: Wish
  readonly view: View
  readonly onClose: () => void
  readonly onStarted: (id: string) => void
}

function Confirm({ wish, view, onClose, onStarted }: ConfirmProps) {
  const { provider, amount_cents } = wish
  const amount = formatMoney(amount_cents)
  const [isLeaving, setLeaving] = useState(false)
  // One for as long as the dialog asks: pressing again after a lost answer starts no second top-up.
  const [attempt] = useState(() => crypto.randomUUID())
  const start = useAct('startTopUp', {
    refresh: ['listTopUps'],
    failed: null,
    onDone: ({ top_up, pay_url }) => {
      if (pay_url === null) return onStarted(top_up.id)
      setLeaving(true)
      window.location.assign(pay_url)
    },
  })
  const collected = Math.min(view.owed_cents, view.balance_cents + amount_cents)
  const after = view.balance_cents + amount_cents - collected
  const { per_day_cents } = view.burn
  const isBusy = start.isPending || isLeaving
  return (
    <Dialog
      isOpen
      onClose={isBusy ? () => {} : onClose}
      title={said.confirmTitle(amount)}
      lead={said.confirmLead[provider]}
    >
      <Facts
        facts={[
          { label: said.now, value: formatMoney(view.balance_cents) },
          { label: said.by(said.ways[provider]), value: formatChange(amount_cents) },
          ...(collected > 0 ? [{ label: said.owed, value: formatChange(-collected) }] : []),
          { label: said.after, value: formatMoney(after), isSum: true },
          ...(per_day_cents > 0
            ? [
                {
                  label: said.lasts(formatDollars(per_day_cents)),
                  value: said.days(Math.floor(after / per_day_cents)),
                },
              ]
            : []),
        ]}
      />
      {start.error ? (
        <p className={classes.problem} role="alert">
          {said.failed}. {start.error.message}
        </p>
      ) : null}
      <DialogActions>
        <Button onClick={onClose} disabled={isBusy} data-autofocus>
          {said.keep}
        </Button>
        <Button variant="filled" loading={isBusy} onClick={() => start.mutate({ ...wish, attempt })}>
          {said.confirm(amount)}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

/** Where to transfer the money, each line with a button to copy it. */
function Instructions({ id, onClose }: { readonly id: string; readonly onClose: () => void }) {
  const { data, error, refetch } = useRead('getTopUp', { id })
  if (!data)
    return (
      <Dialog isOpen onClose={onClose} title={said.title}>
        {error ? (
          <ErrorState what={said.title} error={error} onRetry={() => void refetch()} />
        ) : (
          <Skeleton height={160} radius="sm" />
        )}
      </Dialog>
    )
  const { top_up, instructions } = data
  const lines = [{ label: said.bankAmount, value: formatMoney(top_up.amount_cents) }, ...(instructions ?? [])]
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={said.bankTitle(formatMoney(top_up.amount_cents))}
      lead={said.bankLead}
    >
      <dl className={classes.lines}>
        {lines.map(({ label, value }) => (
          <div key={label} className={classes.line}>
            <dt>{label}</dt>
            <dd>
              <span className={classes.lineValue}>{value}</span>
              <CopyButton text={value} what={label.toLowerCase()} />
            </dd>
          </div>
        ))}
      </dl>
      <p className={classes.later}>{said.bankLater}</p>
      <DialogActions>
        <Button variant="filled" onClick={onClose} data-autofocus>
          {said.bankDone}
        </Button>
      </DialogActions>
    </Dialog>
  )
}
