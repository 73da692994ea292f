import { endpointsPage } from './endpoints-page.ts'
import { errorsPage } from './errors-page.ts'
import { eventsPage } from './events-page.ts'
import { mistakesPage } from './mistakes-page.ts'

/** The pages of docs/reference that the contract dictates. */
export function referencePages(): { path: string; text: string }[] {
  return [
    { path: 'docs/reference/endpoints.md', text: endpointsPage() },
    { path: 'docs/reference/errors.md', text: errorsPage() },
    { path: 'docs/reference/events.md', text: eventsPage() },
    { path: 'docs/reference/signature-mistakes.md', text: mistakesPage() },
  ]
}
