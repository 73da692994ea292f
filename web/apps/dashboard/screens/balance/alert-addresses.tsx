import { Button, TextInput } from '@mantine/core'
import { useId, useState } from 'react'
import { Status } from '#kit/components/values/status.tsx'
import type { Reply } from '../../api/client.ts'
import { useAct } from '../../api/hooks.ts'
import { balance } from '../../strings/balance.ts'
import classes from './balance.module.css'

const said = balance.alert
const ADDRESS = /^[^\s@<>()",;:\\]+@[^\s@<>()",;:\\]+\.[^\s@<>()",;:\\.]+$/
const ADDRESSES_MAX = 5

type Address = Reply<'getBalanceAlert'>['addresses'][number]

/** Who outside the team gets the mail. Each change is made at once: an address is asked by mail, and counts when it has confirmed. */
export function AlertAddresses({ addresses }: { readonly addresses: readonly Address[] }) {
  const [email, setEmail] = useState('')
  const [problem, setProblem] = useState<string>()
  const label = useId()
  const add = useAct('addAlertAddress', {
    refresh: ['getBalanceAlert'],
    done: (_, { email: asked }) => [said.asked(asked), said.askedMore],
    failed: null,
    onDone: () => setEmail(''),
  })
  const remove = useAct('removeAlertAddress', {
    refresh: ['getBalanceAlert'],
    done: (_, { email: removed }) => [said.removed(removed)],
    failed: said.notRemoved,
  })
  const ask = (address: string) => {
    const isAddress = ADDRESS.test(address)
    setProblem(isAddress ? undefined : said.wrongEmail)
    if (isAddress) add.mutate({ email: address })
  }
  const isBusy = add.isPending || remove.isPending
  return (
    <div role="group" aria-labelledby={label}>
      <div id={label} className={classes.addressesLabel}>
        {said.emails}
      </div>
      <p className={classes.addressesHint}>{said.emailsHint}</p>
      {addresses.length === 0 ? null : (
        <ul className={classes.addresses}>
          {addresses.map(({ email: known, is_confirmed }) => (
            <li key={known}>
              <div className={classes.address}>
                <span className={classes.addressText}>{known}</span>
                {is_confirmed ? (
                  <Status kind="active" word={said.confirmed} />
                ) : (
                  <Status kind="waiting" word={said.waiting} />
                )}
              </div>
              {is_confirmed ? null : (
                <button
                  type="button"
                  className={classes.link}
                  disabled={isBusy}
                  aria-label={said.resendTo(known)}
                  onClick={() => ask(known)}
                >
                  {said.resend}
                </button>
              )}
              <button
                type="button"
                className={classes.link}
                disabled={isBusy}
                aria-label={said.removeOf(known)}
                onClick={() => remove.mutate({ email: known })}
              >
                {said.remove}
              </button>
            </li>
          ))}
        </ul>
      )}
      {addresses.length >= ADDRESSES_MAX ? null : (
        <div className={classes.addAddress}>
          <TextInput
            type="email"
            aria-label={said.newAddress}
            placeholder={said.placeholder}
            value={email}
            onChange={(event) => setEmail(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter') return
              // It would save the form around it.
              event.preventDefault()
              ask(email.trim())
            }}
            autoComplete="off"
            spellCheck={false}
          />
          <Button loading={add.isPending} disabled={email.trim() === ''} onClick={() => ask(email.trim())}>
            {said.add}
          </Button>
        </div>
      )}
      {problem || add.error ? (
        <p className={classes.problem} role="alert">
          {problem ?? add.error?.message}
        </p>
      ) : null}
    </div>
  )
}
