import { Button, CloseButton, Loader } from '@mantine/core'
import { IconCircleCheck, IconCircleMinus, IconCircleX, IconEye } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { type ReactNode, useEffect } from 'react'
import { formatMoney } from '#lib/money.ts'
import { useUrlState } from '#lib/url-state.ts'
import type { Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { balance } from '../../strings/balance.ts'
import classes from './balance.module.css'

const { topUp: said } = balance
/** While the stream of hints is away: often for two minutes, which is longer than paying by card takes. */
const whilePending = (reply: Reply<'getTopUp'> | undefined, asked: number) => {
  if (reply !== undefined && reply.top_up.state !== 'pending') return undefined
  return asked < 40 ? 3_000 : 30_000
}

/** After the way back from Checkout: waiting, then credited, without a reload. */
export function TopUpNotice({ onAgain }: { readonly onAgain: () => void }) {
  const [url, set] = useUrlState()
  const id = /^top_[0-9a-z]{26}$/.test(url.top_up ?? '') ? (url.top_up as string) : undefined
  return id === undefined ? null : (
    <Following
      id={id}
      isCancelled={url.cancelled === 'true'}
      onAgain={onAgain}
      onClose={() => set({ top_up: undefined, cancelled: undefined }, { replace: true })}
    />
  )
}

interface FollowingProps {
  readonly id: string
  readonly isCancelled: boolean
  readonly onAgain: () => void
  readonly onClose: () => void
}

function Following({ id, isCancelled, onAgain, onClose }: FollowingProps) {
  const { data } = useRead('getTopUp', { id }, { refetchEveryMs: whilePending })
  const { data: now, isFetching } = useRead('getBalance', { query: {} })
  useRefreshAfter(data?.top_up.state === 'credited')
  if (!data) return null
  const { state, amount_cents, credited_cents } = data.top_up
  const again = (
    <Button size="compact-sm" onClick={onAgain}>
      {said.tryAgain}
    </Button>
  )
  if (state === 'credited')
    return (
      <Notice
        tone="ok"
        icon={<IconCircleCheck size={18} stroke={1.75} aria-hidden />}
        onClose={onClose}
        title={said.creditedNow(formatMoney(credited_cents ?? amount_cents))}
      >
        {now && !isFetching ? said.creditedNowBody(formatMoney(now.balance_cents)) : null}
      </Notice>
    )
  if (state === 'review')
    return (
      <Notice
        tone="warn"
        icon={<IconEye size={18} stroke={1.75} aria-hidden />}
        onClose={onClose}
        title={said.reviewCard}
      >
        {said.reviewCardBody}
      </Notice>
    )
  if (state === 'failed' || state === 'rejected')
    return (
      <Notice
        tone="bad"
        icon={<IconCircleX size={18} stroke={1.75} aria-hidden />}
        onClose={onClose}
        title={said.failedCard}
        action={again}
      >
        {said.failedCardBody}
      </Notice>
    )
  if (isCancelled || state === 'expired')
    return (
      <Notice
        tone="plain"
        icon={<IconCircleMinus size={18} stroke={1.75} aria-hidden />}
        onClose={onClose}
        title={said.cancelled}
        action={again}
      >
        {said.cancelledBody}
      </Notice>
    )
  return (
    <Notice
      tone="plain"
      icon={<Loader size={16} color="gray" aria-hidden />}
      title={said.waitingCard(formatMoney(amount_cents))}
    >
      {said.waitingCardBody}
    </Notice>
  )
}

/** This read may be ahead of the hint that the others wait for. */
function useRefreshAfter(isCredited: boolean) {
  const client = useQueryClient()
  useEffect(() => {
    if (!isCredited) return
    for (const read of ['getBalance', 'getSpend', 'listTransfers', 'listTopUps'])
      void client.invalidateQueries({ queryKey: [read] })
  }, [isCredited, client])
}

interface NoticeProps {
  readonly tone: 'ok' | 'warn' | 'bad' | 'plain'
  readonly icon: ReactNode
  readonly title: string
  readonly children: ReactNode
  readonly action?: ReactNode
  readonly onClose?: () => void
}

function Notice({ tone, icon, title, children, action, onClose }: NoticeProps) {
  return (
    <div className={classes.notice} data-tone={tone} role="status">
      {icon}
      <div className={classes.noticeText}>
        <strong>{title}</strong>
        <p>{children}</p>
      </div>
      {action}
      {onClose ? <CloseButton size={24} iconSize={14} aria-label={said.dismiss} onClick={onClose} /> : null}
    </div>
  )
}
