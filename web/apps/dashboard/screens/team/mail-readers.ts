import type { Reply } from '../../api/client.ts'

export type Preferences = Reply<'getMailPreferences'>
export type Kind = Preferences['kinds'][number]

/** Who gets mail of this kind, now or once they have confirmed their address. */
export const isReader = ({ goes_to, waits_for }: Kind, person_id: string) =>
  [...(goes_to ?? []), ...waits_for].includes(person_id)
