import type { Command } from 'commander'
import { readStoreState, type StoreState } from '../../catalogue/store-state.ts'
import { day, print } from './print.ts'
import type { Workplace } from './workplace.ts'

export function storeCommands(program: Command, workplace: Workplace): void {
  const store = program.command('store').description('whether the shop takes new orders')

  store
    .command('show')
    .description('open or closed, since when and why')
    .action(async (_options, command: Command) => {
      const state = await readStoreState(workplace.deps().db)
      print(command, workplace, state, () => describeStore(state))
    })

  store
    .command('open')
    .description('take orders')
    .action(async (_options, command: Command) => {
      const state = await workplace.operator().setStore(true, null)
      print(command, workplace, state, () => describeStore(state))
    })

  store
    .command('close')
    .requiredOption('--reason <text>', 'kept in the audit log')
    .description('refuse new orders with 503; reads, quotes and replays go on')
    .action(async ({ reason }: { reason: string }, command: Command) => {
      const state = await workplace.operator().setStore(false, reason)
      print(command, workplace, state, () => describeStore(state))
    })
}

function describeStore({ is_open, reason, changed_at }: StoreState): string {
  return `The store is ${is_open ? 'open' : 'closed'} since ${day(changed_at)} UTC${reason ? `: ${reason}` : ''}.`
}
