/**
 * The id of the account that this page shows; null while it shows none. Every request names it, so that the service can refuse one from
 * a window that was left behind by a switch in another. It is set from the session in session.ts, and nowhere else.
 */
let shown: string | null = null

export const shownAccount = (): string | null => shown

export function setShownAccount(id: string | null): void {
  shown = id
}
