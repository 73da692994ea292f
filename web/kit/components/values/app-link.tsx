import { Link } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, ReactNode, Ref } from 'react'
import { parseSearch } from '#lib/url-state.ts'

export interface AppLinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href'> {
  /** One of `paths`, with its search part if it has one. */
  readonly to: string
  readonly children?: ReactNode
  readonly ref?: Ref<HTMLAnchorElement>
}

/** A link inside the dashboard: no reload, and the screen behind it is fetched when the pointer comes near. */
export function AppLink({ to, className = 'sw-link', ...rest }: AppLinkProps) {
  const [path = '/', search = ''] = to.split('?')
  return (
    <Link to={path} search={parseSearch(search) as never} preload="intent" className={className} {...rest} />
  )
}
