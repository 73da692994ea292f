import {
  IconBook2,
  IconHistory,
  IconHome,
  IconKey,
  IconLayoutGrid,
  IconListDetails,
  IconReceipt,
  IconSettings,
  IconShieldLock,
  IconUsers,
  IconWallet,
  IconWebhook,
} from '@tabler/icons-react'
import type { NavGroup } from '#kit/shell/nav.ts'
import { paths } from '../paths.ts'
import { shell } from '../strings/shell.ts'

const words = shell.nav

export const nav: readonly NavGroup[] = [
  {
    items: [
      { to: paths.home, label: words.home, icon: IconHome, key: 'h' },
      { to: paths.orders, label: words.orders, icon: IconReceipt, key: 'o' },
      { to: paths.balance, label: words.balance, icon: IconWallet, key: 'b' },
      { to: paths.catalogue, label: words.catalogue, icon: IconLayoutGrid, key: 'c' },
    ],
  },
  {
    label: words.integration,
    items: [
      { to: paths.keys, label: words.keys, icon: IconKey, key: 'k' },
      { to: paths.webhook, label: words.webhook, icon: IconWebhook, key: 'w' },
      { to: paths.deliveries, label: words.deliveries, icon: IconListDetails, key: 'l' },
    ],
  },
  {
    label: words.account,
    items: [
      { to: paths.team, label: words.team, icon: IconUsers, key: 't' },
      { to: paths.security, label: words.security, icon: IconShieldLock, key: 's' },
      { to: paths.audit, label: words.audit, icon: IconHistory, key: 'a' },
      { to: paths.settings, label: words.settings, icon: IconSettings, key: ',' },
    ],
  },
]

export const docsItem = { label: words.docs, icon: IconBook2 }
