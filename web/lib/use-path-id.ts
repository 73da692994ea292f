import { useParams } from '@tanstack/react-router'

/** The `$id` of the address. */
export const usePathId = (): string => (useParams({ strict: false }) as { readonly id?: string }).id ?? ''
