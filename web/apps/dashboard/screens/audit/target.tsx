import { Id } from '#kit/components/values/id.tsx'
import { words } from '#kit/words.ts'
import { paths } from '../../paths.ts'
import type { AuditRow } from './audit-row.ts'
import type { Names } from './changes.ts'

const PAGES: Readonly<Record<string, (id: string) => string>> = {
  ord: paths.order,
  key: paths.key,
  evt: paths.delivery,
}

interface TargetProps {
  readonly row: AuditRow
  readonly names: Names
  /** Leads to the page of the thing, where it has one. */
  readonly isLink?: boolean
}

/** What was acted on: a person by name, a thing by its id, or the name of what has no id. */
export function Target({ row: { target }, names, isLink = false }: TargetProps) {
  if (!target) return words.none
  const name = names.get(target)
  if (name !== undefined) return name
  if (!/^[a-z]{3,8}_\w{10,}$/.test(target)) return <span className="sw-dim">{target}</span>
  const page = PAGES[target.split('_')[0] ?? '']
  return <Id id={target} as="short" {...(isLink && page ? { to: page(target) } : {})} />
}
