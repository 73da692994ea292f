import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type DashboardRoute, dashboardRoutes } from '../src/dashboard/index.ts'
import { dashboardOpenApiDocument, dashboardOpenApiText } from '../src/published/index.ts'

interface Operation {
  readonly operationId: string
  readonly 'x-roles': unknown
  readonly 'x-step-up'?: true
}

test('the operations are exactly the routes, with their roles and second factors', () => {
  const { paths } = dashboardOpenApiDocument() as { paths: Record<string, Record<string, Operation>> }
  const found = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      name: operation.operationId,
      method: method.toUpperCase(),
      path,
      access: operation['x-roles'],
      isStepUp: operation['x-step-up'] === true,
    })),
  )
  const wanted = (dashboardRoutes as readonly DashboardRoute[]).map(
    ({ name, method, path, access, isStepUp }) => ({
      name,
      method,
      path,
      access,
      isStepUp: isStepUp === true,
    }),
  )
  expect(found.toSorted(byName)).toEqual(wanted.toSorted(byName))
})

test('the committed document is the generated one', () => {
  const file = new URL('../../docs/dashboard-openapi.json', import.meta.url)
  expect(readFileSync(file, 'utf8')).toBe(dashboardOpenApiText())
})

function byName(one: { name: string }, other: { name: string }): number {
  return one.name < other.name ? -1 : 1
}
