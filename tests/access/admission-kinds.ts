import { admissionKinds } from '@shopwire/test-kit/systems'
import { IS_SHORT } from '../../test-forms.ts'

/** The service's own tests run every rule of admission on all three; the short form has whole systems with one of them. */
export const kindsInThisForm = IS_SHORT ? (['redis'] as const) : admissionKinds
