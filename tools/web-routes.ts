import {
  ACCOUNT_HEADER,
  ACCOUNT_PARAMETER,
  CSRF_HEADER,
  dashboardRoutes,
  readAgainEveryMs,
} from '@shopwire/contract/dashboard'

/**
 * web/apps/dashboard/api/routes.generated.ts: the method and path of every route. The web application takes its types from the contract and these
 * values from here, so that no schema library is in what a browser loads.
 */
export function webRoutesText(): string {
  const rows = dashboardRoutes.map(
    ({ name, method, path }) => `  ${/^\w+$/.test(name) ? name : `'${name}'`}: ['${method}', '${path}'],`,
  )
  return [
    '// Made by "npm run generate" from contract/src/dashboard; do not edit.',
    '',
    `export const CSRF_HEADER = '${CSRF_HEADER}'`,
    `export const ACCOUNT_HEADER = '${ACCOUNT_HEADER}'`,
    `export const ACCOUNT_PARAMETER = '${ACCOUNT_PARAMETER}'`,
    '',
    'export const readAgainEveryMs = {',
    ...Object.entries(readAgainEveryMs).map(([name, ms]) => `  ${name}: ${ms},`),
    '} as const',
    '',
    'export const routes = {',
    ...rows,
    "} as const satisfies Readonly<Record<string, readonly ['GET' | 'POST', string]>>",
    '',
  ].join('\n')
}
