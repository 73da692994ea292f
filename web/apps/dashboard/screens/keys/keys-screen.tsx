import { Button } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useState } from 'react'
import { Page } from '#kit/components/feedback/page.tsx'
import { EmptyState } from '#kit/components/feedback/states.tsx'
import { DataTable, type PhoneRow } from '#kit/components/lists/data-table.tsx'
import { useOpenRow } from '#kit/components/lists/open-row.ts'
import { Status } from '#kit/components/values/status.tsx'
import { formatRelative } from '#lib/time.ts'
import { useRead } from '../../api/hooks.ts'
import { may, useMay } from '../../api/session.ts'
import { keys } from '../../strings/keys.ts'
import { CreateKeyDialog } from './create-key-dialog.tsx'
import { type KeyAction, keyColumns } from './key-columns.tsx'
import { RenameDialog, RevokeDialog, RotateDialog } from './key-dialogs.tsx'
import { KeyPanel } from './key-panel.tsx'
import { type Key, type NewKey, statusOf } from './key-words.ts'
import classes from './keys.module.css'
import { NewKeyDialog } from './new-key-dialog.tsx'
import { TokensSection } from './tokens-section.tsx'

/** Hints come when keys change; that one was used is not worth a hint each time. */
const USED_EVERY_MS = 15_000

type Deciding = { readonly what: KeyAction; readonly key: Key } | undefined

/** Who can spend: every key with its rights and its use. */
export function KeysScreen() {
  const canBuild = useMay(may.build)
  const [isCreating, setCreating] = useState(false)
  const [deciding, decide] = useState<Deciding>()
  const { data, error, refetch } = useRead('listKeys', undefined, {
    refetchEveryMs: USED_EVERY_MS,
  })
  const open = useOpenRow(data?.keys, ({ id }) => id)
  const act = (what: KeyAction, key: Key) => decide({ what, key })
  const isEmpty = data?.keys.length === 0
  const create = <CreateButton onClick={() => setCreating(true)} />
  return (
    <Page
      title={keys.title}
      meta={data ? keys.meta(data.live, data.spending) : undefined}
      actions={canBuild && !isEmpty ? create : undefined}
    >
      <DataTable
        caption={keys.caption}
        what={keys.title}
        columns={keyColumns(canBuild, act)}
        rows={data?.keys}
        rowId={({ id }) => id}
        onOpen={open.show}
        openId={open.row?.id}
        isTall
        isRowQuiet={({ state }) => state === 'revoked'}
        phone={phoneRow}
        error={error}
        onRetry={() => void refetch()}
        empty={
          <EmptyState title={keys.empty.title} actions={canBuild ? create : undefined}>
            {canBuild ? keys.empty.body : `${keys.empty.body} ${keys.empty.readOnly}`}
          </EmptyState>
        }
      />
      {data && !isEmpty ? (
        <p className={classes.foot}>
          {keys.foot} {data.revoked_not_listed > 0 ? keys.notListed(data.revoked_not_listed) : null}
        </p>
      ) : null}
      {canBuild ? <TokensSection /> : null}
      {open.row ? (
        <KeyPanel id={open.row.id} known={open.row} canBuild={canBuild} onAct={act} {...open.panel} />
      ) : null}
      <KeyDialogs
        isCreating={isCreating}
        deciding={deciding}
        onClose={() => {
          setCreating(false)
          decide(undefined)
        }}
      />
    </Page>
  )
}

const CreateButton = ({ onClick }: { readonly onClick: () => void }) => (
  <Button variant="filled" leftSection={<IconPlus size={14} aria-hidden />} onClick={onClick}>
    {keys.create}
  </Button>
)

function phoneRow(key: Key): PhoneRow {
  return {
    top: [
      <span key="name" className={classes.name}>
        {key.name}
      </span>,
      <Status key="state" kind={statusOf(key)} />,
    ],
    bottom: [
      key.last_used_at === null ? keys.never : formatRelative(key.last_used_at),
      `${key.requests_24h.toLocaleString('en-US')} / 24 h`,
    ],
  }
}

interface KeyDialogsProps {
  readonly isCreating: boolean
  readonly deciding: Deciding
  readonly onClose: () => void
}

/** What is done with keys, and the secret of the key that was made. */
function KeyDialogs({ isCreating, deciding, onClose }: KeyDialogsProps) {
  const [made, setMade] = useState<{ readonly key: NewKey; readonly isRotation: boolean }>()
  const showMade = (key: NewKey, isRotation: boolean) => {
    onClose()
    setMade({ key, isRotation })
  }
  return (
    <>
      <CreateKeyDialog isOpen={isCreating} onClose={onClose} onMade={(key) => showMade(key, false)} />
      {deciding?.what === 'rename' ? <RenameDialog subject={deciding.key} onClose={onClose} /> : null}
      {deciding?.what === 'rotate' ? (
        <RotateDialog subject={deciding.key} onClose={onClose} onMade={(key) => showMade(key, true)} />
      ) : null}
      {deciding?.what === 'revoke' ? <RevokeDialog subject={deciding.key} onClose={onClose} /> : null}
      {made ? (
        <NewKeyDialog made={made.key} isRotation={made.isRotation} onClose={() => setMade(undefined)} />
      ) : null}
    </>
  )
}
