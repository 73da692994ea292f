import { Button } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Sparkline } from '#kit/components/charts/sparkline.tsx'
import { Facts } from '#kit/components/feedback/dialogs.tsx'
import { ErrorState } from '#kit/components/feedback/states.tsx'
import { DetailPanel } from '#kit/components/lists/detail-panel.tsx'
import { AppLink } from '#kit/components/values/app-link.tsx'
import { Id } from '#kit/components/values/id.tsx'
import { Status } from '#kit/components/values/status.tsx'
import { Time } from '#kit/components/values/time.tsx'
import type { Reply } from '../../api/client.ts'
import { useRead } from '../../api/hooks.ts'
import { paths } from '../../paths.ts'
import { keys, scopeMeanings } from '../../strings/keys.ts'
import type { KeyAction } from './key-columns.tsx'
import { type Key, rotationNote, statusOf } from './key-words.ts'
import classes from './keys.module.css'

const { panel: said } = keys

interface KeyPanelProps {
  readonly id: string
  /** From the list, shown until the rest is read. */
  readonly known: Key
  readonly canBuild: boolean
  readonly onAct: (action: KeyAction, key: Key) => void
  readonly onClose: () => void
  readonly onPrevious: (() => void) | undefined
  readonly onNext: (() => void) | undefined
}

/** One key beside the table: what it may do, how it is used, and what can be done with it. */
export function KeyPanel({ id, known, canBuild, onAct, onClose, onPrevious, onNext }: KeyPanelProps) {
  const { data, error, refetch } = useRead('readKey', { id })
  const key = data?.key.id === id ? data.key : known
  const isLive = key.state !== 'revoked'
  return (
    <DetailPanel
      title={key.name}
      chip={<Status kind={statusOf(key)} isChip />}
      meta={rotationNote(key)?.join(', ')}
      onClose={onClose}
      onPrevious={onPrevious}
      onNext={onNext}
      footer={
        canBuild && isLive ? (
          <KeyActions isReplaced={key.replaced_by !== null} onAct={(action) => onAct(action, key)} />
        ) : undefined
      }
    >
      {key.warning ? (
        <p className={classes.warning}>
          <IconAlertTriangle size={15} stroke={1.75} aria-hidden />
          {key.warning}
        </p>
      ) : null}
      <Part title={said.use}>
        {data ? (
          <DailyUse days={data.days} />
        ) : error ? (
          <ErrorState what={said.what} error={error} onRetry={() => void refetch()} />
        ) : (
          <div className={classes.reserved} />
        )}
      </Part>
      <Part title={said.scopes}>
        <dl className={classes.meanings}>
          {key.scopes.map((scope) => (
            <div key={scope}>
              <dt className="sw-mono">{scope}</dt>
              <dd>{scopeMeanings[scope]}</dd>
            </div>
          ))}
        </dl>
      </Part>
      <Part title={said.facts}>
        <Facts facts={factsOf(key)} />
      </Part>
      {data ? (
        <Part title={said.addresses}>
          <Addresses addresses={data.addresses} />
        </Part>
      ) : null}
    </DetailPanel>
  )
}

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={classes.part}>
      <h3 className={classes.partTitle}>{title}</h3>
      {children}
    </section>
  )
}

function KeyActions({
  isReplaced,
  onAct,
}: {
  readonly isReplaced: boolean
  readonly onAct: (action: KeyAction) => void
}) {
  return (
    <>
      {isReplaced ? null : (
        <Button variant="filled" onClick={() => onAct('rotate')}>
          {said.rotate}
        </Button>
      )}
      <Button onClick={() => onAct('rename')}>{said.rename}</Button>
      <Button color="red" variant="default" onClick={() => onAct('revoke')}>
        {said.revoke}
      </Button>
    </>
  )
}

function DailyUse({ days }: Pick<Reply<'readKey'>, 'days'>) {
  return (
    <>
      <p className={classes.sum}>{said.callsOf(sum(days, 'requests'), sum(days, 'orders'))}</p>
      <Sparkline
        isFluid
        width={440}
        height={48}
        ticks={days.map(({ requests }) => ({ value: requests }))}
        label={said.chartSummary(sum(days, 'requests'))}
      />
      <div className={classes.axis} aria-hidden>
        <Time at={`${days[0]?.day}T12:00:00.000Z`} as="day" />
        <Time at={`${days.at(-1)?.day}T12:00:00.000Z`} as="day" />
      </div>
    </>
  )
}

function Addresses({ addresses }: Pick<Reply<'readKey'>, 'addresses'>) {
  if (addresses.length === 0) return <p className="sw-dim">{said.noAddresses}</p>
  return (
    <Facts
      facts={addresses.map(({ address, last_used_at }) => ({
        key: address,
        label: <span className="sw-mono">{address}</span>,
        value: <Time at={last_used_at} as="relative" />,
      }))}
    />
  )
}

function factsOf(key: Key) {
  const other = (id: string) => <AppLink to={paths.key(id)}>{<Id id={id} as="short" />}</AppLink>
  return [
    { label: said.id, value: <Id id={key.id} canCopy what="key id" /> },
    {
      label: said.created,
      value: (
        <>
          <Time at={key.created_at} as="day" />{' '}
          <span className="sw-dim">
            {said.by(key.created_by === 'operator' ? said.operator : key.created_by)}
          </span>
        </>
      ),
    },
    {
      label: said.lastUsed,
      value:
        key.last_used_at === null ? (
          said.never
        ) : (
          <>
            <Time at={key.last_used_at} as="relative" />{' '}
            {key.last_address === null ? null : <span className="sw-dim">{said.from(key.last_address)}</span>}
          </>
        ),
    },
    ...(key.replaces === null ? [] : [{ label: said.replaces, value: other(key.replaces) }]),
    ...(key.replaced_by === null ? [] : [{ label: said.replacedBy, value: other(key.replaced_by) }]),
    ...(key.revoked_at === null ? [] : [{ label: said.revoked, value: <Time at={key.revoked_at} /> }]),
  ]
}

const sum = (
  days: readonly { readonly requests: number; readonly orders: number }[],
  what: 'requests' | 'orders',
) => days.reduce((all, day) => all + day[what], 0)
