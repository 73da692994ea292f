import type { CommandEntry } from '../command.ts'

const look = 'Look:'
const buy = 'Buy:'
const hooks = 'Webhooks:'
const check = 'Check:'
const setUp = 'Set up:'

/** Every command, in the order of the help. A new one is a file here that exports `define`, and a line below. */
export const commands: readonly CommandEntry[] = [
  { name: 'status', group: look, summary: 'is the store open', load: () => import('./status.ts') },
  { name: 'ping', group: look, summary: 'whose key this is', load: () => import('./ping.ts') },
  { name: 'balance', group: look, summary: 'what the account can spend', load: () => import('./balance.ts') },
  {
    name: 'catalogue',
    aliases: ['catalog'],
    group: look,
    summary: 'what the store sells',
    load: () => import('./catalogue.ts'),
  },
  { name: 'quote', group: buy, summary: 'what a cart would cost now', load: () => import('./quote.ts') },
  {
    name: 'orders',
    group: buy,
    summary: 'buy, look up, export and prove orders',
    load: () => import('./orders.ts'),
  },
  {
    name: 'reconcile',
    group: buy,
    summary: "compare your own list of orders with the store's",
    load: () => import('./reconcile.ts'),
  },
  {
    name: 'webhook',
    group: hooks,
    summary: 'the endpoint that events go to',
    load: () => import('./webhook.ts'),
  },
  {
    name: 'trigger',
    group: hooks,
    summary: 'send a simulated event to your receiver',
    load: () => import('./trigger.ts'),
  },
  {
    name: 'listen',
    group: hooks,
    summary: 'forward events to your machine',
    load: () => import('./listen.ts'),
  },
  {
    name: 'golive',
    group: check,
    summary: 'test your integration in failure scenarios against an emulator',
    load: () => import('./golive.ts'),
  },
  {
    name: 'doctor',
    group: check,
    summary: 'diagnose address, network, clock, key, scopes and webhook',
    load: () => import('./doctor.ts'),
  },
  {
    name: 'sign',
    group: check,
    summary: 'sign a request, or print it as a curl command',
    load: () => import('./sign.ts'),
  },
  {
    name: 'profile',
    aliases: ['profiles'],
    group: setUp,
    summary: 'stores and keys, by name',
    load: () => import('./profile.ts'),
  },
  {
    name: 'login',
    group: setUp,
    summary: 'store a personal access token for listen and orders prove',
    load: () => import('./login.ts'),
  },
  {
    name: 'completion',
    group: setUp,
    summary: 'a script that completes commands in your shell',
    load: () => import('./completion.ts'),
  },
]
