import { Button, Checkbox, Stack, TextInput } from '@mantine/core'
import { useState } from 'react'
import { ActForm } from '#kit/components/feedback/act-form.tsx'
import { Dialog } from '#kit/components/feedback/dialogs.tsx'
import { editable, formatMoney, parseDollars } from '#lib/money.ts'
import { api, type Reply } from '../../api/client.ts'
import { useAct, useRead } from '../../api/hooks.ts'
import { balance } from '../../strings/balance.ts'
import { roles } from '../../strings/roles.ts'
import { AlertAddresses } from './alert-addresses.tsx'
import classes from './balance.module.css'

const { alert: said, topUp } = balance
/** Enough for most: three days of spending, in hundreds of dollars. */
const SUGGESTED_DAYS = 3

interface AlertDialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly view: Reply<'getBalance'> | undefined
}

/** At which balance whom to write. */
export function AlertDialog({ isOpen, onClose, view }: AlertDialogProps) {
  const { data: alert } = useRead('getBalanceAlert')
  const { data: team } = useRead('getTeam', undefined, { enabled: isOpen })
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={said.title} lead={said.lead} size={480}>
      {alert && team && view ? <AlertForm alert={alert} team={team} view={view} onClose={onClose} /> : null}
    </Dialog>
  )
}

interface AlertFormProps {
  readonly alert: Reply<'getBalanceAlert'>
  readonly team: Reply<'getTeam'>
  readonly view: Reply<'getBalance'>
  readonly onClose: () => void
}

function AlertForm({ alert, team, view, onClose }: AlertFormProps) {
  const { per_day_cents } = view.burn
  const suggested = Math.max(100_00, Math.ceil((per_day_cents * SUGGESTED_DAYS) / 100_00) * 100_00)
  const [amount, setAmount] = useState(editable(alert.threshold_cents ?? suggested))
  const [people, setPeople] = useState<readonly string[]>(alert.people)
  const save = useSave(view.balance_cents, alert, onClose)
  const cents = parseDollars(amount)
  // Who left the account is not in the list any more and must not be sent back.
  const chosen = team.members.map(idOf).filter((id) => people.includes(id))
  const problems = {
    amount: cents === undefined || cents === 0 ? topUp.wrong : undefined,
    people: team.members.some((one) => one.role === 'owner' && chosen.includes(idOf(one)))
      ? undefined
      : said.noOwner,
  }
  return (
    <ActForm
      act={save}
      send={
        cents === undefined || problems.amount || problems.people
          ? undefined
          : () => save.mutate({ threshold_cents: cents, people: [...chosen] })
      }
      submit={said.save}
      keep={said.keep}
      onClose={onClose}
      first={
        alert.threshold_cents === null ? null : (
          <Button
            className={classes.first}
            disabled={save.isPending}
            onClick={() => save.mutate({ threshold_cents: null, people: [...chosen] })}
          >
            {said.off}
          </Button>
        )
      }
    >
      {(isTried) => (
        <Stack gap="md">
          <TextInput
            label={said.threshold}
            inputMode="decimal"
            leftSection="$"
            value={amount}
            onChange={(event) => setAmount(event.currentTarget.value)}
            description={
              cents && per_day_cents > 0
                ? said.thresholdHint(topUp.days(Math.max(1, Math.round(cents / per_day_cents))))
                : undefined
            }
            error={isTried ? problems.amount : undefined}
            data-autofocus
          />
          <PeopleChoice
            members={team.members}
            chosen={chosen}
            onChange={setPeople}
            error={isTried ? problems.people : undefined}
          />
          <AlertAddresses addresses={alert.addresses} />
        </Stack>
      )}
    </ActForm>
  )
}

function useSave(balance_cents: number, before: Reply<'getBalanceAlert'>, onDone: () => void) {
  return useAct('setBalanceAlert', {
    refresh: ['getBalanceAlert', 'getMailPreferences'],
    done: ({ threshold_cents }) =>
      threshold_cents === null
        ? [said.turnedOff, said.turnedOffMore]
        : [
            said.saved,
            balance_cents <= threshold_cents ? said.savedBelow : said.savedMore(formatMoney(threshold_cents)),
          ],
    undo: () => () => {
      const { threshold_cents, people } = before
      return api.act('setBalanceAlert', { threshold_cents, people })
    },
    failed: null,
    onDone,
  })
}

interface PeopleChoiceProps {
  readonly members: Reply<'getTeam'>['members']
  readonly chosen: readonly string[]
  readonly onChange: (chosen: string[]) => void
  readonly error: string | undefined
}

/** Who of the team gets the e-mail. */
function PeopleChoice({ members, chosen, onChange, error }: PeopleChoiceProps) {
  return (
    <Checkbox.Group
      label={said.people}
      description={said.peopleHint}
      value={[...chosen]}
      onChange={onChange}
      error={error}
    >
      <Stack gap={8} mt={4} className={classes.people}>
        {members.map(({ person_id, name, email, role }) => (
          <Checkbox key={person_id} value={person_id} label={name} description={`${email}, ${roles[role]}`} />
        ))}
      </Stack>
    </Checkbox.Group>
  )
}

const idOf = ({ person_id }: { readonly person_id: string }) => person_id
