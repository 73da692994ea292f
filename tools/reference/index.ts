import { endpointsPage } from './endpoints-page.ts'
import { errorsPage } from './errors-page.ts'
import { eventsPage } from './events-page.ts'
import { headersPage } from './headers-page.ts'
import { limitsPage } from './limits-page.ts'
import { mistakesPage } from './mistakes-page.ts'
import { rolesPage } from './roles-page.ts'

/** The pages of docs/reference that the contract dictates. */
export function referencePages(): { path: string; text: string }[] {
  return [
    { path: 'docs/reference/dashboard-roles.md', text: rolesPage() },
    { path: 'docs/reference/endpoints.md', text: endpointsPage() },
    { path: 'docs/reference/errors.md', text: errorsPage() },
    { path: 'docs/reference/events.md', text: eventsPage() },
    { path: 'docs/reference/headers.md', text: headersPage() },
    { path: 'docs/reference/limits.md', text: limitsPage() },
    { path: 'docs/reference/signature-mistakes.md', text: mistakesPage() },
  ]
}
