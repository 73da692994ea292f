import type { Icon } from '@tabler/icons-react'

export interface NavItem {
  readonly to: string
  readonly label: string
  readonly icon: Icon
  /** The second key of `g …`. */
  readonly key: string
}

/** The navigation of an application: its screens, in groups. */
export interface NavGroup {
  readonly label?: string
  readonly items: readonly NavItem[]
}
