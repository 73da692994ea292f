import type { FamilyRoute, RouteFamily } from './route-family.ts'

/** The routes of all families, for look-up by raw path. */
export interface RouteTable {
  readonly exact: ReadonlyMap<string, ClaimedPath>
  /** By the part of the path before `{id}`, with its slash. */
  readonly byId: ReadonlyMap<string, ClaimedPath>
  readonly prefixes: readonly { readonly prefix: string; readonly family: RouteFamily }[]
  /** The route for every other path. */
  readonly fallback: ClaimedPath | undefined
}

export interface ClaimedPath {
  readonly family: RouteFamily
  readonly methods: Map<string, FamilyRoute>
}

const ID = '{id}'

/**
 * Puts the routes of all families into one table. A path that two of them could answer stops the start: otherwise the first would
 * hide the other one's route, and its authentication.
 */
export function claimRoutes(families: readonly RouteFamily[]): RouteTable {
  const exact = new Map<string, ClaimedPath>()
  const byId = new Map<string, ClaimedPath>()
  for (const family of families) {
    for (const route of family.routes) {
      assertForm(route.path.startsWith('/'), family, route.path, 'must begin with "/"')
      const [table, name] = route.path.endsWith(`/${ID}`)
        ? [byId, route.path.slice(0, -ID.length)]
        : [exact, route.path]
      const claimed = table.get(name) ?? { family, methods: new Map<string, FamilyRoute>() }
      if (claimed.family !== family) throw overlap(family, route.path, claimed.family, route.path)
      for (const method of route.methods) {
        assertForm(!claimed.methods.has(method), family, route.path, `has ${method} twice`)
        claimed.methods.set(method, route)
      }
      table.set(name, claimed)
    }
  }
  const prefixes = families.flatMap((family) => {
    const { prefix } = family
    if (prefix === undefined) return []
    assertForm(!prefix.endsWith('/'), family, prefix, 'must not end with "/"')
    return [{ prefix, family }]
  })
  refuseOverlaps(families, byId, prefixes)
  return { exact, byId, prefixes, fallback: claimFallback(families) }
}

function claimFallback(families: readonly RouteFamily[]): ClaimedPath | undefined {
  const [first, second] = families.flatMap((family) =>
    family.fallback ? [{ family, route: family.fallback }] : [],
  )
  if (first && second) throw overlap(first.family, 'every other path', second.family, 'every other path')
  return (
    first && {
      family: first.family,
      methods: new Map(first.route.methods.map((method) => [method, first.route])),
    }
  )
}

/** Equal paths were refused while the table was filled. Refuses different paths that could match the same request. */
function refuseOverlaps(
  families: readonly RouteFamily[],
  byId: RouteTable['byId'],
  prefixes: RouteTable['prefixes'],
): void {
  const roots = prefixes.map(({ prefix, family }) => ({ path: prefix, family }))
  const paths = families.flatMap((family) => family.routes.map(({ path }) => ({ path, family })))
  for (const { path, family } of [...roots, ...paths]) {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    const pattern = path === folder ? undefined : byId.get(folder)
    if (pattern && pattern.family !== family) throw overlap(family, path, pattern.family, folder + ID)
    const owner = prefixes.find((other) => other.family !== family && isWithin(path, other.prefix))
    if (owner) throw overlap(family, path, owner.family, `${owner.prefix}/…`)
  }
}

/** Whether a path is the prefix or below it. */
export function isWithin(path: string, prefix: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`)
}

function overlap(family: RouteFamily, path: string, other: RouteFamily, otherPath: string): Error {
  return new Error(
    `The routes of two families overlap: ${describe(family, path)} and ${describe(other, otherPath)}. ` +
      'Give one of them another path: a request must belong to one family.',
  )
}

function assertForm(isRight: boolean, family: RouteFamily, path: string, fault: string): void {
  if (!isRight) throw new Error(`${describe(family, path)} ${fault}.`)
}

function describe({ name }: RouteFamily, path: string): string {
  return `${path} of family "${name}"`
}
