import { Button, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActForm } from '#kit/components/feedback/act-form.tsx'
import { Dialog, DialogActions } from '#kit/components/feedback/dialogs.tsx'
import { words } from '#kit/words.ts'
import { api } from '../api/client.ts'
import { useAct } from '../api/hooks.ts'
import { views as text } from '../strings/views.ts'
import type { View } from './view-filters.ts'
import classes from './views.module.css'

const NAME_LENGTH_MAX = 40

interface ViewDialogsProps {
  readonly asked: 'save' | 'manage'
  readonly list: View['list']
  /** Of the filters that are set now. */
  readonly query: string
  readonly views: readonly View[]
  readonly onClose: () => void
}

export default function ViewDialogs({ asked, list, query, views, onClose }: ViewDialogsProps) {
  if (asked === 'save')
    return (
      <Dialog isOpen onClose={onClose} title={text.saveTitle} lead={text.saveLead}>
        <SaveForm list={list} query={query} onClose={onClose} />
      </Dialog>
    )
  return (
    <Dialog isOpen onClose={onClose} title={text.manageTitle}>
      {views.length === 0 ? (
        <p className="sw-dim">{text.none}</p>
      ) : (
        <ul className={classes.list}>
          {views.map((view) => (
            <ViewRow key={view.id} view={view} onDeleted={onClose} />
          ))}
        </ul>
      )}
      <DialogActions>
        <Button variant="filled" onClick={onClose} data-autofocus>
          {text.done}
        </Button>
      </DialogActions>
    </Dialog>
  )
}

function SaveForm({ list, query, onClose }: Pick<ViewDialogsProps, 'list' | 'query' | 'onClose'>) {
  const [name, setName] = useState('')
  const save = useAct('saveView', {
    refresh: ['listViews'],
    done: (view) => [text.saved(view.name)],
    undo:
      ({ id }) =>
      () =>
        api.act('deleteView', { id }),
    failed: null,
    onDone: onClose,
  })
  const isNamed = isName(name)
  return (
    <ActForm
      act={save}
      send={isNamed ? () => save.mutate({ list, name: name.trim(), query }) : undefined}
      submit={text.saveConfirm}
      keep={words.cancel}
      onClose={onClose}
    >
      {(isTried) => (
        <NameField name={name} onChange={setName} error={isTried && !isNamed ? text.nameWrong : undefined} />
      )}
    </ActForm>
  )
}

/** Deleting closes the dialog: what the toast offers then can be reached by keyboard too. */
function ViewRow({ view, onDeleted }: { readonly view: View; readonly onDeleted: () => void }) {
  const [isRenaming, setRenaming] = useState(false)
  const remove = useAct('deleteView', {
    refresh: ['listViews'],
    done: () => [text.deleted(view.name)],
    undo: () => () => api.act('saveView', { list: view.list, name: view.name, query: view.query }),
    failed: text.notDeleted,
    onDone: onDeleted,
  })
  if (isRenaming) return <RenameRow view={view} onClose={() => setRenaming(false)} />
  return (
    <li className={classes.row}>
      <span className={classes.name}>{view.name}</span>
      <span className={classes.buttons}>
        <Button size="compact-sm" aria-label={text.renameThis(view.name)} onClick={() => setRenaming(true)}>
          {text.rename}
        </Button>
        <Button
          size="compact-sm"
          aria-label={text.deleteThis(view.name)}
          loading={remove.isPending}
          onClick={() => remove.mutate({ id: view.id })}
        >
          {text.delete}
        </Button>
      </span>
    </li>
  )
}

function RenameRow({ view, onClose }: { readonly view: View; readonly onClose: () => void }) {
  const [name, setName] = useState(view.name)
  const rename = useAct('renameView', {
    refresh: ['listViews'],
    done: (renamed) => [text.renamed(renamed.name)],
    undo:
      (_, { id }) =>
      () =>
        api.act('renameView', { id, name: view.name }),
    failed: null,
    onDone: onClose,
  })
  return (
    <li>
      <form
        className={classes.row}
        onSubmit={(event) => {
          event.preventDefault()
          if (isName(name) && name.trim() !== view.name) rename.mutate({ id: view.id, name: name.trim() })
        }}
      >
        <NameField name={name} onChange={setName} error={rename.error?.message} />
        <span className={classes.buttons}>
          <Button size="compact-sm" onClick={onClose}>
            {words.cancel}
          </Button>
          <Button
            size="compact-sm"
            type="submit"
            disabled={!isName(name) || name.trim() === view.name}
            loading={rename.isPending}
          >
            {text.saveName}
          </Button>
        </span>
      </form>
    </li>
  )
}

const isName = (name: string) => name.trim() !== '' && [...name.trim()].length <= NAME_LENGTH_MAX

interface NameFieldProps {
  readonly name: string
  readonly onChange: (name: string) => void
  readonly error: string | undefined
}

const NameField = ({ name, onChange, error }: NameFieldProps) => (
  <TextInput
    label={text.name}
    value={name}
    maxLength={NAME_LENGTH_MAX}
    autoComplete="off"
    onChange={(event) => onChange(event.currentTarget.value)}
    error={error}
    data-autofocus
  />
)
