import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { ConfirmDialog } from '#kit/components/feedback/dialogs.tsx'
import { Section } from '#kit/components/feedback/page.tsx'
import { EmptyState } from '#kit/components/feedback/states.tsx'
import { type Column, DataTable } from '#kit/components/lists/data-table.tsx'
import { Status } from '#kit/components/values/status.tsx'
import { Time } from '#kit/components/values/time.tsx'
import { formatDay } from '#lib/time.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { keys, tokens } from '../../strings/keys.ts'
import { CreateTokenDialog } from './create-token-dialog.tsx'
import type { NewToken, Token } from './key-words.ts'
import classes from './keys.module.css'
import { NewTokenDialog } from './new-token-dialog.tsx'

/** The reader's own tokens for `shopwire listen` and `shopwire orders prove`. */
export function TokensSection() {
  const [isCreating, setCreating] = useState(false)
  const [made, setMade] = useState<NewToken>()
  const [revoking, setRevoking] = useState<Token>()
  const { data, error, refetch } = useRead('listTokens')
  return (
    <div className={classes.tokens}>
      <Section
        title={tokens.title}
        aside={
          <Button leftSection={<IconPlus size={14} aria-hidden />} onClick={() => setCreating(true)}>
            {tokens.create}
          </Button>
        }
      >
        <p className={classes.lead}>{tokens.lead}</p>
        <DataTable
          caption={tokens.caption}
          what={tokens.what}
          columns={columnsOf(setRevoking)}
          rows={data?.tokens}
          rowId={({ id }) => id}
          isTall
          isRowQuiet={({ state }) => state !== 'active'}
          phone={(token) => ({
            top: [
              <span key="name" className={classes.name}>
                {token.name}
              </span>,
              <TokenState key="state" token={token} />,
            ],
            bottom: [rightsOf(token), formatDay(token.expires_at)],
          })}
          error={error}
          onRetry={() => void refetch()}
          empty={<EmptyState title={tokens.empty}>{tokens.emptyBody}</EmptyState>}
        />
      </Section>
      <CreateTokenDialog
        isOpen={isCreating}
        onClose={() => setCreating(false)}
        onMade={(token) => {
          setCreating(false)
          setMade(token)
        }}
      />
      {revoking ? <RevokeTokenDialog token={revoking} onClose={() => setRevoking(undefined)} /> : null}
      {made ? <NewTokenDialog made={made} onClose={() => setMade(undefined)} /> : null}
    </div>
  )
}

function RevokeTokenDialog({ token, onClose }: { readonly token: Token; readonly onClose: () => void }) {
  const revoke = useAct('revokeToken', {
    refresh: ['listTokens'],
    done: () => [tokens.revoked(token.name), tokens.revokedMore],
    failed: tokens.notRevoked,
    onDone: onClose,
  })
  return (
    <ConfirmDialog
      isOpen
      onClose={onClose}
      title={tokens.revokeTitle(token.name)}
      lead={tokens.revokeLead}
      confirm={tokens.revokeConfirm}
      keep={tokens.revokeKeep}
      isDestructive
      isBusy={revoke.isPending}
      onConfirm={() => revoke.mutate({ id: token.id })}
    />
  )
}

function columnsOf(onRevoke: (token: Token) => void): readonly Column<Token>[] {
  const { columns } = tokens
  return [
    {
      id: 'name',
      header: columns.name,
      cell: (token) => (
        <div className={classes.name} title={token.name}>
          {token.name}
        </div>
      ),
    },
    {
      id: 'rights',
      header: columns.rights,
      width: '34%',
      cell: (token) => (
        <span className={classes.two}>
          <span>{rightsOf(token)}</span>
          {token.with_links ? <span className="sw-meta">{tokens.withLinks}</span> : null}
        </span>
      ),
    },
    {
      id: 'expires',
      header: columns.expires,
      width: '110px',
      hideBelow: 'md',
      cell: ({ expires_at }) => <Time at={expires_at} as="day" />,
    },
    {
      id: 'lastUsed',
      header: columns.lastUsed,
      width: '110px',
      hideBelow: 'md',
      cell: ({ last_used_at }) => (
        <span className="sw-dim">
          {last_used_at === null ? keys.never : <Time at={last_used_at} as="relative" />}
        </span>
      ),
    },
    {
      id: 'status',
      header: columns.status,
      width: '130px',
      cell: (token) => <TokenState token={token} />,
    },
    {
      id: 'actions',
      header: columns.actions,
      isHeaderHidden: true,
      align: 'right',
      width: '90px',
      cell: (token) =>
        token.state === 'active' ? (
          <Button size="compact-sm" aria-label={tokens.revokeOf(token.name)} onClick={() => onRevoke(token)}>
            {tokens.revoke}
          </Button>
        ) : null,
    },
  ]
}

function TokenState({ token }: { readonly token: Token }) {
  return <Status kind={token.state} />
}

const rightsOf = ({ rights }: Token) => rights.map((right) => tokens.rights[right][0]).join(', ')
